"""What runs now: a trace, or none."""
from __future__ import annotations

from typing import Any

STACK: list[Any] = []


def tracing() -> Any:
    """The trace that records this, or None."""
    return STACK[-1] if STACK else None
