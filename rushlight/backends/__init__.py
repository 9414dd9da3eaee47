"""torch.backends: the libraries that could compute; what programs ask of them and set on them.

Kernels here are Rushlight's own and NumPy's BLAS. Switches of other libraries are kept, as programs
set them without looking, and change nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from rushlight.backends import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, nnpack, openmp, opt_einsum, quantized
from rushlight.backends.switches import FROZEN

__all__ = [
    "cpu",
    "cuda",
    "cudnn",
    "mha",
    "mkl",
    "mkldnn",
    "mps",
    "nnpack",
    "openmp",
    "opt_einsum",
    "quantized",
]


def disable_global_flags() -> None:
    """From here on switches may only be set by the modules' `flags()`."""
    FROZEN[0] = True


def flags_frozen() -> bool:
    """Whether switches may only be set by the modules' `flags()`."""
    return FROZEN[0]


@contextmanager
def __allow_nonbracketed_mutation() -> Iterator[None]:
    """Switches may be set in this block."""
    before, FROZEN[0] = FROZEN[0], False
    try:
        yield
    finally:
        FROZEN[0] = before
