"""torch._dispatch: switches of PyTorch's dispatcher that programs turn."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rushlight._engine.names.alternatives import attribute


def __getattr__(name: str) -> Any:
    return import_module("rushlight._dispatch.python") if name == "python" else attribute(__name__, name)
