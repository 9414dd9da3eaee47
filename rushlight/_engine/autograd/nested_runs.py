"""Backward passes inside backward passes, deeper than Python's stack: after so many, another thread goes on.

As in PyTorch, where a thread's 61st nested backward is run by another one: a rule may call backward, whose
rule calls backward again, thousands of times.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rushlight._engine.autograd import hooks
from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.saved_tensor_hooks import HOOKS
from rushlight._engine.tensors.storages.storage import FRESH

# A nested run takes some fifteen of the thousand frames that Python lets a thread have.
DEPTH = 24


def elsewhere(run: Callable[..., None], *what: Any) -> None:
    """run(*what) in another thread, in this one's modes; its error is raised here."""
    errors: list[BaseException] = []
    here = [vars(local).copy() for local in (LOCAL, HOOKS, FRESH)]
    outer = hooks.current_run()

    def body() -> None:
        for local, state in zip((LOCAL, HOOKS, FRESH), here, strict=True):
            vars(local).update(state)
        try:
            with hooks.inside(outer):
                run(*what)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=body, name="nested backward")
    thread.start()
    thread.join()
    if errors:
        try:
            raise errors[0]
        finally:
            errors.clear()  # no circle of a frame and its error
