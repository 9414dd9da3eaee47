"""torch.testing: are two results close, and tensors to try an op with."""

from rushlight.testing.comparison import assert_allclose, assert_close
from rushlight.testing.creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
