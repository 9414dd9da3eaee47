"""Arguments that are no tensors and whose class takes torch's functions over, as fx.Proxy's does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight._engine.core.services import service
from rushlight._engine.tensors.tensor import Tensor


def foreign(value: Any) -> bool:
    """Whether it is no tensor, but its class takes torch's functions over."""
    return not isinstance(value, Tensor) and hasattr(type(value), "__torch_function__")


def handed(function: Callable[..., Any], value: Any, *args: Any, **kwargs: Any) -> Any:
    """What the class of `value` makes of function(value, *args, **kwargs)."""
    return handed_on(function, (value,), value, *args, **kwargs)


def handed_on(function: Callable[..., Any], among: tuple[Any, ...], *args: Any, **kwargs: Any) -> Any:
    """What the classes of some arguments make of function(*args, **kwargs)."""
    handle = service("call of a class with a __torch_function__")
    return handle(function, tuple(v for v in among if foreign(v)), *args, **kwargs)
