"""torch._library: parts of torch.library under the names of its innards."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rushlight._engine.names.alternatives import attribute


def __getattr__(name: str) -> Any:
    return import_module(f"{__name__}.utils") if name == "utils" else attribute(__name__, name)
