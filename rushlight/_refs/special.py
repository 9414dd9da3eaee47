"""torch._refs.special: functions of torch.special."""

from __future__ import annotations

from typing import Any

from rushlight import special
from rushlight._engine.names.alternatives import attribute


def __getattr__(name: str) -> Any:
    found = None if name.startswith("__") else getattr(special, name, None)
    return attribute(__name__, name) if found is None else found
