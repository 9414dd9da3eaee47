"""Methods of Tensor that others stand in for while modes run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rushlight._engine.tensors.of_class import changing
from rushlight._engine.tensors.tensor import Tensor

_ABSENT = object()


class ReplacedMethods:
    """Methods that stand in for Tensor's own from the first of nested modes to the end of the last."""

    def __init__(self) -> None:
        self._depth = 0
        self._own: dict[str, Any] = {}

    @property
    def active(self) -> bool:
        """Whether a mode runs."""
        return self._depth > 0

    def enter(self, names: Iterable[str], made: Callable[[str], Any]) -> None:
        """A mode begins; the first one sets made(name) for each name."""
        if not self._depth:
            methods = {name: made(name) for name in names}
            self._own.update({name: Tensor.__dict__.get(name, _ABSENT) for name in methods})
            with changing():
                for name, method in methods.items():
                    setattr(Tensor, name, method)
        self._depth += 1

    def leave(self) -> bool:
        """A mode ends. Whether it was the last, which gives Tensor its own methods back."""
        self._depth -= 1
        if self._depth:
            return False
        with changing():
            for name, own in self._own.items():
                if own is _ABSENT:
                    delattr(Tensor, name)
                else:
                    setattr(Tensor, name, own)
        self._own.clear()
        return True
