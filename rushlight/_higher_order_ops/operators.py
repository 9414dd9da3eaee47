"""torch.ops.higher_order: what nodes of exported programs call for a branch or a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.core.recording import TAPE, decides
from rushlight._engine.tensors.tensor import Tensor
from rushlight._ops import HigherOrderOperator


def recorder() -> Any:
    """Who writes functions as graphs of their own, if the program is being exported; else None."""
    return getattr(TAPE[-1], "to", None) if TAPE else None


def holds(condition: Any, op: str) -> bool:
    """Whether the condition of a branch or loop holds: the op looks at it, so no graph of compile() ends."""
    plain = isinstance(condition, Tensor) and condition.numel() == 1 and not condition.is_meta
    if not plain or not TAPE or getattr(TAPE[-1], "branch", None) is not None:
        return bool(condition)
    decides(op)
    return bool(condition._array.item())


class Control(HigherOrderOperator):
    """A branch or loop: `run` computes it of functions and tensors, `recorded` tells a program of it."""

    def __init__(self, name: str, run: Callable[..., Any], recorded: Callable[..., Any]) -> None:
        super().__init__(name)
        self._run, self._recorded = run, recorded
        self._qualified_op_name = f"higher_order::{name}"

    def __str__(self) -> str:
        return f"higher_order.{self._name}"

    __repr__ = __str__

    def __reduce__(self) -> Any:
        return _named, (self._name,)

    def __deepcopy__(self, memo: Any) -> Control:
        return self

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The op of these functions and tensors."""
        listener = recorder()
        if listener is not None:
            return self._recorded(listener, *args, **kwargs)
        return self._run(*args, **kwargs)


def _named(name: str) -> Any:
    return getattr(torch.ops.higher_order, name)
