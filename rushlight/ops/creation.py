"""Creation: tensors of given values, ranges and grids.

These rows are factories: their bodies make arrays, and the dispatcher handles device, layout,
pin_memory and requires_grad alike for all of them.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.base.promotion import of_number
from rushlight.ops.copying import arranged, strides_of
from rushlight.ops.table import opaque

Array = np.ndarray[Any, Any]


def factory(body: Any = None, **facts: Any) -> Any:
    """An opaque row whose keywords device, layout, pin_memory, requires_grad the dispatcher takes."""
    facts = {"where": ("torch",), "out": True, **facts, "factory": True}
    return opaque(body, **facts) if body is not None else lambda b: opaque(b, **facts)


def sizes_of(size: Any) -> tuple[int, ...]:
    """A size argument as a tuple; RuntimeError for negative ones."""
    found = (size,) if isinstance(size, int) else tuple(size)
    for n in found:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(found)}")
    return found


def _dtype(dtype: dt.dtype | None) -> Any:
    return (dt.get_default_dtype() if dtype is None else dtype).np


@factory
def zeros(size: "*Ints", *, dtype: "dtype | None" = None, layout: "Any" = None,
          device: "device | None" = None, pin_memory: "bool" = False,
          requires_grad: "bool" = False) -> Array:
    """Zeros."""
    return np.zeros(sizes_of(size), _dtype(dtype))


@factory
def ones(size: "*Ints", *, dtype: "dtype | None" = None, layout: "Any" = None,
         device: "device | None" = None, pin_memory: "bool" = False,
         requires_grad: "bool" = False) -> Array:
    """Ones."""
    return np.ones(sizes_of(size), _dtype(dtype))


@factory
def empty(size: "*Ints", *, dtype: "dtype | None" = None, layout: "Any" = None,
          device: "device | None" = None, pin_memory: "bool" = False, requires_grad: "bool" = False,
          memory_format: "Any" = None) -> Array:
    """Uninitialised memory."""
    sizes = sizes_of(size)
    if memory_format is None:
        return np.empty(sizes, _dtype(dtype))
    return arranged(sizes, (), _dtype(dtype), memory_format)


def _full_dtype(fill_value: Any, dtype: dt.dtype | None) -> Any:
    return (of_number(fill_value) if dtype is None else dtype).np


@factory
def full(size: "Ints", fill_value: "Number", *, dtype: "dtype | None" = None, layout: "Any" = None,
         device: "device | None" = None, pin_memory: "bool" = False,
         requires_grad: "bool" = False) -> Array:
    """One number everywhere; its type decides the dtype."""
    return np.full(sizes_of(size), fill_value, _full_dtype(fill_value, dtype))


def _like(a: Array, dtype: dt.dtype | None, memory_format: Any) -> Array:
    return arranged(a.shape, strides_of(a), a.dtype if dtype is None else dtype.np, memory_format)


def _filled_like(name: str, value: Any, doc: str) -> Any:
    def body(input, *, dtype: "dtype | None" = None, layout: "Any" = None,
             device: "device | None" = None, pin_memory: "bool" = False,
             requires_grad: "bool" = False, memory_format: "Any" = None) -> Array:
        out = _like(input, dtype, memory_format)
        if value is not None:
            out[...] = value
        return out
    body.__name__, body.__doc__ = name, doc
    return factory(body, out=False)


zeros_like = _filled_like("zeros_like", 0, "Zeros of input's shape, dtype and strides.")
ones_like = _filled_like("ones_like", 1, "Ones of input's shape, dtype and strides.")
empty_like = _filled_like("empty_like", None, "Uninitialised memory of input's shape and dtype.")


@factory(out=False)
def full_like(input, fill_value: "Number", *, dtype: "dtype | None" = None, layout: "Any" = None,
              device: "device | None" = None, pin_memory: "bool" = False,
              requires_grad: "bool" = False, memory_format: "Any" = None) -> Array:
    """One number in input's shape, dtype and strides."""
    out = _like(input, dtype, memory_format)
    out[...] = fill_value
    return out


def _new(name: str, value: Any, doc: str) -> Any:
    def body(input, size: "*Ints", *, dtype: "dtype | None" = None, layout: "Any" = None,
             device: "device | None" = None, pin_memory: "bool" = False,
             requires_grad: "bool" = False) -> Array:
        make = np.empty if value is None else np.zeros if value == 0 else np.ones
        return make(sizes_of(size), input.dtype if dtype is None else dtype.np)
    body.__name__, body.__doc__ = name, doc
    return factory(body, where=("Tensor",), out=False)


new_zeros = _new("new_zeros", 0, "Zeros of this tensor's dtype.")
new_ones = _new("new_ones", 1, "Ones of this tensor's dtype.")
new_empty = _new("new_empty", None, "Uninitialised memory of this tensor's dtype.")


@factory(where=("Tensor",), out=False)
def new_full(input, size: "Ints", fill_value: "Number", *, dtype: "dtype | None" = None,
             layout: "Any" = None, device: "device | None" = None, pin_memory: "bool" = False,
             requires_grad: "bool" = False) -> Array:
    """One number, in this tensor's dtype."""
    return np.full(sizes_of(size), fill_value, input.dtype if dtype is None else dtype.np)
