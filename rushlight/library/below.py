"""Ops below autograd, while a torch._C._AutoDispatchBelowAutograd lives, and ops that run as fakes."""

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


def get_ctx() -> Any:
    """What a function of register_fake asks for sizes that depend on tensors' numbers, where a FakeTensorMode
    called it. RuntimeError elsewhere, as for tensors on the meta device: nobody knows such a size there.
    """
    found = CONTEXT.get()
    if found is not None:
        return found
    raise RuntimeError(
        "Attempted to call get_ctx() for the meta implementation of an op. You have presumably called "
        "get_ctx() because the operator has a data-dependent output shape; if so, there is no such meta "
        "implementation and this error is the correct behavior."
    )


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
