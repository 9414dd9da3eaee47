"""Tools around tensors, modules and data (torch.utils). Sub-packages load at first mention."""
from __future__ import annotations

from importlib import import_module
from typing import Any

from rushlight.base.elsewhere import attribute


def __getattr__(name: str) -> Any:
    try:
        return import_module(f"rushlight.utils.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"rushlight.utils.{name}":
            raise
        return attribute("torch.utils", name)
