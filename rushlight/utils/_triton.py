"""torch.utils._triton: says that there is no Triton."""

from __future__ import annotations


def has_triton_package() -> bool:
    """False."""
    return False


def has_triton() -> bool:
    """False: kernels are compiled by LLVM (docs/engine/kernels.md)."""
    return False


def has_triton_tma() -> bool:
    """False."""
    return False


def has_triton_tma_device() -> bool:
    """False."""
    return False
