"""torch.backends.mps: Apple's Metal takes no part."""
from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False


def is_built() -> bool:
    """False."""
    return False
