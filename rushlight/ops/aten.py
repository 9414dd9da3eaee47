"""torch.ops.aten: ops by PyTorch's internal names, and their overloads: see export/overloads.py."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    try:
        return import_module("rushlight.export.overloads").packet(name)
    except AttributeError:
        raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'") from None
