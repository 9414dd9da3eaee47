"""Layers, losses, initialisers and functions (torch.nn).

Names come from the files of nn/modules and from nn/parameter.py at first mention; sub-packages too.
"""
from __future__ import annotations

from importlib import import_module
from typing import Any

from rushlight.nn.modules import HOMES

_PACKAGES = frozenset(("attention", "functional", "init", "modules", "parallel", "parameter",
                       "utils", "_reduction"))
_PARAMETERS = frozenset(("Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"))


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        found: Any = import_module(f"rushlight.nn.{name}")
    elif name in _PARAMETERS:
        found = getattr(import_module("rushlight.nn.parameter"), name)
    elif name == "DataParallel":
        found = import_module("rushlight.nn.parallel").DataParallel
    elif name == "factory_kwargs":
        found = _factory_kwargs
    else:
        if name not in HOMES:
            raise AttributeError(f"module 'torch.nn' has no attribute {name!r}")
        found = getattr(import_module("rushlight.nn.modules"), name)
    globals()[name] = found
    return found


def _factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments for creating parameters: device, dtype, memory_format, as given."""
    if kwargs is None:
        return {}
    allowed = {"device", "dtype", "memory_format"}
    given = {**kwargs.get("factory_kwargs", {}),
             **{k: v for k, v in kwargs.items() if k in allowed}}
    unknown = (set(kwargs) - allowed - {"factory_kwargs"}) | (set(given) - allowed)
    if unknown:
        raise TypeError(f"unexpected kwargs {sorted(unknown)}; expected some of {sorted(allowed)}")
    return given


def __dir__() -> list[str]:
    return sorted({*globals(), *_PACKAGES, *_PARAMETERS, *HOMES, "DataParallel"})


__all__ = sorted((*_PARAMETERS, *HOMES, "DataParallel"))  # noqa: PLE0605
