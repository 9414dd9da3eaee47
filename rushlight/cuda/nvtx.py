"""torch.cuda.nvtx: marks for a profiler of GPUs, which is not there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rushlight._engine.names.absent_devices import functions

globals().update(functions("cuda.nvtx"))


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A mark around a block or a function that it decorates; the RuntimeError comes when that runs."""
    globals()["range_push"](msg.format(*args, **kwargs))
    yield
