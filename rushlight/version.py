"""torch.version: which PyTorch programs see, and with what it was built. Versions are said here alone."""

from __future__ import annotations

__version__ = "2.13.0+rushlight"
release = "0.1.0"  # Rushlight's own
cuda: str | None
hip = rocm = xpu = git_version = None
debug = False
_CUDA = "12.8"  # whose driver interface and libraries the devices use

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]


def __getattr__(name: str) -> str | None:
    """`cuda`: a version where there is a device, as in a build with CUDA; else None."""
    if name != "cuda":
        raise AttributeError(f"module 'torch.version' has no attribute {name!r}")
    # setup reads versions without loading the package
    from rushlight._engine.core.accelerator import platform

    try:
        return None if platform() is None else _CUDA
    except RuntimeError:  # a driver was asked for that is not there, which its use will tell
        return None
