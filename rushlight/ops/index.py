"""Reads at data coordinates: x[...], gather, index_select, take, embedding and their relatives."""
from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.base.layout import Layout
from rushlight.ops.table import ROWS, index, view
from rushlight.tensor import advanced, indexing

Array = np.ndarray[Any, Any]


# --- x[...] ---------------------------------------------------------------------------------------


@view(name="_basic", where=("aten",), numpy=indexing.view)
def BASIC(input: Layout, basic: "tuple", ones: "tuple") -> Layout:
    """The view of x[ints, slices, None, ...] (see tensor/indexing.py)."""
    sizes, strides, offset = [], [], input.offset
    places = iter(zip(input.sizes, input.strides, strict=True))
    for item in basic:
        if item is ...:
            break
        size, step = next(places)
        if isinstance(item, int):
            offset += (item + size if item < 0 else item) * step
            continue
        taken = range(size)[item]
        sizes.append(len(taken))
        strides.append(step * taken.step)
        offset += taken.start * step
    for size, step in places:
        sizes.append(size)
        strides.append(step)
    for dim in ones:
        strides.insert(dim, sizes[dim] * strides[dim] if dim < len(sizes) else 1)
        sizes.insert(dim, 1)
    return Layout(tuple(sizes), tuple(strides), offset)


@BASIC.gradient
def _(s: Any, grad: Any) -> Any:
    into = grad.new_zeros(s.shape("input"))
    BASIC(into, s.basic, s.ones).copy_(grad)
    return into


@index(name="index", where=("aten",), fused=advanced.read)
def index_(shape: Any, indices: "list[Tensor | None]") -> Any:
    """x[index tensors and masks]: a copy."""
    return advanced.coordinates(shape, indices)
