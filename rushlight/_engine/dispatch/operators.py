"""Python's operators: thin callables over the rows' functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight._engine.ops.table import NAMES, Row
from rushlight._engine.tensors.construction.interop import tensor_beneath
from rushlight._engine.tensors.operators import OPERATORS
from rushlight._engine.tensors.tensor import Tensor, wrap

_NUMBERS = (int, float, complex, np.number, np.bool_)


def build(name: str) -> Callable[..., Any] | None:
    """The function to put into Tensor.__NAME__."""
    if name in ("__getitem__", "__setitem__", "as_subclass"):
        # What it needs, dispatch.dispatcher, imports this file.
        from rushlight._engine.dispatch.runners import indexing

        made: dict[str, Callable[..., Any]] = vars(indexing)
        return made[name.strip("_")]
    if name not in OPERATORS:
        return None
    row_name, form = OPERATORS[name]
    return _FORMS[form](NAMES["torch", row_name][0], name)


def operand(other: Any) -> Any:
    """What a row takes for `other`; None if it is no operand."""
    if isinstance(other, (Tensor, *_NUMBERS)) or hasattr(type(other), "__torch_function__"):
        return other
    if not isinstance(other, np.ndarray):
        return None
    beneath = tensor_beneath(other)
    return wrap(other) if beneath is None else beneath


def _forward(row: Row, name: str, call: Callable[..., Any] | None = None) -> Callable[..., Any]:
    from rushlight._engine.dispatch.dispatcher import function  # it imports this file

    call = call or function(row)
    fast = (Tensor, float, int)

    def operator(self: Any, other: Any) -> Any:
        if other.__class__ in fast:
            return call(self, other)
        other = operand(other)
        return NotImplemented if other is None else call(self, other)

    operator.__name__ = name
    return operator


def _reflected(row: Row, name: str) -> Callable[..., Any]:
    from rushlight._engine.dispatch.dispatcher import function  # it imports this file

    call = function(row)
    swap = row.options.get("commutative", False)

    def operator(self: Any, other: Any) -> Any:
        if not isinstance(self, Tensor):
            raise TypeError(
                f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a "
                f"'{type(self).__name__}' object; its first operand must be a Tensor"
            )
        given, other = other, operand(other)
        if name == "__rtruediv__":
            return self.__rdiv__(other) if other is not None else _divided(given, self)
        if other is None:
            return NotImplemented
        if swap:
            return call(self, other)
        return call(other.item() if isinstance(other, np.generic) else other, self)

    operator.__name__ = name
    return operator


def _divided(other: Any, tensor: Any) -> Any:
    """other / tensor of what is no operand, but may multiply a tensor itself."""
    try:
        return tensor.__rdiv__(other)
    except TypeError:
        return NotImplemented


def _in_place(row: Row, name: str) -> Callable[..., Any]:
    from rushlight._engine.dispatch.dispatcher import lookup  # it imports this file

    return _forward(row, name, lookup("Tensor", f"{row.name}_"))


def _unary(row: Row, name: str) -> Callable[..., Any]:
    from rushlight._engine.dispatch.dispatcher import function  # it imports this file

    call = function(row)

    def operator(self: Any) -> Any:
        if name == "__invert__" and self.dtype.category >= 2:
            raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
        return call(self)

    operator.__name__ = name
    return operator


_FORMS = {"": _forward, "r": _reflected, "i": _in_place, "unary": _unary}
