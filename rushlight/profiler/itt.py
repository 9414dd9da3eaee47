"""torch.profiler.itt: marks for Intel's VTune, which is never there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]


def is_available() -> bool:
    """False: nothing listens to marks."""
    return False


def range_push(msg: str) -> int:
    """Begin a range; RuntimeError, since nothing listens."""
    raise RuntimeError(
        "ITT functions not installed. Are you sure you have a ITT build? "
        "torch.profiler.profile sees torch.profiler.record_function's ranges"
    )


def range_pop() -> int:
    """End a range; RuntimeError, since nothing listens."""
    return range_push("")


def mark(msg: str) -> int:
    """Say that something happens; RuntimeError, since nothing listens."""
    return range_push(msg)


@contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """A context that is a range; RuntimeError, since nothing listens."""
    range_push(msg.format(*args, **kwargs))
    yield
