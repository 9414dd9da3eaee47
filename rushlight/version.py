"""torch.version: which PyTorch programs see, and with what it was built. Versions are said here alone."""

__version__ = "2.13.0+rushlight"
release = "0.1.0"  # Rushlight's own
cuda = hip = xpu = git_version = None
debug = False

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]
