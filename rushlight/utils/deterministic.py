"""torch.utils.deterministic: what torch.use_deterministic_algorithms does beside refusing."""

from __future__ import annotations

import sys
from types import ModuleType

from rushlight._engine.core.determinism import Determinism
from rushlight._engine.core.recording import switched


class _Settings(ModuleType):
    """The module, so that its variable is a switch."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether memory that nobody wrote to is filled: with nan, the largest integer, or True."""
        return Determinism.fill_uninitialized_memory

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError("expected mode to be a bool, but got " + type(mode).__name__)
        with switched("whether memory is filled"):
            Determinism.fill_uninitialized_memory = mode


sys.modules[__name__].__class__ = _Settings
