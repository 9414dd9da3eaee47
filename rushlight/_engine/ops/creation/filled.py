"""Creation: tensors of given sizes, filled with one number or with whatever memory holds.

These rows are factories: a body says what to make, and the dispatcher handles device, layout,
pin_memory, requires_grad and out= alike for all of them. A body answers with an array or with a
Fill, which costs no memory on the meta device.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.conversion import fill, number
from rushlight._engine.core.determinism import fill_unwritten
from rushlight._engine.core.layout import (
    Ints,
    as_tuple,
    contiguous_strides,
    dense_strides,
    format_strides,
    strided_memory,
    strides_of_empty,
)
from rushlight._engine.core.promotion import of_number
from rushlight._engine.ops.table import Array, opaque

_LIMIT = 2**63


class Fill(NamedTuple):
    """Memory to make: sizes, NumPy dtype, the number to write (None: nothing) and strides."""

    sizes: Ints
    np: Any
    value: Any = None
    strides: Ints | None = None

    def array(self) -> Array:
        """The memory, made."""
        try:
            return self._made()
        except MemoryError:
            need = math.prod(self.sizes) * np.dtype(self.np).itemsize
            raise RuntimeError(
                "DefaultCPUAllocator: can't allocate memory: you tried to allocate "
                f"{need} bytes for sizes {list(self.sizes)}."
            ) from None
        except ValueError:  # NumPy's, of a number of bytes that no int64 holds
            strides = "" if self.strides is None else f" and strides={list(self.strides)}"
            raise RuntimeError(
                f"Storage size calculation overflowed with sizes={list(self.sizes)}{strides}"
            ) from None

    def _made(self) -> Array:
        sizes, of, value, strides = self
        dense = strides is None or strides == contiguous_strides(sizes)
        if dense and value.__class__ is int and not value:
            return np.zeros(sizes, of)  # pages that are zero already, without touching them
        out = np.empty(sizes, of) if dense else strided_memory(sizes, strides, of)  # type: ignore[arg-type]
        if value is None:
            return fill_unwritten(out)
        fill(out, value)
        return out


def factory(body: Any = None, **facts: Any) -> Any:
    """An opaque row that takes device, layout, pin_memory and requires_grad besides its own."""
    facts = {"where": ("torch",), "out": True, **facts, "factory": True}
    return opaque(body, **facts) if body is not None else lambda b: opaque(b, **facts)


def sizes_of(size: Any, op: str = "") -> Ints:
    """A size argument as a tuple; RuntimeError for sizes that no memory has."""
    found = as_tuple(size)
    if min(found, default=0) < 0:
        n = next(n for n in found if n < 0)
        raise RuntimeError(
            f"{op or 'size'}: Dimension size must be non-negative. Trying to "
            f"create tensor with negative dimension {n}: {list(found)}"
        )
    if math.prod(found) >= _LIMIT // 4:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(found)}")
    return found


def np_dtype(dtype: dt.dtype | None) -> Any:
    return (dt.get_default_dtype() if dtype is None else dtype).np


@factory(unwritten=True)
def empty(size: "*Ints", *, dtype: dtype | None = None, memory_format: Any = None) -> Fill:
    """Uninitialised memory of these sizes, of the default dtype unless given."""
    sizes = sizes_of(size)
    if memory_format is None:
        return Fill(sizes, np_dtype(dtype))
    if memory_format.name == "preserve_format":
        raise RuntimeError("unsupported memory format Preserve: there are no strides to keep")
    return Fill(sizes, np_dtype(dtype), None, format_strides(sizes, (), memory_format))


@factory
def full(size: Ints, fill_value: Number, *, dtype: dtype | None = None) -> Fill:
    """One number everywhere; its type decides the dtype unless that is given: bool, int64, the default
    floating one.
    """
    if isinstance(size, int):
        raise TypeError("full(): argument 'size' (position 1) must be tuple of ints, not int")
    of = of_number(fill_value) if dtype is None else dtype
    return Fill(sizes_of(size), of.np, number(fill_value, of))


@factory(out=False)
def empty_strided(size: Ints, stride: Ints, *, dtype: dtype | None = None) -> Fill:
    """Uninitialised memory with the given strides."""
    return Fill(*_checked_strides(size, np_dtype(dtype), stride))


def _checked_strides(size: Any, of: Any, stride: Any) -> tuple[Ints, Any, None, Ints]:
    sizes, strides = sizes_of(size), tuple(stride)
    if len(sizes) != len(strides):
        raise RuntimeError(
            f"dimensionality of sizes ({len(sizes)}) must match dimensionality of strides ({len(strides)})"
        )
    if any(s < 0 for s in strides):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(sizes)} and "
            f"strides={list(strides)}: strides must not be negative"
        )
    return sizes, of, None, strides


@factory(out=False)
def empty_permuted(size: Ints, physical_layout: Ints, *, dtype: dtype | None = None) -> Fill:
    """Uninitialised memory whose dims lie in the order `physical_layout`, outermost first."""
    sizes, order = sizes_of(size), tuple(physical_layout)
    if len(order) != len(sizes):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) "
            f"= {len(sizes)} is not equal to len(physical_layout) = {len(order)}"
        )
    for i, d in enumerate(order):
        if not 0 <= d < len(sizes):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(sizes) - 1}, but "
                f"got {d} at index {i}); negative dims are not supported here"
            )
    if len(set(order)) != len(order):
        raise RuntimeError("Duplicate dim not allowed")
    return Fill(sizes, np_dtype(dtype), None, dense_strides(sizes, order))


@factory(out=False)
def scalar_tensor(s: Number, *, dtype: dtype | None = None) -> Array:
    """One number as a 0-d tensor of the default dtype."""
    return number(s, dt.get_default_dtype() if dtype is None else dtype)


# --- like another tensor --------------------------------------------------------------------------


def like(a: Array, value: Any, dtype: dt.dtype | None, memory_format: Any) -> Fill:
    """Memory in a's shape, dtype and strides, or in others that are asked for."""
    of = a.dtype if dtype is None else dtype.np
    if not a.size:
        return Fill(a.shape, of, value, strides_of_empty(a, memory_format))
    if memory_format is None and a.flags.c_contiguous:
        return Fill(a.shape, of, value)
    return Fill(a.shape, of, value, format_strides(a.shape, a.strides, memory_format))


@factory(out=False)
def full_like(input, fill_value: Number, *, dtype: dtype | None = None, memory_format: Any = None) -> Fill:
    """One number in input's shape, dtype and strides."""
    return like(input, _number_for(input, fill_value, dtype), dtype, memory_format)


def _number_for(a: Array, value: Any, dtype: dt.dtype | None) -> Array:
    return number(value, dt.from_numpy_dtype(a.dtype) if dtype is None else dtype)


def _filled(name: str, value: Any, what: str) -> None:
    """The rows NAME, NAME_like and Tensor.new_NAME."""

    def sized(size: "*Ints", *, dtype: dtype | None = None) -> Fill:
        return Fill(sizes_of(size, name), np_dtype(dtype), value)

    def alike(input, *, dtype: dtype | None = None, memory_format: Any = None) -> Fill:
        return like(input, value, dtype, memory_format)

    def new(input, size: "*Ints", *, dtype: dtype | None = None) -> Fill:
        return Fill(sizes_of(size), input.dtype if dtype is None else dtype.np, value)

    if name != "empty":  # which takes a memory_format as well
        factory(sized, name=name, doc=f"{what}.")
    factory(alike, name=f"{name}_like", doc=f"{what} of input's shape, dtype and strides.", out=False)
    factory(new, name=f"new_{name}", doc=f"{what} of this tensor's dtype.", where=("Tensor",), out=False)


_filled("zeros", 0, "Zeros")
_filled("ones", 1, "Ones")
_filled("empty", None, "Uninitialised memory")


@factory(where=("Tensor",), out=False)
def new_full(input, size: Ints, fill_value: Number, *, dtype: dtype | None = None) -> Fill:
    """One number, in this tensor's dtype."""
    value = _number_for(input, fill_value, dtype)
    return Fill(sizes_of(size), value.dtype, value)


@factory(where=("Tensor",), out=False)
def new_empty_strided(input, size: Ints, stride: Ints, *, dtype: dtype | None = None) -> Fill:
    """Uninitialised memory of this tensor's dtype with the given strides."""
    return Fill(*_checked_strides(size, input.dtype if dtype is None else dtype.np, stride))
