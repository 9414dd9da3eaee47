"""Histograms of one and more dimensions, with the edges of their bins."""
from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.base.results import named
from rushlight.ops.table import ROWS, Array, composite, opaque


@opaque(name="_histogram", where=("aten",))
def _histogram(points, edges: "list[Tensor]", weight: "Tensor | None", density: "bool") -> Array:
    """How many (or how much weight) of the points (N, D) lie in each bin; a last edge is inside."""
    sizes = [max(len(e) - 1, 0) for e in edges]
    places, inside = [], np.ones(len(points), bool)
    for column, e in zip(points.T, edges, strict=True):
        inside &= (column >= e[0]) & (column <= e[-1])
        places.append(np.minimum(np.searchsorted(e, column, "right") - 1, len(e) - 2)[...])
    flat = np.zeros(int(inside.sum()), np.int64)
    for place, size in zip(places, sizes, strict=True):
        flat = flat * size + place[inside]
    shares = None if weight is None else weight[inside].astype(np.float64)
    found = np.bincount(flat, shares, minlength=int(np.prod(sizes))).reshape(sizes).astype(points.dtype)
    if not density:
        return found
    found = found / found.sum()
    for axis, e in enumerate(edges):
        found = found / np.diff(e).reshape([-1 if i == axis else 1 for i in range(len(edges))])
    return found


def _check(x: Any, weight: Any) -> None:
    if x.ndim < 2:
        raise RuntimeError(f"torch.histogramdd: input tensor should have at least 2 dimensions, got {x.ndim}")
    if weight is not None and tuple(weight.shape) != tuple(x.shape[:-1]):
        raise RuntimeError("torch.histogramdd: if weight tensor is provided it should have the same shape as "
                           "the input tensor excluding its innermost dimension, but got input with shape "
                           f"{list(x.shape)} and weight with shape {list(weight.shape)}")
    if weight is not None and weight.dtype is not x.dtype:
        raise RuntimeError("torch.histogramdd: if weight tensor is provided, input tensor and weight tensor "
                           f"should have the same dtype, but got input({x.dtype.legacy.lower()}), and "
                           f"weight({weight.dtype.legacy.lower()})")


def _check_edges(x: Any, e: Any, d: int) -> Any:
    if e.ndim != 1:
        raise RuntimeError(f"torch.histogramdd: bins tensor should have one dimension, but got {e.ndim} "
                           f"dimensions in the bins tensor for dimension {d}")
    if not e.numel():
        raise RuntimeError("torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements"
                           f" in the bins tensor for dimension {d}")
    if e.dtype is not x.dtype:
        raise RuntimeError("torch.histogramdd: input tensor and bins tensors should have the same dtype, but "
                           f"got input with dtype {x.dtype.legacy.lower()} and bins for dimension {d} with "
                           f"dtype {e.dtype.legacy.lower()}")
    return e


def _bounds(x: Array, given: Any, d: int) -> tuple[float, float]:
    """The range of dimension d: as given, or that of the data."""
    if given is not None:
        low, high = float(given[2 * d]), float(given[2 * d + 1])
        if low > high:
            raise RuntimeError(f"torch.histogramdd: min should not exceed max, but got min {low:g} max "
                               f"{high:g} for dimension {d}")
    else:
        low, high = (float(x.min()), float(x.max())) if x.size else (0.0, 1.0)
    if not np.isfinite(low) or not np.isfinite(high):
        raise RuntimeError(f"torch.histogramdd: dimension {d}'s range [{low:g}, {high:g}] is not finite")
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _edges(points: Any, bins: Any, range: Any) -> list[Any]:
    """The edges of each dimension's bins."""
    found = []
    for d, b in enumerate(bins):
        if hasattr(b, "_a"):
            found.append(_check_edges(points, b, d))
            continue
        if b <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {b} for dimension {d}")
        low, high = _bounds(points._a[:, d], range, d)
        found.append(ROWS["linspace"](low, high, b + 1, dtype=points.dtype))
    return found


def _counted(x: Any, bins: Any, range: Any, weight: Any, density: bool) -> tuple[Any, list[Any]]:
    points = x.detach().reshape(-1, x.shape[-1])
    edges = _edges(points, bins, range)
    return _histogram(points, edges, None if weight is None else weight.detach().reshape(-1), density), edges


@composite(out=True)
def histogram(input, bins: "int | Tensor", *, range: "Any" = None, weight: "Tensor | None" = None,
              density: "bool" = False):
    """(hist, bin_edges) of all elements.

    bins: the number of bins of equal width over `range` (that of the data), or a tensor of edges.
    """
    x = input.reshape(-1, 1)
    if range is not None and len(range) != 2:
        raise RuntimeError("torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, "
                           f"but got {len(range)}")
    _check(x, None if weight is None else weight.reshape(-1))
    found, edges = _counted(x, [bins], range, weight, density)
    return named("histogram")(found, edges[0].clone() if hasattr(bins, "_a") else edges[0])


@composite(where=("torch",))
def histogramdd(input, bins: "Any", *, range: "Any" = None, weight: "Tensor | None" = None,
                density: "bool" = False):
    """(hist, bin_edges) of points (..., D); bins: an int, a list of ints, or a list of edge tensors."""
    _check(input, weight)
    dims = input.shape[-1]
    each = [bins] * dims if isinstance(bins, int) else list(bins)
    if len(each) != dims:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the "
                           f"input, got {len(each)} for {dims}.")
    if range is not None and len(range) != 2 * dims:
        raise RuntimeError(f"torch.histogramdd: for a {dims}-dimensional histogram range should have "
                           f"{2 * dims} elements, but got {len(range)}")
    found, edges = _counted(input, each, range, weight, density)
    return named("histogramdd")(found, tuple(edges))
