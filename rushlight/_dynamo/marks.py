"""What programs say about sizes to a compiler that bakes them in: kernels here take sizes at run time."""

from __future__ import annotations

from typing import Any


def mark_static(t: Any, index: Any = None, **options: Any) -> None:
    """Nothing to do: kernels take sizes at run time, and guards look where tensors lie."""


def mark_dynamic(t: Any, index: Any, **options: Any) -> None:
    """Nothing to do, as for mark_static. AssertionError inside of a compiled function."""
    _outside(mark_dynamic)


def maybe_mark_dynamic(t: Any, index: Any, **options: Any) -> None:
    """The same."""
    _outside(maybe_mark_dynamic)


def mark_unbacked(t: Any, index: Any, **options: Any) -> None:
    """The same."""
    _outside(mark_unbacked)


def mark_static_address(t: Any, guard: bool = False) -> None:
    """The same."""
    _outside(mark_static_address)


def _outside(function: Any) -> None:
    from rushlight._dynamo.api import is_compiling  # it imports what imports this file

    if is_compiling():
        raise AssertionError(f"Attempt to trace forbidden callable {function}: mark before the call")
