"""`activation_memory_budget`: which share of a forward's results a compiled program keeps for its backward.

1.0, the default, keeps all; what is not kept is computed again, where kernels can do that from what lives
anyway. It is read when a call is recorded, and is the setting RUSHLIGHT_MEMORY_BUDGET.
"""
import sys
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

from rushlight.base.config import knobs


class _Config(ModuleType):
    @property
    def activation_memory_budget(self) -> float:
        return float(knobs.memory_budget)

    @activation_memory_budget.setter
    def activation_memory_budget(self, budget: float) -> None:
        knobs.memory_budget = budget

    def patch(self, *, activation_memory_budget: float) -> AbstractContextManager[Any]:
        """Another budget for a while: a context manager."""
        return knobs.using(memory_budget=activation_memory_budget)


sys.modules[__name__].__class__ = _Config
