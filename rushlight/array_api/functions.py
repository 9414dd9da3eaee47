"""The standard's functions that PyTorch lacks, means otherwise, or calls another way; PUBLIC lists them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import rushlight as torch
from rushlight._engine.core.dtype import from_numpy_dtype
from rushlight._engine.tensors.tensor import Tensor
from rushlight.array_api.info import named

Axes = int | tuple[int, ...] | None
_NUMBERS = (bool, int, float, complex, np.number, np.bool_)


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype of these together: dims do not matter, Python numbers only by their category."""
    known = [getattr(v, "dtype", v) for v in arrays_and_dtypes if not isinstance(v, _NUMBERS)]
    if not known:
        raise ValueError("result_type: at least one array or dtype is required")
    numbers = [v for v in arrays_and_dtypes if isinstance(v, _NUMBERS)]
    return functools.reduce(
        lambda d, v: torch.result_type(torch.empty(1, dtype=d), v),
        numbers,
        functools.reduce(_promoted, known),
    )


def _promoted(a: Any, b: Any) -> Any:
    if isdtype(a, ("bool", "integral")) and isdtype(b, ("bool", "integral")):
        return from_numpy_dtype(np.promote_types(a.np, b.np))
    # Of kinds, not of sizes: that PyTorch refuses to promote wide unsigned integers means nothing here.
    return torch.promote_types(*(torch.int64 if isdtype(d, "unsigned integer") else d for d in (a, b)))


def common(*values: Any) -> list[Tensor]:
    """Arrays and numbers as arrays of their common dtype."""
    dtype = result_type(*values)
    return [v.to(dtype) if isinstance(v, Tensor) else torch.asarray(v, dtype=dtype) for v in values]


def of_pairs(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of two arrays, which first become of one dtype."""
    return functools.wraps(f)(lambda x1, x2, /, **options: f(*common(x1, x2), **options))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether dtype is (of) the kind, or of one of several."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    return dtype.name in named(kind) if isinstance(kind, str) else dtype is kind


def _limits(known: Callable[..., Any], *names: str) -> Callable[..., Any]:
    def limits(type: Any, /) -> Any:
        dtype = getattr(type, "dtype", type)
        return SimpleNamespace(dtype=dtype.to_real(), **{n: getattr(known(dtype), n) for n in names})

    return limits


# --- creation -----------------------------------------------------------------------------------


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """Numbers from start to stop; none where the step leads away from stop."""
    start, stop = (0, start) if stop is None else (start, stop)
    stop = start + 0 * stop if (stop - start) * step < 0 else stop
    exact = torch.int64 if dtype is not None and isdtype(dtype, "integral") else dtype
    return torch.arange(start, stop, step, dtype=exact, device=device).to(dtype or exact)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> Tensor:
    """Ones on the k-th diagonal."""
    out = torch.zeros(n_rows, n_rows if n_cols is None else n_cols, dtype=dtype, device=device)
    if -n_rows < k < out.shape[1]:
        out.diagonal(k).fill_(1)
    return out


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True
) -> Tensor:
    """num numbers from start to stop, which is the last of them if endpoint."""
    return torch.linspace(start, stop, num + (not endpoint), dtype=dtype, device=device)[:num]


def _made(make: Callable[..., Any]) -> Callable[..., Any]:
    return lambda shape, *, dtype=None, device=None: make(_shape(shape), dtype=dtype, device=device)


def _shape(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else shape


# --- reductions ---------------------------------------------------------------------------------


def _tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    first, second = common(x1, x2)
    return torch.tensordot(first, second, dims=axes)


def _axes(axis: Axes, ndim: int) -> tuple[int, ...]:
    return tuple(range(ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)


def _reduction(f: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A reduction over dims as one over an axis, several, none or (None) all."""

    def reduction(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False, **options: Any) -> Tensor:
        axes = _axes(axis, x.ndim)
        if not axes:
            return f(x.unsqueeze(-1), (-1,), False, **options)
        return f(x, axes, keepdims, **options)

    return reduction


def _flat(f: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction over one dim as one over several."""

    def flat(x: Tensor, axes: tuple[int, ...], keepdims: bool, **options: Any) -> Tensor:
        moved = x.movedim(axes, tuple(range(-len(axes), 0)))
        out: Tensor = f(moved.flatten(-len(axes)), -1, **options)
        for axis in sorted(a % x.ndim for a in axes) if keepdims else ():
            out = out.unsqueeze(axis)
        return out

    return flat


def _summing(f: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Unsigned integers are added and multiplied as uint64."""

    def summing(x: Tensor, *rest: Any, dtype: Any = None) -> Tensor:
        unsigned = dtype is None and isdtype(x.dtype, "unsigned integer")
        return f(x, *rest, dtype=torch.uint64 if unsigned else dtype)

    return summing


def _accumulation(f: Callable[..., Any]) -> Callable[..., Any]:
    over = _reduction(_summing(f))
    return lambda x, /, *, axis=None, dtype=None, keepdims=False: over(
        x, axis=axis, keepdims=keepdims, dtype=dtype
    )


def _spread(f: Callable[..., Any]) -> Callable[..., Any]:
    over = _reduction(
        lambda x, axes, keepdims, correction: f(x, axes, correction=correction, keepdim=keepdims)
    )
    return lambda x, /, *, axis=None, correction=0.0, keepdims=False: over(
        x, axis=axis, keepdims=keepdims, correction=correction
    )


def _cumulative(f: Callable[..., Any], first: int) -> Callable[..., Any]:
    def cumulative(
        x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
    ) -> Tensor:
        out = _summing(f)(x, axis := _only(x, axis), dtype=dtype)
        start = torch.full_like(torch.sum(out, axis, keepdim=True, dtype=out.dtype), first)
        return torch.cat([start, out], axis) if include_initial else out

    return cumulative


def _only(x: Tensor, axis: int | None) -> int:
    if axis is None and x.ndim != 1:
        raise ValueError(f"axis is required for an array of {x.ndim} dims")
    return 0 if axis is None else axis


# --- sets ---------------------------------------------------------------------------------------


class UniqueAll(NamedTuple):
    """The distinct values, where each first stands, which of them each element is, and how often."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """The distinct values and how often each stands."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """The distinct values, and which of them each element is."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> UniqueAll:
    """Distinct values (every nan is one), where each is first, which one each is, how often."""
    flat = x.flatten()
    parts = (flat.imag, flat.real) if flat.is_complex() else (flat,)
    order = torch.arange(flat.numel())
    for part in parts:
        order = order[torch.argsort(part[order], stable=True)]
    ranked = flat[order]
    new = torch.ones_like(order, dtype=torch.bool)
    new[1:] = ranked[1:] != ranked[:-1]
    starts = torch.nonzero(new).flatten()
    inverse = torch.empty_like(order)
    inverse[order] = torch.cumsum(new, 0) - 1
    counts = torch.diff(starts, append=torch.tensor([flat.numel()]))
    return UniqueAll(ranked[starts], order[starts], inverse.reshape(x.shape), counts)


# --- shapes and bounds --------------------------------------------------------------------------


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Joined along an axis; flattened first if it is None."""
    arrays = common(*arrays)
    return torch.cat([a.flatten() for a in arrays] if axis is None else arrays, axis or 0)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """The elements in another shape; copy=False: ValueError where that needs a copy."""
    if copy is not False:
        return torch.reshape(x.clone() if copy else x, shape)
    try:
        return x.view(shape)
    except RuntimeError as error:
        raise ValueError(f"reshape(copy=False): {error}") from error


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """Without dims of size 1."""
    axes = _axes(axis, x.ndim)
    if any(x.shape[a] != 1 for a in axes):
        raise ValueError(f"squeeze: axes {axes} of shape {tuple(x.shape)} are not all of size 1")
    return torch.squeeze(x, axes)


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """x between bounds, in its own dtype."""
    bounds = [b if b is None else torch.asarray(b, dtype=x.dtype) for b in (min, max)]
    return x.clone() if bounds == [None, None] else torch.clamp(x, *bounds)


def floor_divide(x1: Tensor, x2: Tensor) -> Tensor:
    """Division rounded down; of and by infinity the quotient, where Python and PyTorch say nan and -1."""
    found, endless = torch.floor_divide(x1, x2), torch.logical_or(torch.isinf(x1), torch.isinf(x2))
    if not found.is_floating_point():
        return found
    return torch.where(endless, torch.floor(torch.divide(x1, x2)), found)


def remainder(x1: Tensor, x2: Tensor) -> Tensor:
    """What division rounded down leaves, also a 0 with the sign of x2."""
    found = torch.remainder(x1, x2)
    return torch.where(found == 0, torch.copysign(found, x2), found) if found.is_floating_point() else found


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The sum of conj(x1) * x2 along an axis."""
    x1, x2 = common(x1, x2)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot: sizes {x1.shape[axis]} and {x2.shape[axis]} along axis {axis} differ")
    return torch.sum(torch.conj_physical(x1) * x2, axis, dtype=x1.dtype)


def nonzero(x: Tensor, /) -> Any:
    """The places of what is not 0: an array of coordinates for each dim."""
    if not x.ndim:
        raise ValueError("nonzero: a 0-d array has no places")
    return torch.nonzero(x, as_tuple=True)


# --- the same as PyTorch's, called another way ---------------------------------------------------


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether a dtype's values may be converted to `to` by promotion."""
    return result_type(from_, to) is to


def astype(x: Tensor, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Tensor:
    """x in another dtype; a copy unless copy=False and nothing changes."""
    return x.to(device=device, dtype=dtype, copy=copy)


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Tensor:
    """obj as an array; copy: None shares memory where it can, False demands it."""
    return torch.asarray(
        obj, dtype=dtype, device=device, copy=copy, requires_grad=getattr(obj, "requires_grad", False)
    )


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array of one value; its dtype is the value's where none is given."""
    return torch.asarray(fill_value, dtype=dtype, device=device).expand(_shape(shape)).clone()


def meshgrid(*arrays: Any, indexing: Any = "xy") -> list[Tensor]:
    """Coordinate arrays of one dim as arrays over the grid that they span."""
    return list(torch.meshgrid(*arrays, indexing=indexing))


def tril(x: Tensor, /, *, k: Any = 0) -> Tensor:
    """The lower triangles of matrices, up to the k-th diagonal."""
    return torch.tril(x, k)


def triu(x: Tensor, /, *, k: Any = 0) -> Tensor:
    """The upper triangles of matrices, from the k-th diagonal on."""
    return torch.triu(x, k)


def sort(x: Tensor, /, *, axis: Any = -1, descending: Any = False, stable: Any = True) -> Tensor:
    """x sorted along an axis; equal elements keep their order if stable."""
    return torch.sort(x, dim=axis, descending=descending, stable=stable).values


def argsort(x: Tensor, /, *, axis: Any = -1, descending: Any = False, stable: Any = True) -> Tensor:
    """The places of the sorted elements along an axis."""
    return torch.argsort(x, dim=axis, descending=descending, stable=stable)


def where(condition: Any, x1: Any, x2: Any, /) -> Tensor:
    """Elements of x1 where the condition holds, of x2 elsewhere."""
    return torch.where(condition, *common(x1, x2))


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The distinct values and how often each stands."""
    return UniqueCounts(*unique_all(x)[::3])


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The distinct values, and which of them each element is."""
    return UniqueInverse(*unique_all(x)[::2])


def unique_values(x: Tensor, /) -> Tensor:
    """The distinct values."""
    return unique_all(x).values


def broadcast_arrays(*arrays: Any) -> list[Tensor]:
    """Views of the arrays in the shape that they broadcast to."""
    return list(torch.broadcast_tensors(*arrays))


def broadcast_to(x: Tensor, /, shape: Any) -> Tensor:
    """A view of x in a shape that it broadcasts to."""
    return torch.broadcast_to(x, shape)


def expand_dims(x: Tensor, /, axis: Any = 0) -> Tensor:
    """A view with a dim of size 1 before `axis`."""
    return x.unsqueeze(axis)


def permute_dims(x: Tensor, /, axes: Any) -> Tensor:
    """A view with the dims in another order."""
    return torch.permute(x, axes)


def stack(arrays: Any, /, *, axis: Any = 0) -> Tensor:
    """Arrays of one shape along a new axis."""
    return torch.stack(common(*arrays), axis)


def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    """The elements in reverse order along axes, all by default."""
    return x.flip(_axes(axis, x.ndim))


def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1 (x / |x| of complex numbers); nan of nan."""
    return (
        torch.where(x == x, torch.sgn(x), x * torch.nan)
        if isdtype(x.dtype, ("real floating", "complex floating"))
        else torch.sgn(x)
    )


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """The elements moved by `shift` places along an axis, round its end."""
    return torch.roll(x, shift, axis)


def round(x: Tensor, /) -> Tensor:
    """To the nearest whole numbers, to even ones from the middle."""
    return torch.complex(x.real.round(), x.imag.round()) if x.is_complex() else torch.round(x)


def repeat(x: Tensor, repeats: Any, /, *, axis: Any = None) -> Tensor:
    """Each element several times, along an axis."""
    return torch.repeat_interleave(
        x, repeats.to(torch.int64) if isinstance(repeats, Tensor) else repeats, axis
    )


def unstack(x: Tensor, /, *, axis: Any = 0) -> tuple[Tensor, ...]:
    """The arrays along an axis."""
    return tuple(torch.unbind(x, axis))


def take(x: Tensor, indices: Any, /, *, axis: Any = None) -> Tensor:
    """Elements at places along an axis; negative places count from the end."""
    return torch.index_select(x, _only(x, axis), indices % max(x.shape[_only(x, axis)], 1))


def take_along_axis(x: Tensor, indices: Any, /, *, axis: Any = -1) -> Tensor:
    """Elements at places along an axis, places for each row of their own."""
    return torch.take_along_dim(x, indices.to(torch.int64) % max(x.shape[axis], 1), dim=axis)


def diff(x: Tensor, /, *, axis: Any = -1, n: Any = 1, prepend: Any = None, append: Any = None) -> Tensor:
    """The n-th differences of neighbours along an axis."""
    return torch.diff(x, n, axis, prepend, append)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Matrices with rows and columns exchanged."""
    return x.mT


# The standard's names and what they call.
PUBLIC: dict[str, Callable[..., Any]] = {
    **{
        f.__name__: f
        for f in (
            result_type,
            isdtype,
            arange,
            eye,
            linspace,
            unique_all,
            concat,
            reshape,
            squeeze,
            clip,
            vecdot,
            nonzero,
            can_cast,
            astype,
            asarray,
            full,
            meshgrid,
            tril,
            triu,
            sort,
            argsort,
            where,
            unique_counts,
            unique_inverse,
            unique_values,
            broadcast_arrays,
            broadcast_to,
            expand_dims,
            permute_dims,
            stack,
            flip,
            sign,
            roll,
            round,
            repeat,
            unstack,
            take,
            take_along_axis,
            diff,
            matrix_transpose,
        )
    },
    **{f.__name__: of_pairs(f) for f in (floor_divide, remainder)},
    "finfo": _limits(torch.finfo, "bits", "eps", "max", "min", "smallest_normal"),
    "iinfo": _limits(torch.iinfo, "bits", "max", "min"),
    **{f.__name__: _made(f) for f in (torch.empty, torch.ones, torch.zeros)},
    "max": _reduction(torch.amax),
    "min": _reduction(torch.amin),
    "mean": _reduction(torch.mean),
    "sum": _accumulation(torch.sum),
    "prod": _accumulation(_flat(torch.prod)),
    "all": _reduction(lambda x, *rest: torch.all(x != 0, *rest)),
    "any": _reduction(lambda x, *rest: torch.any(x != 0, *rest)),
    "std": _spread(torch.std),
    "var": _spread(torch.var),
    "argmax": _reduction(_flat(torch.argmax)),
    "argmin": _reduction(_flat(torch.argmin)),
    "count_nonzero": _reduction(lambda x, axes, keepdims: torch.sum(x != 0, axes, keepdims)),
    "cumulative_sum": _cumulative(torch.cumsum, 0),
    "cumulative_prod": _cumulative(torch.cumprod, 1),
    "matmul": of_pairs(torch.matmul),
    "tensordot": _tensordot,
}
