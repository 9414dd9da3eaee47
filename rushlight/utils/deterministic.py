"""torch.utils.deterministic: whether new memory is filled under use_deterministic_algorithms."""

from __future__ import annotations

import sys
from types import ModuleType

__all__ = ["fill_uninitialized_memory"]
fill_uninitialized_memory: bool  # here and settable, as the attribute of a module


class _Deterministic(ModuleType):
    """The module itself, whose one attribute is a bool. RuntimeError for anything else."""

    _fill = True

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether torch.empty and resize_ fill memory with nan and the greatest numbers, in deterministic
        mode."""
        return _Deterministic._fill

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode)}")
        _Deterministic._fill = mode


sys.modules[__name__].__class__ = _Deterministic
