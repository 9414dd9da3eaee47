"""The arrays that the namespace hands out: tensors whose operators are the namespace's functions.

An `Array` shares its memory and its place in the graph with the tensor that `asarray` took, and what any op,
also PyTorch's, makes of it is an Array again. Its brackets know what NumPy's do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import rushlight as torch
import rushlight.array_api as namespace
from rushlight._engine.dispatch.operators import operand
from rushlight._engine.dispatch.overrides import as_class
from rushlight._engine.ops.table import WIDE_DTYPES
from rushlight._engine.tensors.geometry import Geometry
from rushlight._engine.tensors.operators import OPERATORS

# The standard's names of rows that PyTorch's operators call, where they differ.
_NAMES = {
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "neg": "negative",
    "bitwise_not": "bitwise_invert",
}


def handing_out(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function with Arrays for tensors in its results, and with all the standard's dtypes."""

    def call(*args: Any, **kwargs: Any) -> Any:
        before = WIDE_DTYPES.accepted, WIDE_DTYPES.used
        WIDE_DTYPES.accepted, WIDE_DTYPES.used = True, False
        try:
            return as_class(f(*args, **kwargs), Array)
        finally:
            WIDE_DTYPES.accepted, WIDE_DTYPES.used = before

    return functools.wraps(f)(call)


class Array(torch.Tensor):
    """A tensor that promotes, compares, divides and is indexed as the array API standard says."""

    __slots__ = ()
    size = property(Geometry.numel, doc="How many elements there are.")

    @handing_out
    def __getitem__(self, key: Any) -> Any:
        try:
            return super().__getitem__(key)
        except (IndexError, ValueError):
            return torch.take(self, self._places(key))

    @handing_out
    def __setitem__(self, key: Any, value: Any) -> None:
        try:
            super().__setitem__(key, value)
        except (IndexError, ValueError):
            places = self._places(key)
            self.put_(places, torch.asarray(value, dtype=self.dtype).broadcast_to(places.shape))

    def _places(self, key: Any) -> torch.Tensor:
        """Which elements NumPy finds: slices may step back, and a mask's side be 0."""
        parts = tuple(
            np.asarray(k) if isinstance(k, torch.Tensor) else k
            for k in (key if isinstance(key, tuple) else (key,))
        )
        return torch.from_numpy(np.array(np.arange(self.numel()).reshape(self.shape)[parts]))


def _written(x: Array, result: Array) -> Array:
    if result.dtype is not x.dtype:
        raise TypeError(f"an array of {x.dtype} cannot hold one of {result.dtype}: x = x + y, not x += y")
    x.copy_(result)
    return x


def _operator(name: str, form: str) -> Callable[..., Any]:
    def operator(self: Array, *other: Any) -> Any:
        call, operands = getattr(namespace, _NAMES.get(name, name)), (self, *map(operand, other))
        if operands[-1] is None:
            return NotImplemented
        result = call(*operands[:: -1 if form == "r" else 1])
        return _written(self, result) if form == "i" else result

    return operator


for _dunder, (_row, _form) in OPERATORS.items():
    setattr(Array, _dunder, _operator(_row, _form))
