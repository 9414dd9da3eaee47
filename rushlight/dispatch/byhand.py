"""Methods that call a Python function for each element: slow by nature, and no ops."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight.base.convert import number
from rushlight.base.tape import escape
from rushlight.tensor.tensor import Tensor


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by callable(element), a Python number each; any shape and dtype, in place.

    RuntimeError for a tensor that requires grad, TypeError for a result that is no number.
    """
    return _each("apply_", callable, self)


def map_(self: Tensor, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element a by callable(a, b), b from `other`: of the same dtype, broadcast to this shape."""
    return _each("map_", callable, self, other=other)


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace each element a by callable(a, b, c), from `x` and `y` as in map_."""
    return _each("map2_", callable, self, x=x, y=y)


def _each(op: str, function: Any, out: Tensor, **others: Tensor) -> Tensor:
    for place, (name, t) in enumerate({"self": out, **others}.items()):
        if not isinstance(t, Tensor):
            raise TypeError(f"{op}(): argument '{name}' (position {place}) must be Tensor, not {type(t).__name__}")
        if t.requires_grad:
            raise RuntimeError(f"Can't call {op}() on Variable that requires grad. Use var.detach().{op}() instead.")
        if t.dtype is not out.dtype:
            raise TypeError(f"{op}: expected {out.type()} for '{name}' (got {t.type()})")
    if out._k.on_meta:
        return out
    escape(f".{op}()")
    given = [t.expand(out.shape) for t in others.values()]
    # One after the other, as elements that lie in the same memory demand.
    for at in np.ndindex(*out._m.shape):
        out._a[at] = _number(function(*[t[at].item() for t in (out, *given)]), out)
    return out


def _number(value: Any, like: Tensor) -> Any:
    if like.is_complex():
        value = complex(value)
    elif not isinstance(value, (int, float)):
        value = math.ldexp(value, 0)  # what is no real number raises Python's TypeError
    return number(value, like.dtype)
