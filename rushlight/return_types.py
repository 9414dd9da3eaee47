"""torch.return_types: the classes of results with named parts, one per op."""

from __future__ import annotations

from typing import Any

from rushlight._engine.core.results import TYPES
from rushlight._engine.names.alternatives import attribute


def __getattr__(name: str) -> Any:
    if name == "all_return_types":  # a list of the classes, in PyTorch as here
        return list(TYPES.values())
    if name in TYPES:
        return TYPES[name]
    if name == "__all__":
        return attribute("rushlight.return_types", name)
    raise AttributeError(
        f"module 'torch.return_types' has no attribute {name!r}; it has {', '.join(sorted(TYPES))}"
    )


def __dir__() -> list[str]:
    return sorted(TYPES)
