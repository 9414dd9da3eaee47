"""Collectives that classes with a `__torch_function__`, and modes, may take over, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from rushlight._engine.core.services import service

_F = TypeVar("_F", bound=Callable[..., Any])


def asked(function: _F, name: str = "") -> _F:
    """The function, which asks first; by the module and the name that it has in PyTorch."""
    found = service("function that asks")(function)
    found.__module__ = f"{function.__module__.partition('.')[0]}.distributed.distributed_c10d"
    if name:
        found.__name__ = found.__qualname__ = name
    return cast(_F, found)
