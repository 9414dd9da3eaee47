"""torch._refs._conversions: methods of tensors that convert, and torch.complex and torch.polar."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.names.alternatives import attribute
from rushlight._engine.tensors.tensor import Tensor

_NAMES = frozenset("bfloat16 bool byte cdouble cfloat chalf char double float half int long short".split())


def __getattr__(name: str) -> Any:
    found = getattr(torch, name) if name in ("complex", "polar") else None
    if name in _NAMES:
        found = getattr(Tensor, name, None)
    return attribute(__name__, name) if found is None else found
