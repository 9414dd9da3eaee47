"""torch._refs.linalg: functions of torch.linalg."""

from __future__ import annotations

from typing import Any

from rushlight import linalg
from rushlight._engine.names.alternatives import attribute


def __getattr__(name: str) -> Any:
    found = None if name.startswith("__") else getattr(linalg, name, None)
    return attribute(__name__, name) if found is None else found
