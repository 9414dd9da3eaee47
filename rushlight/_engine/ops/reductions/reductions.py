"""Reductions: one row each of map, combine, finish."""

from __future__ import annotations

import builtins
from typing import Any

from rushlight._engine.core.errors import wrap_dims
from rushlight._engine.core.layout import as_tuple
from rushlight._engine.ops.expressions import const, m
from rushlight._engine.ops.monoid import Reduction
from rushlight._engine.ops.table import Row, composite, reduce


def _folded(name: str, combine: str, doc: str, **facts: Any) -> Row:
    """A row that combines the elements as they are."""

    def body(input) -> Reduction:
        return Reduction(combine, input)

    return reduce(body, name=name, doc=doc, **facts)


sum = _folded("sum", "add", "The sum; integers are added up in int64.", dtypes="sum")


@reduce(dtypes="sum", where=("torch", "Tensor"))
def nansum(input) -> Reduction:
    """The sum of what is not nan."""
    return Reduction("add", m.where(m.isnan(input), const(0), input))


@reduce(dtypes="float")
def mean(input) -> Reduction:
    """The arithmetic mean."""
    return Reduction("add", input, lambda total, n: total / n)


_prod = _folded(
    "_prod", "mul", "The product; integers are multiplied in int64.", dtypes="sum", where=("aten",)
)
amax = _folded("amax", "max", "The largest element; nan if there is one.", takes_dtype=False)
amin = _folded("amin", "min", "The smallest element; nan if there is one.", takes_dtype=False)
any = _folded("any", "any", "Whether any element is nonzero.", takes_dtype=False, dtypes="bool")
all = _folded("all", "all", "Whether all elements are nonzero.", takes_dtype=False, dtypes="bool")


def with_dims(s: Any, *results: Any) -> tuple[Any, ...]:
    """For gradients of reductions: what has the result's shape, with the reduced dims put back."""
    for axis in () if s.keepdim else sorted(wrap_dims(s.dim, len(s.shape("input")))):
        results = tuple(t.unsqueeze(axis) for t in results)
    return results


@composite(where=("Tensor",), planned=True)
def sum_to_size(input, size: "*Ints"):
    """The sum over the dims in which a tensor of shape `size` would be broadcast to input's."""
    size = as_tuple(size)
    shape = input._geometry.shape
    extra = len(shape) - len(size)
    if extra < 0 or builtins.any(n != w and w != 1 for n, w in zip(shape[extra:], size, strict=True)):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
    axes = (*range(extra), *[i + extra for i, n in enumerate(size) if n == 1 and shape[i + extra] != 1])
    found = input.sum(axes, True) if axes or not size else input
    return found.reshape(size) if extra else found
