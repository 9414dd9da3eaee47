"""torch.backends: the libraries that could compute; what programs ask of them and set on them.

Kernels here are Rushlight's own and NumPy's BLAS. Switches of other libraries are kept, as programs
set them without looking, and change nothing.
"""
from collections.abc import Iterator
from contextlib import contextmanager

from rushlight.backends import (cpu, cuda, cudnn, mha, mkl, mkldnn, mps, nnpack, openmp, opt_einsum,
                                quantized)

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum",
           "quantized"]


def flags_frozen() -> bool:
    """Whether switches may only be set within their context managers: never, here."""
    return False


@contextmanager
def __allow_nonbracketed_mutation() -> Iterator[None]:
    """Switches may be set in this block, as they may everywhere."""
    yield
