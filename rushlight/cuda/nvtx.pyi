# Written by `python tools/stubs.py`.
"""torch.cuda.nvtx: marks for NVIDIA's profilers, where there is a device. None of these is attached."""
from collections.abc import Iterator
from contextlib import _GeneratorContextManager
from typing import Any

def _answer(name: str, answer: int) -> int:
    """What NVTX answers; RuntimeError where there is no device."""
def mark(msg: str) -> None:
    """Mark a moment."""
def range(msg: str, *args: Any, **kwargs: Any) -> _GeneratorContextManager[None]:
    """A range around a block or a function that it decorates; without a device RuntimeError when it runs."""
def range_end(range_id: int) -> None:
    """End a range of range_start()."""
def range_pop() -> int:
    """End the current range; its depth, -2 where no profiler listens."""
def range_push(msg: str) -> int:
    """Begin a range in the current one; its depth, -2 where no profiler listens."""
def range_start(msg: str) -> int:
    """Begin a range that any thread may end; its number, 0 where no profiler listens."""
