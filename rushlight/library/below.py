"""torch._C._AutoDispatchBelowAutograd: while it lives, ops run below autograd."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import Any

import rushlight as torch


class Level(threading.local):
    """How many of them live in this thread."""

    depth = 0


# What a function of register_fake is given by torch.library.get_ctx().
CONTEXT: ContextVar[Any] = ContextVar("fake context", default=None)
LEVEL = Level()


class AutoDispatchBelowAutograd:
    """Until it is left, or deleted, nothing is recorded, and functions for "Autograd" are passed over."""

    def __init__(self) -> None:
        self._was: bool | None = torch.is_grad_enabled()
        LEVEL.depth += 1
        torch.set_grad_enabled(False)

    def _end(self) -> None:
        if self._was is not None:
            LEVEL.depth -= 1
            torch.set_grad_enabled(self._was)
            self._was = None

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        self._end()

    def __del__(self) -> None:
        self._end()
