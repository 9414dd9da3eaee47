"""What runs now: a trace, or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

STACK: list[Any] = []
OUT_OF_PLACE = [False]  # whether traces have ops that write to no tensor in place of those that do


def tracing() -> Any:
    """The trace that records this, or None."""
    return STACK[-1] if STACK else None


@contextmanager
def paused() -> Iterator[None]:
    """What runs inside is not recorded."""
    STACK.append(None)
    try:
        yield
    finally:
        STACK.pop()
