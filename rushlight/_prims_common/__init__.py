"""torch._prims_common: small functions of dtypes, shapes and strides."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rushlight._engine.names.alternatives import attribute


def __getattr__(name: str) -> Any:
    if not name.startswith("__"):
        for part in ("dtypes", "shapes", "layouts", "rng"):
            found = vars(import_module(f"{__name__}.{part}")).get(name)
            if found is not None:
                return found
    return attribute(__name__, name)
