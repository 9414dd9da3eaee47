"""torch.backends.openmp: OpenMP takes no part."""
from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False
