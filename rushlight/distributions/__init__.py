"""torch.distributions: parametric distributions that programs draw from, weigh values by and compare.

A class is loaded when it is first named; homes.tsv says which file declares it. What all share is in
distribution.py, where values may lie in constraints.py, maps between such sets in transforms.py.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from rushlight._engine.lazy import homes, lazy_names, public

_HOMES = homes("rushlight.distributions")
__getattr__, __dir__ = lazy_names(globals(), _HOMES)
__all__ = public(_HOMES)


class _Member(ModuleType):
    """PyTorch's module of one distribution, which shares a file with its family here: that file's names."""

    def __init__(self, name: str, family: Any) -> None:
        super().__init__(name)
        self.__spec__, self._family = ModuleSpec(name, None), family

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._family), name)


for _name, _family in homes(f"{__package__}.modules").items():
    sys.modules[f"{__package__}.{_name}"] = _Member(f"{__name__}.{_name}", f"{__package__}.{_family}")
    sys.modules.setdefault(f"{__name__}.{_name}", sys.modules[f"{__package__}.{_name}"])
