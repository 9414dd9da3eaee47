"""Tools around tensors, modules and data (torch.utils). Sub-packages load at first mention."""
from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    try:
        return import_module(f"rushlight.utils.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"rushlight.utils.{name}":
            raise
        raise AttributeError(f"module 'torch.utils' has no attribute {name!r} in Rushlight yet") from None
