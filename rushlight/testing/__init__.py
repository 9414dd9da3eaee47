"""torch.testing: are two results close, and tensors to try an op with."""

from rushlight.testing import _utils as _utils
from rushlight.testing.comparison import assert_allclose, assert_close
from rushlight.testing.creation import make_tensor
from rushlight.testing.filecheck import FileCheck

__all__ = ["FileCheck", "assert_allclose", "assert_close", "make_tensor"]
