"""Tensors of a recorded call that a program has kept: in lists of its own, in closures, in other objects."""

from __future__ import annotations

import weakref
from typing import Any

from rushlight._engine.core.callers import warn
from rushlight._export import config


class Leaks:
    """What the ops of the recorded call have made, with their nodes, as far as it is still there."""

    def __init__(self) -> None:
        self.made: list[tuple[Any, Any]] = []

    def note(self, listener: Any) -> None:
        """The tensors of a record, which is at its end."""
        if config.detect_non_strict_fake_tensor_leaks:
            told = [(t, listener.known.get(id(t))) for t in listener.kept]
            self.made = [(weakref.ref(t), n) for t, n in told if n is not None and n.op == "call_function"]
            listener.kept.clear()
            listener.memory.clear()

    def tell(self) -> None:
        """Warn of those that are still there."""
        alive = {id(t): (t, node) for held, node in self.made if (t := held()) is not None}
        if not alive:
            return
        lines = [
            f"FakeTensor(shape={t.shape}, dtype={t.dtype}) from node '{node.name}':\n"
            f"{node.meta.get('stack_trace', '<no stack trace available>')}"
            for t, node in alive.values()
        ]
        warn(
            f"Detected {len(alive)} fake tensors that are still alive after export.\n"
            "This is likely result of torch.export.export not being able to track side effects that is "
            "happening outside of model scope.\n\nLeaked tensors:\n  " + "\n  ".join(lines),
            UserWarning,
        )
