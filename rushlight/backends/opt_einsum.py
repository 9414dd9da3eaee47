"""torch.backends.opt_einsum: the package takes no part; operands are multiplied from left to right."""

from __future__ import annotations

from typing import Any

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """False: opt_einsum is not asked."""
    return False


def get_opt_einsum() -> Any:
    """None, as where the package is not installed."""
    return None
