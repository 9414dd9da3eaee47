"""Tensors put together into grids and tables: meshgrid, combinations, vander, complex parts."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.callers import warn
from rushlight._engine.core.layout import broadcast_shapes
from rushlight._engine.ops.resolved import ArrayFunction, resolved
from rushlight._engine.ops.signature import spread_tensors
from rushlight._engine.ops.table import ROWS, Array, composite, opaque

# --- grids ----------------------------------------------------------------------------------------


@composite(where=("torch",))
def broadcast_tensors(tensors: "*Any" = ()):
    """Views of the tensors in the shape that all of them broadcast to."""
    return _broadcast(list(spread_tensors("broadcast_tensors", tensors)))


@composite(where=("aten",), planned=True)
def _broadcast(parts: list[Tensor]):
    """broadcast_tensors."""
    shape = broadcast_shapes(*[t.shape for t in parts])
    return tuple(t.expand(shape) for t in parts)


@composite(where=("torch",))
def meshgrid(tensors: "*Any" = (), *, indexing: str | None = None):
    """Grids of coordinates: for each vector its values along one dim, the same in all others.

    indexing: "ij" gives dims in the order of the vectors, "xy" swaps the first two.
    """
    if indexing is None:
        warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
            UserWarning,
        )
    return _meshgrid(list(spread_tensors("meshgrid", tensors)), "ij" if indexing is None else indexing)


@composite(where=("aten",), planned=True)
def _meshgrid(parts: list[Tensor], indexing: str):
    """meshgrid."""
    _check_mesh(parts, indexing)
    swap = indexing == "xy" and len(parts) > 1
    if swap:
        parts[:2] = parts[1], parts[0]
    shape = [t._geometry.size for t in parts]
    grids = []
    for i, t in enumerate(parts):
        alone = [1] * len(parts)
        alone[i] = shape[i]
        grids.append(t.view(alone).expand(shape))
    if swap:
        grids[:2] = grids[1], grids[0]
    return tuple(grids)


def _check_mesh(parts: list[Any], indexing: str) -> None:
    if not parts:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in parts:
        if t.ndim > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but "
                f"got: a tensor of shape {list(t.shape)}"
            )
        if t._kind.plain is not parts[0]._kind.plain:
            raise RuntimeError(
                "torch.meshgrid expects all tensors to have the same dtype and "
                f"device, got {t.dtype} and {parts[0].dtype}"
            )
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')


@composite(where=("torch",))
def cartesian_prod(tensors: "*Any" = ()):
    """All tuples with one element of each vector, as rows; of one vector, the vector."""
    parts = spread_tensors("cartesian_prod", tensors)
    for t in parts:
        if t.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(parts) == 1:
        return parts[0]
    return ROWS["stack"]([g.reshape(-1) for g in meshgrid(*parts, indexing="ij")], 1)


@opaque(name="_choices", where=("aten",))
def _choices(n: int, r: int, repeated: bool) -> Array:
    """All choices of r among n numbers, in order, as rows."""
    choose = itertools.combinations_with_replacement if repeated else itertools.combinations
    flat = np.fromiter(itertools.chain.from_iterable(choose(range(n), r)), np.int64)
    return flat.reshape(-1, r)


@composite(where=("torch", "Tensor"))
def combinations(input, r: int = 2, with_replacement: bool = False):
    """All choices of r elements of a vector, in the vector's order, as rows."""
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    return input[_choices(input._geometry.size, r, with_replacement)]


# --- powers ---------------------------------------------------------------------------------------


@composite(where=("torch",), planned=True)
def vander(x, N: int | None = None, increasing: bool = False):
    """The powers of a vector's elements as rows: x**(N-1), ..., x, 1, or increasing."""
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    if N is not None and N < 0:
        raise RuntimeError("N must be non-negative.")
    powers = _powers(x, x._geometry.size if N is None else N)
    return powers if increasing else powers.flip(1)


@composite(name="linalg_vander", where=("linalg",), aliases=("linalg.vander",), planned=True)
def linalg_vander(x, *, N: int | None = None):
    """The powers 0 to N-1 (N: the last size) of elements, along a new last dim."""
    x = x if x.ndim else x.reshape(1)
    count = x._geometry.shape[-1] if N is None else N
    if count < 2:
        raise RuntimeError("N must be greater than 1.")
    return _powers(x, count)


def _powers(x: Any, count: int) -> Any:
    of = dt.int64 if x.dtype.category < dt.FLOATING else x.dtype
    ones = x.new_ones((*x.shape, min(count, 1)), dtype=of)
    if count < 2:
        return ones
    rows = x.unsqueeze(-1).expand(*x.shape, count - 1)
    return ROWS["cat"]([ones, rows.cumprod(-1)], -1)


# --- complex numbers from two parts ---------------------------------------------------------------


def _two(
    a: Array, b: Array, allowed: tuple[str, ...], parts: Callable[[Array, Array, Array, Array], None]
) -> ArrayFunction:
    """The complex numbers of the two parts that parts(a, b, real, imag) writes."""
    one, two = dt.from_numpy_dtype(a.dtype), dt.from_numpy_dtype(b.dtype)
    if one.name not in allowed or two.name not in allowed:
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {one.legacy} and {two.legacy}"
        )
    if one is not two:
        raise RuntimeError(
            f"Expected object of scalar type {one.legacy} but got scalar type "
            f"{two.legacy} for second argument"
        )
    if one.name == "float16":
        raise NotImplementedError(
            "complex: halves would make complex32, which Rushlight has not "
            "yet; convert both parts with .float()"
        )
    shape, of = broadcast_shapes(a.shape, b.shape), one.to_complex().np

    def run(a: Array, b: Array) -> Array:
        out = np.empty(shape, of)
        parts(a, b, out.real, out.imag)
        return out

    return run


@opaque(name="complex", where=("torch",), out=True)
@resolved
def complex_(real, imag) -> ArrayFunction:
    """real + i * imag, of two real tensors of one dtype."""
    return _two(real, imag, ("float16", "float32", "float64"), _side_by_side)


def _side_by_side(a: Array, b: Array, real: Array, imag: Array) -> None:
    real[...], imag[...] = a, b


complex_.gradient(
    lambda s, grad: (
        ROWS["real"](grad).sum_to_size(s.shape("real")),
        ROWS["imag"](grad).sum_to_size(s.shape("imag")),
    )
)


@opaque(where=("torch",), out=True)
@resolved
def polar(abs, angle) -> ArrayFunction:
    """abs * (cos(angle) + i * sin(angle)), of two real tensors of one dtype."""
    return _two(abs, angle, ("float32", "float64"), _around)


def _around(size: Array, angle: Array, real: Array, imag: Array) -> None:
    np.multiply(size, np.cos(angle), real)
    np.multiply(size, np.sin(angle), imag)


@polar.gradient
def polar_gradient(s: Any, grad: Any) -> Any:
    direction = polar(ROWS["ones_like"](s.angle), s.angle)
    along = ROWS["real"](grad * direction.conj())
    across = ROWS["real"](grad * (s.result * 1j).conj())
    return along.sum_to_size(s.shape("abs")), across.sum_to_size(s.shape("angle"))
