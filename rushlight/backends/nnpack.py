"""torch.backends.nnpack: NNPACK takes no part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["flags", "is_available", "set_flags"]
_enabled = [True]


def is_available() -> bool:
    """False."""
    return False


def set_flags(_enabled_flag: bool) -> tuple[bool]:
    """Keep the switch, which changes nothing; the one before."""
    before = (_enabled[0],)
    _enabled[0] = _enabled_flag
    return before


@contextmanager
def flags(enabled: bool = False) -> Iterator[None]:
    """The switch inside a context."""
    before = set_flags(enabled)
    try:
        yield
    finally:
        set_flags(*before)
