"""torch.testing._internal.distributed.checkpoint_utils: what tests of checkpoints begin with."""

from __future__ import annotations

import functools
import logging
import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import rushlight.distributed as dist
from rushlight._engine.names.alternatives import attribute

Test = Callable[..., Any]


def __getattr__(name: str) -> Any:
    return attribute(__name__, name)


def with_temp_dir(func: Test) -> Test:
    """The test has `self.temp_dir`, a directory that is the same on all ranks, and gone afterwards."""

    @functools.wraps(func)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> None:
        first = not dist.is_initialized() or dist.get_rank() == 0
        names = [tempfile.mkdtemp() if first else ""]
        if dist.is_initialized():
            dist.broadcast_object_list(names)
        self.temp_dir = names[0]
        try:
            func(self, *args, **kwargs)
        finally:
            shutil.rmtree(self.temp_dir, ignore_errors=True)

    return wrapper


def with_checkpoint_logging(
    func: Test, logger_name: str = "torch.distributed.checkpoint", level: int = logging.INFO
) -> Test:
    """The test hears what checkpoints log from a level on."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        heard = logging.getLogger(logger_name)
        with ExitStack() as afterwards:
            afterwards.callback(heard.setLevel, heard.level)
            heard.setLevel(level)
            func(*args, **kwargs)

    return wrapper
