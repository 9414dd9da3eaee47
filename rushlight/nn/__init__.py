"""Layers, losses, initialisers and functions (torch.nn).

Names come from the files of nn/modules and from nn/parameter.py at first mention; sub-packages too.
"""

from __future__ import annotations

from typing import Any

from rushlight._engine.lazy import homes, lazy_names, public
from rushlight.nn.modules import HOMES

_HOMES = {**{name: f"modules.{home}" for name, home in HOMES.items() if home != "."}, **homes("rushlight.nn")}
__getattr__, __dir__ = lazy_names(globals(), _HOMES)


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments for creating parameters: device, dtype, memory_format, as given."""
    if kwargs is None:
        return {}
    allowed = {"device", "dtype", "memory_format"}
    given = {**kwargs.get("factory_kwargs", {}), **{k: v for k, v in kwargs.items() if k in allowed}}
    unknown = (set(kwargs) - allowed - {"factory_kwargs"}) | (set(given) - allowed)
    if unknown:
        raise TypeError(f"unexpected kwargs {sorted(unknown)}; expected some of {sorted(allowed)}")
    return given


__all__ = public(_HOMES)
