"""torch.ops.aten: ops by PyTorch's internal names; an overload (`add.Tensor`) is the op itself."""
from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


class Packet:
    """An op, as a function and by any name of an overload."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __getattr__(self, overload: str) -> Callable[..., Any]:
        if overload.startswith("__"):
            raise AttributeError(overload)
        return self._function


def __getattr__(name: str) -> Packet:
    for space in ("aten", "torch", "Tensor", "nn.functional"):
        found = import_module("rushlight.dispatch.door").lookup(space, name)
        if found is not None and not name.startswith("__"):
            return Packet(found)
    raise AttributeError(f"torch.ops.aten has no op {name!r} in Rushlight")
