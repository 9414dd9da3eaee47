"""Python's operators: thin callables over the rows' functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight._engine.core.dtype import FLOATING
from rushlight._engine.core.recording import KEPT
from rushlight._engine.dispatch import spellings
from rushlight._engine.dispatch.interpreters import CLASSES, PLAIN, STACK
from rushlight._engine.lazy import package
from rushlight._engine.ops.table import NAMES, Row
from rushlight._engine.tensors.construction.interop import tensor_beneath
from rushlight._engine.tensors.operators import OPERATORS
from rushlight._engine.tensors.tensor import Tensor, wrap

_NUMBERS = (int, float, complex, np.number, np.bool_)


_built: dict[str, Callable[..., Any]] = {}


def build(name: str) -> Callable[..., Any] | None:
    """The function to put into Tensor.__NAME__."""
    if name in ("__getitem__", "__setitem__", "as_subclass"):
        # What it needs, dispatch.dispatcher, imports this file.
        from rushlight._engine.dispatch.runners import indexing

        made: dict[str, Callable[..., Any]] = vars(indexing)
        return made[name.strip("_")]
    if name not in OPERATORS:
        return None
    if name not in _built:
        row_name, form = OPERATORS[name]
        _name(_FORMS[form](NAMES["torch", row_name][0], name), name)
    return _built[name]


# Operators that PyTorch's handlers of __torch_function__ get to see as such; the others are methods to them.
_OWN = frozenset(
    f"__{sign}{name}__"
    for signs, names in (
        (("",), "floordiv pow and or xor lshift rshift eq invert"),
        (("r",), "sub floordiv mod pow lshift rshift matmul"),
        (("i",), "pow and or xor lshift rshift"),
    )
    for sign in signs
    for name in names.split()
)


def _called(row: Row, name: str) -> Callable[..., Any]:
    """What an operator calls of its row."""
    from rushlight._engine.dispatch.dispatcher import bare  # it imports this file

    form = OPERATORS[name][1]
    leaf = f"{row.name}_" if form == "i" and row.name != "matmul" else row.name
    method = bare("Tensor", leaf)
    if method is None:
        raise AttributeError(f"Tensor has no method {leaf!r}")
    return spellings.copied(method) if name in _OWN else method


def _name(operator: Any, name: str) -> None:
    """An operator by its name; calls of its row are calls of it, where PyTorch has that so. Of those that
    several threads make, one is kept.
    """
    operator.__module__, operator.__name__, operator.__qualname__ = package(), name, f"Tensor.{name}"
    operator = _built.setdefault(name, operator)
    if name in _OWN:
        row, form = OPERATORS[name]
        call = operator.__closure__[operator.__code__.co_freevars.index("call")].cell_contents
        spellings.speak_for(call, row, operator, reflected=form == "r")


def operand(other: Any) -> Any:
    """What a row takes for `other`; None if it is no operand."""
    if isinstance(other, (Tensor, *_NUMBERS)) or hasattr(type(other), "__torch_function__"):
        return other
    if not isinstance(other, np.ndarray):
        return other if other.__class__ in KEPT else None
    beneath = tensor_beneath(other)
    return wrap(other) if beneath is None else beneath


def _forward(row: Row, name: str) -> Callable[..., Any]:
    call = _called(row, name)
    fast = (Tensor, float, int)

    def operator(self: Any, other: Any) -> Any:
        try:
            if other.__class__ in fast:
                return call(self, other)
            other = operand(other)
            return NotImplemented if other is None else call(self, other)
        except TypeError:
            if self.__class__ in PLAIN and (other.__class__ in PLAIN or other.__class__ in _NUMBERS):
                raise
            return NotImplemented  # Python asks the other operand then

    return operator


def _reflected(row: Row, name: str) -> Callable[..., Any]:
    call = _called(row, name)
    swap = row.options.get("commutative", False)

    def operator(self: Any, other: Any) -> Any:
        if not isinstance(self, Tensor):
            raise TypeError(
                f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a "
                f"'{type(self).__name__}' object; its first operand must be a Tensor"
            )
        given, other = other, operand(other)
        if name == "__rtruediv__":
            return _divided(given if other is None else other, self)
        if other is None:
            return NotImplemented
        try:
            if swap:
                return call(self, other)
            return call(other.item() if isinstance(other, np.generic) else other, self)
        except TypeError:
            if self.__class__ in PLAIN:
                raise
            return NotImplemented

    return operator


def _divided(other: Any, tensor: Any) -> Any:
    """other / tensor; what is no operand may multiply a tensor itself."""
    try:
        return tensor.__rdiv__(other)
    except TypeError:
        if tensor.__class__ in PLAIN and other.__class__ in _NUMBERS:
            raise
        return NotImplemented


def _unary(row: Row, name: str) -> Callable[..., Any]:
    call = _called(row, name)

    def operator(self: Any) -> Any:
        return call(self)

    def invert(self: Any) -> Any:
        if self._kind.dtype.category >= FLOATING and not _taken_over(self):
            raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
        return call(self)

    return invert if name == "__invert__" else operator


def _taken_over(tensor: Any) -> bool:
    """Whether a mode or the tensor's class is asked first."""
    if tensor.__class__ not in PLAIN and CLASSES.asked:
        return True
    return any(hasattr(mode, "__torch_function__") for mode in STACK.modes)


_FORMS = {"": _forward, "r": _reflected, "i": _forward, "unary": _unary}
