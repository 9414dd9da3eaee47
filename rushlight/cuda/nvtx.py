"""torch.cuda.nvtx: marks for NVIDIA's profilers, where there is a device. None of these is attached."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rushlight._engine.core import accelerator
from rushlight._engine.names.absent_devices import functions

_names = functions("cuda.nvtx")
_NOBODY = -2  # what NVTX answers where no profiler listens


def range_push(msg: str) -> int:
    """Begin a range in the current one; its depth, -2 where no profiler listens."""
    return _answer("range_push", _NOBODY)


def range_pop() -> int:
    """End the current range; its depth, -2 where no profiler listens."""
    return _answer("range_pop", _NOBODY)


def range_start(msg: str) -> int:
    """Begin a range that any thread may end; its number, 0 where no profiler listens."""
    return _answer("range_start", 0)


def range_end(range_id: int) -> None:
    """End a range of range_start()."""
    _answer("range_end", 0)


def mark(msg: str) -> None:
    """Mark a moment."""
    _answer("mark", 0)


def _answer(name: str, answer: int) -> int:
    """What NVTX answers; RuntimeError where there is no device."""
    if accelerator.platform() is None:
        _names[name]()
    return answer


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range around a block or a function that it decorates; without a device RuntimeError when it runs."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
