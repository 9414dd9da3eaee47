"""torch._library: parts of torch.library under the names of its innards."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rushlight._engine.names.alternatives import attribute


def __getattr__(name: str) -> Any:
    if name in ("fake_profile", "utils"):
        return import_module(f"{__name__}.{name}")
    return attribute(__name__, name)
