"""Reductions: one row each of map, combine, finish."""
from __future__ import annotations

import builtins
from typing import Any

from rushlight.base.errors import wrap_dims
from rushlight.base.layout import as_tuple
from rushlight.ops.reduction import Reduction
from rushlight.ops.scalar import const, m
from rushlight.ops.table import composite, reduce


@reduce(dtypes="sum")
def sum(input) -> Reduction:
    """The sum; integers are added up in int64."""
    return Reduction("add", input)


@reduce(dtypes="sum", where=("torch", "Tensor"))
def nansum(input) -> Reduction:
    """The sum of what is not nan."""
    return Reduction("add", m.where(m.isnan(input), const(0), input))


@reduce(dtypes="float")
def mean(input) -> Reduction:
    """The arithmetic mean."""
    return Reduction("add", input, lambda total, n: total / n)


@reduce(name="_prod", dtypes="sum", where=("aten",))
def _prod(input) -> Reduction:
    """The product; integers are multiplied in int64."""
    return Reduction("mul", input)


@reduce(takes_dtype=False)
def amax(input) -> Reduction:
    """The largest element; nan if there is one."""
    return Reduction("max", input)


@reduce(takes_dtype=False)
def amin(input) -> Reduction:
    """The smallest element; nan if there is one."""
    return Reduction("min", input)


@reduce(takes_dtype=False, dtypes="bool")
def any(input) -> Reduction:
    """Whether any element is nonzero."""
    return Reduction("any", input)


@reduce(takes_dtype=False, dtypes="bool")
def all(input) -> Reduction:
    """Whether all elements are nonzero."""
    return Reduction("all", input)


def with_dims(s: Any, *results: Any) -> tuple[Any, ...]:
    """For gradients of reductions: what has the result's shape, with the reduced dims put back."""
    for axis in () if s.keepdim else sorted(wrap_dims(s.dim, len(s.shape("input")))):
        results = tuple(t.unsqueeze(axis) for t in results)
    return results


@composite(where=("Tensor",), planned=True)
def sum_to_size(input, size: "*Ints"):
    """The sum over the dims in which a tensor of shape `size` would be broadcast to input's."""
    size = as_tuple(size)
    shape = input._a.shape
    extra = len(shape) - len(size)
    if extra < 0 or builtins.any(n != w and w != 1 for n, w in zip(shape[extra:], size, strict=True)):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
    axes = (*range(extra), *[i + extra for i, n in enumerate(size) if n == 1 and shape[i + extra] != 1])
    found = input.sum(axes, True) if axes else input
    return found.reshape(size) if extra else found
