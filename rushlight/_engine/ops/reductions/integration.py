"""Integrals by trapezoids, and derivatives by finite differences, along dims of samples."""

from __future__ import annotations

from typing import Any

from rushlight._engine.core.errors import wrap_dim, wrap_dims
from rushlight._engine.ops.table import ROWS, composite


def _ends(t: Any, d: int) -> tuple[Any, Any]:
    """All but the last, and all but the first, along d."""
    size = t.shape[d]
    return t.narrow(d, 0, size - 1), t.narrow(d, 1, size - 1)


# --- trapezoids -----------------------------------------------------------------------------------


def _steps(name: str, y: Any, x: Any, d: int) -> Any:
    """The distances between the sample points x, in a shape that goes with y's parts along d."""
    if not x.ndim:
        raise RuntimeError(f"{name}: The provided `x` is not broadcastable: x is a scalar")
    if x.ndim == 1:
        if x.shape[0] != y.shape[d]:
            raise RuntimeError(
                f"{name}: There must be one `x` value for each sample point, got "
                f"{x.shape[0]} for {y.shape[d]} points"
            )
        x = x.view([-1 if i == d else 1 for i in range(y.ndim)])
    elif x.ndim < y.ndim:
        x = x.view([1] * (y.ndim - x.ndim) + list(x.shape))
    low, high = _ends(x, d - y.ndim + x.ndim)
    return high - low


def _parts(name: str, y: Any, x: Any, dx: Any, dim: int) -> tuple[Any, int]:
    """Twice the areas of the trapezoids between neighbours."""
    if y.dtype.name == "bool" or (x is not None and x.dtype.name == "bool"):
        what = "y" if y.dtype.name == "bool" else "x"
        raise RuntimeError(f"{name}: received a bool input for `{what}`, but bool is not supported")
    if x is not None and dx is not None:
        raise TypeError(f"{name}() received an invalid combination of arguments: give x or dx, not both")
    d = wrap_dim(dim, y.ndim)
    if not y.shape[d]:
        return None, d
    left, right = _ends(y, d)
    return (left + right) * (_steps(name, y, x, d) if x is not None else 1 if dx is None else dx), d


@composite(aliases=("trapz",), where=("torch",), planned=True)
def trapezoid(y, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1):
    """The integral along dim of samples y, at points x or at distances dx (1)."""
    if not y.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if x is None and y.dtype.name != "bool" and y.shape[d := wrap_dim(dim, y.ndim)]:
        # What lies inside counts whole.
        return (y.sum(d) - (y.select(d, 0) + y.select(d, -1)) * 0.5) * (1 if dx is None else dx)
    doubled, d = _parts("trapezoid", y, x, dx, dim)
    return y.sum(d) * 0.0 if doubled is None else doubled.sum(d) / 2.0


@composite(where=("torch",), planned=True)
def cumulative_trapezoid(y, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1):
    """The integrals along dim from the first sample to each of the others."""
    doubled, d = _parts("cumulative_trapezoid", y, x, dx, dim)
    return y.narrow(d, 0, 0) * 0.5 if doubled is None else doubled.cumsum(d) / 2.0


# --- differences ----------------------------------------------------------------------------------


def _uniform(f: Any, d: int, h: Any, edge_order: int) -> Any:
    """Central differences of samples at distances h, one-sided ones at both ends."""
    n = f.shape[d]
    middle = (f.narrow(d, 2, n - 2) - f.narrow(d, 0, n - 2)) / (2 * h)
    if edge_order == 1:
        first = (f.narrow(d, 1, 1) - f.narrow(d, 0, 1)) / h
        last = (f.narrow(d, n - 1, 1) - f.narrow(d, n - 2, 1)) / h
    else:
        first = (-1.5 * f.narrow(d, 0, 1) + 2 * f.narrow(d, 1, 1) - 0.5 * f.narrow(d, 2, 1)) / h
        last = (0.5 * f.narrow(d, n - 3, 1) - 2 * f.narrow(d, n - 2, 1) + 1.5 * f.narrow(d, n - 1, 1)) / h
    return ROWS["cat"]([first, middle, last], d)


def _uneven(f: Any, d: int, x: Any, edge_order: int) -> Any:
    """The same for samples at points x: the slope of the parabola through three of them."""
    n = f.shape[d]
    steps = (x.narrow(0, 1, n - 1) - x.narrow(0, 0, n - 1)).view([-1 if i == d else 1 for i in range(f.ndim)])
    a, b = _ends(steps, d)
    middle = (
        f.narrow(d, 2, n - 2) * (a / (b * (a + b)))
        + f.narrow(d, 1, n - 2) * ((b - a) / (a * b))
        - f.narrow(d, 0, n - 2) * (b / (a * (a + b)))
    )
    if edge_order == 1:
        first = (f.narrow(d, 1, 1) - f.narrow(d, 0, 1)) / steps.narrow(d, 0, 1)
        last = (f.narrow(d, n - 1, 1) - f.narrow(d, n - 2, 1)) / steps.narrow(d, n - 2, 1)
    else:
        a, b = steps.narrow(d, 0, 1), steps.narrow(d, 1, 1)
        first = (
            -(2 * a + b) / (a * (a + b)) * f.narrow(d, 0, 1)
            + (a + b) / (a * b) * f.narrow(d, 1, 1)
            - a / (b * (a + b)) * f.narrow(d, 2, 1)
        )
        a, b = steps.narrow(d, n - 3, 1), steps.narrow(d, n - 2, 1)
        last = (
            b / (a * (a + b)) * f.narrow(d, n - 3, 1)
            - (a + b) / (a * b) * f.narrow(d, n - 2, 1)
            + (2 * b + a) / (b * (a + b)) * f.narrow(d, n - 1, 1)
        )
    return ROWS["cat"]([first, middle, last], d)


def _spacings(input: Any, spacing: Any, dims: tuple[int, ...]) -> list[Any]:
    """One distance, or tensor of points, for each dim."""
    spacing = 1 if spacing is None else spacing
    given = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    if len(given) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
            f"equal to the number of dims, {len(dims)}, but got a list of {len(given)}"
        )
    for h, d in zip(given, dims, strict=True):
        if hasattr(h, "_kind") and h.ndim and h.shape != (input.shape[d],):
            raise RuntimeError(
                "torch.gradient expected each element of a tensor spacing to have the size of "
                f"its dimension, got {list(h.shape)} for size {input.shape[d]}"
            )
    return given


@composite(where=("torch",), planned="spacing.__class__ in (int, float)")
def gradient(input, *, spacing: Any = 1, dim: Ints | None = None, edge_order: int = 1):
    """Estimates of the derivatives along dims (all by default), as a tuple.

    spacing: the distance of samples, one for all or a list, or a list of vectors of sample points.
    edge_order: 1 or 2, the order of the estimates at the first and last sample.
    """
    if edge_order not in (1, 2):
        raise RuntimeError(f"torch.gradient only supports edge_order=1 and edge_order=2, got {edge_order}")
    if input.dtype.name == "uint8":
        raise RuntimeError("torch.gradient does not support uint8 input.")
    dims = () if dim in ((), []) else wrap_dims(dim, input.ndim)  # where reductions take all
    found = []
    for d, h in zip(dims, _spacings(input, spacing, dims), strict=True):
        if input.shape[d] <= edge_order:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1, got "
                f"{input.shape[d]}"
            )
        points = hasattr(h, "_kind") and h.ndim
        found.append((_uneven if points else _uniform)(input, d, h, edge_order))
    return tuple(found)
