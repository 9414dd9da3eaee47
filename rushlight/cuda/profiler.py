"""torch.cuda.profiler: what a profiler of GPUs is told to record; AssertionError where there is no device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rushlight.cuda import _lazy_init


def start() -> None:
    """Begin to record, where a profiler runs around the process; torch.profiler records by itself."""
    _lazy_init()


def stop() -> None:
    """End what start() has begun."""
    _lazy_init()


@contextmanager
def profile() -> Iterator[None]:
    """start() and stop() around a `with`."""
    start()
    try:
        yield
    finally:
        stop()
