"""torch._custom_op: the older spelling of torch.library.custom_op, which PyTorch deprecates (impl.py)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rushlight._engine.names.alternatives import attribute


def __getattr__(name: str) -> Any:
    if name in ("autograd", "impl"):
        return import_module(f"{__name__}.{name}")
    return attribute(__name__, name)
