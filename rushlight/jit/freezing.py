"""torch.jit.freeze: a module in evaluation mode that has no parameters to train any more."""

from __future__ import annotations

import copy
from typing import Any

import rushlight as torch
from rushlight.jit.modules import ScriptModule


class FrozenModule(ScriptModule):
    """A copy of a scripted module, hidden behind its methods: no parameters, no submodules, no train()."""

    def __init__(self, module: Any, preserved: list[str]) -> None:
        super().__init__()
        inner = copy.deepcopy(module).eval()
        for p in inner.parameters():
            p.requires_grad_(False)
        self.__dict__.update(_inner=inner, _type=inner._type, training=False)
        for name in ("forward", *preserved):
            self.__dict__[name] = getattr(inner, name)

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None, **given: Any) -> None:
        """Write the frozen module to a path or a file, as ScriptModule.save does."""
        self._inner.save(f, _extra_files)

    def train(self, mode: bool = True) -> Any:
        """Nothing changes: the program is that of evaluation."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return FrozenModule(self._inner, [])


FrozenModule.__name__ = FrozenModule.__qualname__ = "RecursiveScriptModule"


def frozen(module: Any, preserved: list[str]) -> Any:
    """The frozen form of a module."""
    with torch.no_grad():
        return FrozenModule(module, preserved)
