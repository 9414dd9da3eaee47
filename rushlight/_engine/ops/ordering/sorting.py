"""Orders: sort, argsort, topk, kthvalue, median, mode. nan counts as larger than any number."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core.errors import check_size, wrap_dim
from rushlight._engine.core.results import named
from rushlight._engine.core.services import service
from rushlight._engine.ops.creation.copying import arranged, assign
from rushlight._engine.ops.indexing.along_dim import at_least_1d, few_along, take_along
from rushlight._engine.ops.pointwise.arithmetic import where
from rushlight._engine.ops.reductions.scanning import put_back
from rushlight._engine.ops.resolved import ArrayFunction, resolved
from rushlight._engine.ops.table import Array, composite, opaque


@composite(planned=True)
def argsort(input, dim: int = -1, descending: bool = False, *, stable: bool = False):
    """The positions that sort the elements along dim."""
    return input.sort(dim, descending=descending, stable=stable)[1]


@composite(out=True, planned=True)
def msort(input):
    """The elements in order along the first dim."""
    return input.sort(0)[0]


def comparable(a: Array) -> Array:
    """The array in a dtype that NumPy orders by its own fast code, with equal order."""
    return a.astype(np.float32) if a.dtype.kind == "V" else a


# Integers along a dim from which on counting those of two bytes is faster than comparing.
_RADIX = 1 << 11


def stable_order(a: Array, d: int, descending: bool) -> Array:
    """Positions along dim d in stable order."""
    a = _shortened(a)
    if a.ndim and a.shape[d] >= _RADIX and a.dtype.kind in "iu":
        low = a.min()
        if int(a.max()) - int(low) < 1 << 16:  # whose digits NumPy counts
            near = (a - low).astype(np.uint16)
            order: Array = (~near if descending else near).argsort(d, "stable")
            return order
    if _packs(a):
        return _positions(np.sort(packed(a, d, descending), -1)).swapaxes(-1, d)
    a = comparable(a)
    if not descending:
        return a.argsort(d, "stable")
    if a.dtype.kind in "iub":
        return (~a).argsort(d, "stable")  # ~a falls where a rises, without overflow
    turned = (slice(None),) * d + (slice(None, None, -1),)
    found: Array = a.shape[d] - 1 - a[turned].argsort(d, "stable")[turned]
    return found


# --- keys that hold value and position ------------------------------------------------------------

# NumPy sorts uint64 by vector instructions, several times faster than it finds a stable order. An
# element of up to four bytes and its position fit into one: equal values keep their order then.

_LEAST = 256


def _packs(a: Array) -> bool:
    """Whether packed keys are possible, and worth it."""
    return a.itemsize <= 4 and a.size >= _LEAST and a.size < 1 << 32 and a.dtype.kind != "c"


def _shortened(a: Array) -> Array:
    """Integers of eight bytes in four where all fit."""
    if a.dtype.kind not in "iu" or a.itemsize < 8 or not _LEAST <= a.size < 1 << 32:
        return a
    fits = a.min() >= -(1 << 31) and a.max() < 1 << 31
    return a.astype(np.int32) if fits else a


def packed(a: Array, d: int, descending: bool) -> Array:
    """Keys along the last axis: the value's rank in the upper half, the position in the lower."""
    ranks = _ranks(a.swapaxes(d, -1))
    if descending:
        ranks = ~ranks
    keys = ranks.astype(np.uint64)
    keys <<= np.uint64(32)
    keys |= np.arange(keys.shape[-1], dtype=np.uint64)
    return keys


def _positions(keys: Array) -> Array:
    return (keys & np.uint64(0xFFFFFFFF)).view(np.int64)


def _ranks(a: Array) -> Array:
    """uint32 numbers in the order of the values; all nan are equal and last."""
    if a.dtype.kind in "ub":
        return a.astype(np.uint32)
    if a.dtype.kind == "i":
        return a.astype(np.int32).view(np.uint32) ^ np.uint32(1 << 31)
    values = a.astype(np.float32) + np.float32(0)  # -0.0 becomes 0.0, its equal
    values[np.isnan(values)] = np.nan
    bits = values.view(np.uint32)
    # Negative numbers fall as their bits rise.
    flips = (bits.view(np.int32) >> 31).view(np.uint32) | np.uint32(1 << 31)
    return bits ^ flips


# --- sort -----------------------------------------------------------------------------------------


@opaque(out=True, vjp=put_back)
@resolved
def sort(input, dim: int = -1, descending: bool = False, stable: bool | None = False) -> ArrayFunction:
    """(the elements in order along dim, where each was: int64), both of the input's shape; equal ones keep
    their order.
    """
    d, result = wrap_dim(dim, input.ndim), named("sort")
    usual = not descending and input.size < _LEAST and input.dtype.kind in "iuf"
    read = few_along(input, d, input.shape) if usual else None
    if read is not None:

        def of_few(a: Array) -> Any:
            order = np.asarray(a.argsort(d, "stable"), order="C")
            return tuple.__new__(result, (read(a, order), order))

        return of_few

    def run(a: Array) -> Any:
        source = at_least_1d(a)
        order = stable_order(source, d, descending)
        return result(_like(take_along(source, d, order), a), _like(order, a))

    return run


def _like(found: Array, a: Array) -> Array:
    """Results in the memory order of the operand."""
    if a.flags.c_contiguous:
        return np.asarray(found, order="C").reshape(a.shape)
    return assign(arranged(a, found.dtype), found)


# --- topk, kthvalue -------------------------------------------------------------------------------


@opaque(out=True, vjp=put_back)
@resolved
def topk(input, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> ArrayFunction:
    """(the k largest, or smallest, elements along dim, in order; where they are: int64), both with size k
    there.

    RuntimeError where k is more than the dim's size.
    """
    d, source, result = wrap_dim(dim, input.ndim), at_least_1d(input), named("topk")
    if not 0 <= k <= source.shape[d]:
        raise RuntimeError(f"selected index k out of range: expected 0 <= k <= {source.shape[d]}, got {k}")
    first = _first(source, k, d, largest)
    if input.ndim:
        return lambda a: result(*first(a))
    return lambda a: result(*[found.reshape(found.shape[1:]) for found in first(at_least_1d(a))])


# So many are kept in order while rows are gone through, more of them only if they are one of so many; and how
# many elements threads share.
_FEW, _MOST, _SHARE, _LARGE = 5, 128, 100, 1 << 19


def _first(like: Array, k: int, d: int, largest: bool) -> ArrayFunction:
    """What gives the k first elements of the order along d, and where they are."""

    def by_sorting(a: Array) -> tuple[Array, Array]:
        order = np.asarray(_partly(a, k, d, largest), order="C")
        return np.asarray(take_along(a, d, order), order="C"), order

    seen, few = comparable(like), 0 < k <= max(_FEW, min(_MOST, like.shape[d] // _SHARE))
    kernel = service("top-k kernel")(seen.dtype, largest) if few else None
    if kernel is None:
        return by_sorting
    shape, of, large = (*like.swapaxes(d, -1).shape[:-1], k), seen.dtype, like.size >= _LARGE
    last = d == like.ndim - 1 and seen is like
    numbers = service("top-k positions")((*shape[:-1], like.shape[d]), shape)
    whole = last and like.flags.c_contiguous

    def best(a: Array) -> tuple[Array, Array]:
        rows = a if whole else np.ascontiguousarray(comparable(a).swapaxes(d, -1))
        values, places = np.empty(shape, of), np.empty(shape, np.int64)
        if not (
            service("top-k by the team")(kernel.fn, rows, values, places)
            if large
            else kernel.fn(rows, values, places, numbers)
        ):
            return by_sorting(a)
        if last:
            return values, places
        return (
            np.asarray(values.swapaxes(d, -1), a.dtype, order="C"),
            np.asarray(places.swapaxes(d, -1), order="C"),
        )

    return best


def _partly(a: Array, k: int, d: int, largest: bool) -> Array:
    if _packs(a) and 0 < k < a.shape[d]:
        keys = np.partition(packed(a, d, largest), k - 1, -1)[..., :k]
        return _positions(np.sort(keys, -1)).swapaxes(-1, d)
    return stable_order(a, d, largest)[(slice(None),) * d + (slice(k),)]


@opaque(out=True, out_apart=True, vjp=put_back)
def kthvalue(input, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """(the k-th smallest element along dim, from 1; where it is: int64), without the dim unless keepdim."""
    d = wrap_dim(dim, input.ndim)
    check_size("kthvalue", input, d)
    source = at_least_1d(input)
    if not 1 <= k <= source.shape[d]:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}, got {k}")
    return named("kthvalue")(*pick(input, _kth(source, k - 1, d), d, keepdim))


def _kth(a: Array, place: int, d: int) -> Array:
    """Position of the element at one place of the order, for each row."""
    if _packs(a):
        keys = np.partition(packed(a, d, False), place, -1)[..., place : place + 1]
        return _positions(keys).swapaxes(-1, d)
    return stable_order(a, d, False).take([place], d)


def pick(a: Array, order: Array, d: int, keepdim: bool) -> tuple[Array, Array]:
    """(values, positions) of one element along d for each row."""
    values = take_along(at_least_1d(a), d, order)
    if not a.ndim:
        return values.reshape(()), order.reshape(())
    if not keepdim:
        values, order = values.squeeze(d), order.squeeze(d)
    return np.asarray(values, order="C"), np.asarray(order, order="C")


# --- median ---------------------------------------------------------------------------------------


def _median_order(a: Array, d: int, skip_nan: bool) -> Array:
    """The position of the lower median for each row; of nan, where nan wins, the first one."""
    size = a.shape[d]
    holes = np.count_nonzero(comparable(a) != comparable(a), d, keepdims=True)
    if not holes.any():
        return _kth(a, (size - 1) // 2, d)
    order = stable_order(a, d, False)
    middle = np.maximum(size - 1 - holes, 0) // 2
    if not skip_nan:
        # nan is sorted to the end: the first of them follows the last number.
        middle = np.where(holes > 0, size - holes, (size - 1) // 2)
    return np.take_along_axis(order, middle, d)


@opaque(name="_median_all", where=("aten",), node="median")
@resolved
def _median_all(input, skip_nan: bool) -> ArrayFunction:
    """median of all elements."""
    size, of = input.size, input.dtype
    if not size:
        return lambda a: np.full((), np.nan if of.kind not in "iu" else np.iinfo(of).min, of)
    middle, floating = (size - 1) // 2, of.kind not in "iub"

    def run(a: Array) -> Array:
        flat = a.reshape(-1)
        seen = comparable(flat)
        ordered = np.sort(seen) if size < _LEAST else np.partition(seen, (middle, size - 1))
        value = ordered.item(middle)
        if floating and (not value or ordered.item(-1) != ordered.item(-1)):  # a zero of either sign, or nan
            found: Array = flat.take(_median_order(flat, 0, skip_nan)).reshape(())
            return found
        return ordered[middle : middle + 1].reshape(()).astype(of)

    return run


@_median_all.gradient
def _median_all_gradient(s: Any, grad: Any) -> Any:
    # All elements that equal the median share the gradient.
    x, result = s.input, s.result
    mask = (x == result) | (x.isnan() & result.isnan())
    return where(mask, grad / mask.sum().to(grad.dtype), 0)


def _medians(name: str, doc: str, skip_nan: bool) -> None:
    def along(input, dim: int, keepdim: bool) -> Any:
        d = wrap_dim(dim, input.ndim)
        check_size(name, input, d)
        return named(name)(*pick(input, _median_order(at_least_1d(input), d, skip_nan), d, keepdim))

    def body(input, dim: int | None = None, keepdim: bool = False):
        return _median_all(input, skip_nan) if dim is None else row(input, dim, keepdim)

    row = opaque(
        along, name=f"_{name}_dim", doc=f"{name} along a dim.", where=("aten",), node=name, vjp=put_back
    )
    composite(body, name=name, doc=doc, out=True, planned=True)


_medians(
    "median", "The (lower) median of all elements; with dim, (values, indices) along it. nan wins.", False
)
_medians("nanmedian", "The median of what is not nan; with dim, (values, indices) along it.", True)


# --- mode -----------------------------------------------------------------------------------------


@opaque(out=True, vjp=put_back)
@resolved
def mode(input, dim: int = -1, keepdim: bool = False) -> ArrayFunction:
    """The most frequent element along dim (the smallest of several), and where it last is."""
    d, result = wrap_dim(dim, input.ndim), named("mode")
    check_size("mode", input, d)
    source = at_least_1d(input)
    n = source.shape[d]
    line = tuple([n if i == d else 1 for i in range(source.ndim)])
    kept = tuple([1 if i == d else size for i, size in enumerate(source.shape)])
    after, before = [(slice(None),) * d + (part,) for part in (slice(1, None), slice(None, -1))]
    place = np.arange(n).reshape(line)
    read, pick_one = (
        few_along(source, d, shape) or (lambda a, order: take_along(a, d, order))
        for shape in (source.shape, kept)
    )
    whole = (kept if keepdim else kept[:d] + kept[d + 1 :]) if input.ndim else ()

    def run(a: Array) -> Any:
        source = at_least_1d(a)
        order = np.asarray(stable_order(source, d, False), order="C")
        ranked = comparable(read(source, order))
        # How often the element at each place has occurred so far: it is largest at the mode's end.
        starts = np.zeros(ranked.shape, np.int64)
        np.multiply(ranked[after] != ranked[before], place[after], starts[after])
        seen = place - np.maximum.accumulate(starts, d)
        end = seen.argmax(d, keepdims=True) if seen.size else np.zeros(kept, np.int64)
        at = pick_one(order, end)
        return result(pick_one(source, at).reshape(whole), at.reshape(whole))

    return run
