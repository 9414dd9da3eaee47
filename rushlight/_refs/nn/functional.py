"""torch._refs.nn.functional: functions of torch.nn.functional."""

from __future__ import annotations

from typing import Any

from rushlight._engine.names.alternatives import attribute
from rushlight.nn import functional


def __getattr__(name: str) -> Any:
    found = None if name.startswith("__") else getattr(functional, name, None)
    return attribute(__name__, name) if found is None else found
