"""Methods that call a Python function for each element, one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight._engine.core.conversion import number
from rushlight._engine.core.errors import wrong_type
from rushlight._engine.core.recording import escape, settle
from rushlight._engine.dispatch.method_overrides import taken_over_by
from rushlight._engine.tensors.tensor import Tensor


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by callable(element), Python numbers both, in place: any dtype and shape; slow.

    RuntimeError for a tensor that requires grad, TypeError for a result that is no number.
    """
    return _each("apply_", callable, self)


def map_(self: Tensor, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element a by callable(a, b), b from `other`: of the same dtype, expanded to this shape."""
    if taken := taken_over_by(other, map_, self, other, callable):
        return taken[0]
    return _each("map_", callable, self, other=other)


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace each element a by callable(a, b, c), from `x` and `y` as in map_."""
    return _each("map2_", callable, self, x=x, y=y)


def _each(op: str, function: Any, out: Tensor, **others: Tensor) -> Tensor:
    if any(getattr(t, "requires_grad", False) for t in (out, *others.values())):
        use = f"Use var.detach().{op}() instead."
        raise RuntimeError(f"Can't call {op}() on Variable that requires grad. {use}")
    for i, (n, t) in enumerate({"self": out, **others}.items()):
        if not isinstance(t, Tensor):
            raise wrong_type(op, n, "Tensor", t, i)
        if t.dtype is not out.dtype:
            raise TypeError(f"{op}: expected {out.type()} for '{n}' (got {t.type()})")
    escape(f".{op}()")
    given = [out, *[t.expand(out.shape) for t in others.values()]]
    # One after the other, as elements that lie in the same memory demand.
    for at in np.ndindex(*out._geometry.shape) if not out._kind.on_meta else ():
        found = function(*[t[at].item() for t in given])
        if not isinstance(found, (int, float, complex if out.is_complex() else int)):
            found = math.ldexp(found, 0)  # what is no real number raises Python's TypeError
        settle()
        out._array[at] = number(found, out.dtype)
    return out
