"""Derived gradients of views: the same map, read backwards."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight.base.layout import Layout, contiguous_strides
from rushlight.ops.table import Row


def view_rule(row: Row) -> Callable[..., Any]:
    """Of a view: the gradient put (added, where elements may overlap) where the view reads."""
    def rule(s: Any, grad: Any) -> Any:
        shape = s.shape(row.params[0].name)
        rest = [getattr(s, p.name) for p in row.params[1:]]
        if not row.options.get("overlaps"):
            into = grad.new_zeros(shape)
            row(into, *rest).copy_(grad)
            return into
        places = _places(row, shape, rest)
        flat = grad.new_zeros(int(np.prod(shape)))
        return flat.index_add(0, places, grad.reshape(-1)).reshape(shape)
    return rule


def _places(row: Row, shape: tuple[int, ...], rest: list[Any]) -> Any:
    """Which element of a contiguous operand each element of the view is, flat."""
    from rushlight.tensor.tensor import wrap

    layout = row.body(Layout(shape, contiguous_strides(shape)), *rest)
    grid = np.full(layout.sizes, layout.offset, np.int64)
    for axis, (size, stride) in enumerate(zip(layout.sizes, layout.strides, strict=True)):
        steps = np.arange(size, dtype=np.int64) * stride
        grid += steps.reshape([-1 if i == axis else 1 for i in range(len(layout.sizes))])
    return wrap(grid.reshape(-1))
