"""torch.ops.aten: ops by PyTorch's internal names, and their overloads (`add.Tensor`; see export/overloads.py)."""
from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


class Packet:
    """An op, as a function and by the names of its overloads; a name that PyTorch lacks is the op itself."""

    def __init__(self, name: str, function: Callable[..., Any] | None) -> None:
        self._name, self._function = name, function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._function is None:
            return next(iter(self._known().values()))(*args, **kwargs)
        return self._function(*args, **kwargs)

    def _known(self) -> dict[str, Any]:
        return import_module("rushlight.export.overloads").overloads(self._name)  # type: ignore[no-any-return]

    def __getattr__(self, overload: str) -> Any:
        if overload.startswith("__"):
            raise AttributeError(overload)
        found = self._known().get(overload, self._function)
        if found is None:
            raise AttributeError(f"The underlying op of 'aten.{self._name}' has no overload name '{overload}'")
        return found

    def overloads(self) -> list[str]:
        """The overloads' names."""
        return list(self._known())


def __getattr__(name: str) -> Packet:
    lookup = import_module("rushlight.dispatch.door").lookup
    found = next((f for space in ("aten", "torch", "Tensor", "nn.functional") if (f := lookup(space, name))), None)
    packet = Packet(name, found)
    if not name.startswith("__") and (found is not None or packet._known()):
        return packet
    raise AttributeError(f"torch.ops.aten has no op {name!r} in Rushlight")
