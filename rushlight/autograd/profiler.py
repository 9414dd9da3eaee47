"""torch.autograd.profiler: the names live in torch.profiler's package."""
from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    found = getattr(import_module("rushlight.profiler.simple"), name, None)
    if found is None or name.startswith("_"):
        raise AttributeError(f"module 'torch.autograd.profiler' has no attribute {name!r}")
    return found
