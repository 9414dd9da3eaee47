"""Finding and counting: searchsorted, bucketize, bincount, histograms, unique, isin, one_hot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.core.layout import as_tuple
from rushlight._engine.core.promotion import of_number, promote_types
from rushlight._engine.core.recording import decides
from rushlight._engine.core.results import named
from rushlight._engine.numerics.multinomial import search_rows
from rushlight._engine.ops.creation.copying import tensor_of
from rushlight._engine.ops.indexing.along_dim import legacy, refuse_wide
from rushlight._engine.ops.ordering.sorting import comparable
from rushlight._engine.ops.resolved import ArrayFunction, resolved
from rushlight._engine.ops.table import ROWS, Array, composite, opaque

# --- searchsorted ---------------------------------------------------------------------------------


def _check_search(edges: Array, values: Any, right: bool, side: str | None, sorter: Any) -> bool:
    """Whether to search from the right; RuntimeError for what does not fit together."""
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side "
            "of left while right was True"
        )
    if sorter is not None:
        if sorter.shape != edges.shape:
            raise RuntimeError(
                "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                f"{list(edges.shape)}and got sorter tensor {list(sorter.shape)}"
            )
        if sorter.dtype != np.int64:
            raise RuntimeError(
                f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {legacy(sorter)}"
            )
    if not edges.ndim:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension"
        )
    if not isinstance(values, np.ndarray):
        if edges.ndim != 1:
            raise RuntimeError(
                "torch.searchsorted(): input value can be a scalar only when boundaries "
                f"tensor dimension is 1, but we got boundaries tensor dim({edges.ndim})"
            )
    elif edges.ndim != 1 and edges.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
            "boundaries tensor and input value tensor must match, but we got boundaries tensor "
            f"{list(edges.shape)} and input value tensor {list(values.shape)}"
        )
    return right or side == "right"


def _search(edges: Array, values: Any, from_right: bool, out_int32: bool) -> Array:
    if not isinstance(values, np.ndarray):
        values = np.array(values)
    if values.size:
        refuse_wide("searchsorted_out_cpu", edges.dtype)
    if values.size and (edges.dtype.kind in "bc" or values.dtype.kind == "c"):
        raise NotImplementedError(f"\"searchsorted_out_cpu\" not implemented for '{legacy(edges)}'")
    edges, values = comparable(edges), comparable(values)
    if edges.ndim == 1:
        found = edges.searchsorted(values, "right" if from_right else "left")
    else:
        found = search_rows(edges, values, from_right)
    return np.asarray(found, np.int32 if out_int32 else np.int64)


_PLAINLY = frozenset("fdbhilqB")


def _plainly_ordered(edges: Array, values: Any) -> bool:
    """Whether both are arrays of numbers that NumPy orders as they are, the first one of a single row."""
    return (
        values.__class__ is np.ndarray
        and edges.ndim == 1
        and values.ndim > 0
        and edges.dtype.char in _PLAINLY
        and values.dtype.char in _PLAINLY
    )


@opaque(where=("torch",), out=True)
def searchsorted(
    sorted_sequence,
    input: Tensor | Number,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Array:
    """Where each value would be put into the sorted last dim of sorted_sequence: int64 (int32 with
    out_int32), values' shape.
    """
    if side is None and sorter is None and not out_int32 and _plainly_ordered(sorted_sequence, input):
        return np.asarray(sorted_sequence.searchsorted(input, "right" if right else "left"))
    from_right = _check_search(sorted_sequence, input, right, side, sorter)
    edges = sorted_sequence if sorter is None else np.take_along_axis(sorted_sequence, sorter, -1)
    return _search(edges, input, from_right, out_int32)


@opaque(where=("torch",), out=True)
def bucketize(input: Tensor | Number, boundaries, *, out_int32: bool = False, right: bool = False) -> Array:
    """The number of the bucket between boundaries that each value falls into."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    if not out_int32 and _plainly_ordered(boundaries, input):
        return np.asarray(boundaries.searchsorted(input, "right" if right else "left"))
    return _search(boundaries, input, right, out_int32)


# --- counting -------------------------------------------------------------------------------------


@opaque
def bincount(input, weights: Tensor | None = None, minlength: int = 0) -> Array:
    """How often each of 0, 1, 2, ... occurs in a vector; with weights, the sum of theirs."""
    if input.ndim != 1 or (input.size and int(input.min()) < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError(f"minlength should be >= 0, got {minlength}")
    if weights is None:
        return np.bincount(input.astype(np.int64, copy=False), minlength=minlength)
    if weights.ndim != 1 or weights.size != input.size:
        raise RuntimeError(
            "weights should be 1-d and have the same length as input, got "
            f"{list(weights.shape)} and {list(input.shape)}"
        )
    places, shares = input.astype(np.int64, copy=False), weights.astype(np.float64, copy=False)
    found = np.bincount(places, shares, minlength)
    return found.astype(np.float32 if weights.dtype == np.float32 else np.float64)


@opaque(out=True)
def histc(input, bins: int = 100, min: Number = 0, max: Number = 0) -> Array:
    """How many elements fall into each of `bins` equal intervals between min and max.

    min = max takes the smallest and largest element; elements outside are left out.
    """
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    values = input.reshape(-1)
    low, high = _range(values, min, max)
    inside = values[(values >= low) & (values <= high)]
    place = ((inside - low) * input.dtype.type(bins) / (high - low)).astype(np.int64)
    place = np.minimum(place, bins - 1)
    return np.bincount(place, minlength=bins).astype(input.dtype)


def _range(values: Array, low: Any, high: Any) -> tuple[Any, Any]:
    if low > high:
        raise RuntimeError(f"torch.histc: max must be larger than min, got {low} and {high}")
    if low == high and values.size:
        low, high = values.min(), values.max()
    if not (np.isfinite(float(low)) and np.isfinite(float(high))):
        raise RuntimeError(f"torch.histc: range of [{float(low):g}, {float(high):g}] is not finite")
    if low == high:
        low, high = low - 1, high + 1
    return values.dtype.type(low), values.dtype.type(high)


# --- unique ---------------------------------------------------------------------------------------


def _chosen(found: tuple[Any, ...], inverse: bool, counts: bool) -> Any:
    values, back, count = found
    parts = (values, *([back] if inverse else []), *([count] if counts else []))
    return parts if len(parts) > 1 else values


def _check_unique(a: Array, dim: int) -> int:
    if not a.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = wrap_dim(dim, a.ndim)
    if a.shape[d] and a.size == 0:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )
    return d


def _rows_of(a: Array, d: int) -> Array:
    """The slices along d as the rows of a matrix."""
    front = np.moveaxis(comparable(a), d, 0)
    width = a.size // a.shape[d] if a.shape[d] else 0
    return np.ascontiguousarray(front).reshape(a.shape[d], width)


def _slices(a: Array, d: int, places: Array) -> Array:
    """Slices along d; in memory they lie one after the other, as PyTorch's do."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(a, d, 0)[places]), 0, d)


def _different_rows(rows: Array) -> tuple[Array, Array, Array]:
    """Where each different row is first, in lexical order; each row's place among these; counts."""
    order = np.argsort(_as_words(rows), kind="stable")
    ranked = rows[order]
    starts = np.ones(len(rows), bool)
    starts[1:] = (ranked[1:] != ranked[:-1]).any(1)
    back = np.empty(len(rows), np.int64)
    back[order] = np.cumsum(starts) - 1
    return order[starts], back, np.diff(starts.nonzero()[0], append=len(rows))


def _as_words(rows: Array) -> Array:
    """Each row as a string of bytes, which are in the order of the rows.

    By numpy.unique, which makes a field of each column, wide rows take a thousand times as long.
    """
    bits = rows.view(f"u{rows.dtype.itemsize}")
    sign = bits.dtype.type(1 << (8 * bits.itemsize - 1))
    if rows.dtype.kind == "f":
        bits = np.where(rows == 0, bits.dtype.type(0), bits)  # the two zeros are one
        bits = np.where(bits & sign, ~bits, bits | sign)
    elif rows.dtype.kind == "i":
        bits = bits ^ sign
    words = bits.astype(bits.dtype.newbyteorder(">"))
    return words.view(f"S{rows.shape[1] * bits.itemsize}").reshape(-1)


def _underivable(name: str) -> Any:
    """The rule of an op whose results require grad though they have none: backward says so."""

    def rule(s: Any, *grads: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return rule


@opaque(vjp=_underivable("_unique2"))
def unique(
    input,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different elements in order (slices, with dim), where each element went, and counts."""
    if dim is not None:
        d = _check_unique(input, dim)
        rows = _rows_of(input, d)
        if not rows.shape[0]:
            first, back, count = (np.zeros(0, np.int64),) * 3
        else:
            first, back, count = _different_rows(rows)
        found = (_slices(input, d, first), back, count)
        return _chosen(found, return_inverse, return_counts)
    flat = comparable(input).reshape(-1)
    options: Any = {"return_inverse": return_inverse, "return_counts": return_counts, "equal_nan": False}
    counted = _by_counting(flat)
    if counted is not None:
        values, ranked, times = counted
        ranks = ranked().reshape(input.shape) if return_inverse else None
        return _chosen((values, ranks, times), return_inverse, return_counts)
    if not return_inverse and not return_counts:
        return _chosen((np.unique(flat, **options).astype(input.dtype), None, None), False, False)
    values, *more = np.unique(flat, **options)
    inverse = more.pop(0).reshape(input.shape) if return_inverse else None
    counts = more.pop(0) if return_counts else None
    return _chosen((values.astype(input.dtype), inverse, counts), return_inverse, return_counts)


# Numbers that may lie between the smallest and the largest, for each that there is.
_SPARSE = 4


def _by_counting(flat: Array) -> tuple[Array, Callable[[], Array], Array] | None:
    """The different integers in order, what gives each one's place among them, and counts: without sorting,
    where they lie close together; None elsewhere.
    """
    if flat.dtype.kind not in "iu" or flat.size < _SPARSE:
        return None
    low, high = int(flat.min()), int(flat.max())
    if high - low >= _SPARSE * flat.size or high >= 1 << 63:
        return None
    places = flat.astype(np.int64) - low
    counts = np.bincount(places)
    present = np.flatnonzero(counts)

    def back() -> Array:
        ranks = np.zeros(len(counts), np.int64)
        ranks[present] = np.arange(len(present))
        return ranks[places]

    return (present + low).astype(flat.dtype), back, counts[present]


@opaque(vjp=_underivable("unique_consecutive"))
def unique_consecutive(
    input, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements (slices, with dim) without those that equal their predecessor."""
    whole = dim is None
    d = 0 if dim is None else _check_unique(input, dim)
    source = input.reshape(-1) if whole else input
    rows = _rows_of(source, d) if source.size else np.empty((source.shape[d], 0))
    starts = np.ones(rows.shape[0], bool)
    one = rows.shape[1:] == (1,)
    starts[1:] = rows[1:, 0] != rows[:-1, 0] if one else (rows[1:] != rows[:-1]).any(1)
    plain = whole and not (return_inverse or return_counts)
    first = starts[:0] if plain else starts.nonzero()[0]
    values = source[starts] if whole else _slices(source, d, first)
    back = count = first
    if return_inverse:
        back = np.cumsum(starts, dtype=np.int64) - 1
        back = back.reshape(input.shape) if whole else back
    if return_counts:
        count = np.diff(first, append=rows.shape[0])
    return _chosen((values, back, count), return_inverse, return_counts)


# --- membership -----------------------------------------------------------------------------------


@opaque(where=("torch",), out=True)
@resolved
def isin(
    elements: Tensor | Number,
    test_elements: Tensor | Number,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> ArrayFunction:
    """Whether each element is among test_elements."""
    if not isinstance(elements, np.ndarray) and not isinstance(test_elements, np.ndarray):
        raise TypeError(
            "isin() received an invalid combination of arguments: elements or test_elements must be a Tensor"
        )
    kinds = [
        dt.from_numpy_dtype(v.dtype) if isinstance(v, np.ndarray) else of_number(v)
        for v in (elements, test_elements)
    ]
    for own in kinds:
        if own.category in (dt.BOOL, dt.COMPLEX):
            raise RuntimeError(f"Unsupported input type encountered for isin(): {own.legacy}")
    to = promote_types(*kinds).np
    numbers = [
        None if isinstance(v, np.ndarray) else np.asarray(v).astype(to) for v in (elements, test_elements)
    ]
    if isinstance(test_elements, np.ndarray) and test_elements.size < 10 * np.size(elements) ** 0.145:
        refuse_wide("isin_default_cpu", to)  # its way for many sorts
    relation = np.not_equal if invert else np.equal
    given = elements, test_elements
    plain = all([isinstance(v, np.ndarray) and v.dtype == to and to.kind != "V" for v in given])
    if plain and 0 < elements.size * test_elements.size <= _TOGETHER:
        return lambda a, b: _among_few(relation, a, b)

    def run(*arrays: Array) -> Array:
        given = iter(arrays)
        a, b = [comparable(next(given).astype(to, copy=False) if n is None else n) for n in numbers]
        if not 0 < a.size * b.size <= _TOGETHER:
            return np.asarray(np.isin(a, b, invert=invert))
        return _among_few(relation, a, b)

    return run


_TOGETHER = 1 << 12  # of whom each has found its place before NumPy has chosen its way


def _among_few(relation: np.ufunc, a: Array, b: Array) -> Array:
    b = b.flatten()
    b.sort()
    return np.asarray(relation(a, b.take(b.searchsorted(a), mode="clip")))


@opaque(where=("nn.functional",))
def one_hot(input, num_classes: int = -1) -> Array:
    """A new last dim with a 1 at the position that the element names, 0 elsewhere."""
    if input.dtype != np.int64:
        raise RuntimeError(
            "one_hot is only applicable to index tensor of type LongTensor, got "
            f"{legacy(input)}Tensor; convert it with .long()"
        )
    if not input.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    flat = input.reshape(-1)
    most = int(np.maximum.reduce(flat.view(np.uint64), initial=0))  # a negative one is huge there
    if most >> 63:
        raise RuntimeError("Class values must be non-negative.")
    count = most + 1 if num_classes == -1 else num_classes
    if input.size and most >= count:
        raise RuntimeError("Class values must be smaller than num_classes.")
    out = np.zeros((*input.shape, count), np.int64)
    out.reshape(-1)[np.arange(0, flat.size * count, max(count, 1)) + flat] = 1
    return out


one_hot.shape_rule(
    lambda input, num_classes: one_hot.body(input._array, num_classes) if num_classes >= 0 else input.item()
)


@composite(where=("torch",))
def unravel_index(indices, shape: Any):
    """The coordinates of flat positions in a tensor of `shape`, one tensor per dim."""
    if indices._kind.dtype.category != dt.INTEGRAL:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices._kind.dtype!r}")
    if not isinstance(shape, int) and not isinstance(shape, Sequence):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = as_tuple(shape) if isinstance(shape, int) else tuple(shape)
    other = next((type(n) for n in sizes if not hasattr(n, "__index__") or hasattr(n, "ndim")), None)
    if other is not None:
        raise TypeError(f"expected 'shape' sequence to only contain ints, but got {other}")
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    steps = np.cumprod((1, *reversed(sizes[1:])), dtype=np.int64)[::-1].copy()
    found = indices.unsqueeze(-1).floor_divide(tensor_of(steps))
    found = found % tensor_of(np.array(sizes, np.int64))
    return found.unbind(-1)


# --- histograms of one and more dimensions, with the edges of their bins -------------------------


@opaque(name="_histogram", where=("aten",))
def _histogram(points, edges: list[Tensor], weight: Tensor | None, density: bool) -> Array:
    """How many (or how much weight) of the points (N, D) lie in each bin; a last edge is inside."""
    sizes = [max(len(e) - 1, 0) for e in edges]
    if len(edges) == 1 and not density:
        return _in_bins(points[:, 0], edges[0], weight)
    places, inside = [], np.ones(len(points), bool)
    for column, e in zip(points.T, edges, strict=True):
        inside &= (column >= e[0]) & (column <= e[-1])
        places.append(np.minimum(np.searchsorted(e, column, "right") - 1, len(e) - 2)[...])
    flat = np.zeros(int(inside.sum()), np.int64)
    for place, size in zip(places, sizes, strict=True):
        flat = flat * size + place[inside]
    shares = None if weight is None else weight[inside].astype(np.float64)
    found: Array = (
        np.bincount(flat, shares, minlength=int(np.prod(sizes))).reshape(sizes).astype(points.dtype)
    )
    if not density:
        return found
    found = found / found.sum()
    for axis, e in enumerate(edges):
        found = found / np.diff(e).reshape([-1 if i == axis else 1 for i in range(len(edges))])
    return found


def _in_bins(points: Array, edges: Array, weight: Array | None) -> Array:
    """`_histogram` of one dimension."""
    last = len(edges) - 1
    places = edges.searchsorted(
        points, "right"
    )  # from 1 on, those of the last edge and above behind all bins
    places[points == edges[-1]] = last
    shares = None if weight is None else weight.astype(np.float64)
    return np.bincount(places, shares, last + 2)[1 : last + 1].astype(points.dtype)


def _check(op: str, x: Any, weight: Any) -> None:
    if x.ndim < 2:
        raise RuntimeError(f"torch.histogramdd: input tensor should have at least 2 dimensions, got {x.ndim}")
    if weight is not None and tuple(weight.shape) != tuple(x.shape[:-1]):
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as "
            "the input tensor excluding its innermost dimension, but got input with shape "
            f"{list(x.shape)} and weight with shape {list(weight.shape)}"
        )
    if weight is not None and weight.dtype is not x.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor "
            f"should have the same dtype, but got input({x.dtype.legacy.lower()}), and "
            f"weight({weight.dtype.legacy.lower()})"
        )


def _check_edges(x: Any, e: Any, d: int) -> Any:
    if e.ndim != 1:
        raise RuntimeError(
            f"torch.histogramdd: bins tensor should have one dimension, but got {e.ndim} "
            f"dimensions in the bins tensor for dimension {d}"
        )
    if not e.numel():
        raise RuntimeError(
            "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements"
            f" in the bins tensor for dimension {d}"
        )
    if e.dtype is not x.dtype:
        raise RuntimeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but "
            f"got input with dtype {x.dtype.legacy.lower()} and bins for dimension {d} with "
            f"dtype {e.dtype.legacy.lower()}"
        )
    return e


def _bounds(x: Array, given: Any, d: int) -> tuple[float, float]:
    """The range of dimension d: as given, or that of the data."""
    if given is not None:
        low, high = float(given[2 * d]), float(given[2 * d + 1])
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {low:g} max "
                f"{high:g} for dimension {d}"
            )
    else:
        decides("histogram")
        low, high = (float(x[x.argmin()]), float(x[x.argmax()])) if x.size else (0.0, 1.0)  # nan is either
    if not np.isfinite(low) or not np.isfinite(high):
        raise RuntimeError(f"torch.histogramdd: dimension {d}'s range [{low:g}, {high:g}] is not finite")
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _edges(points: Any, bins: Any, range: Any) -> list[Any]:
    """The edges of each dimension's bins."""
    found = []
    for d, b in enumerate(bins):
        if hasattr(b, "_kind"):
            found.append(_check_edges(points, b, d))
            continue
        if b <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {b} for dimension {d}")
        if range is None and points._geometry.size and points.dtype.itemsize == 2:
            raise NotImplementedError(f"\"histogramdd\" not implemented for '{points.dtype.legacy}'")
        low, high = _bounds(points._array[:, d], range, d)
        found.append(ROWS["linspace"](low, high, b + 1, dtype=points.dtype))
    return found


def _counted(x: Any, bins: Any, range: Any, weight: Any, density: bool) -> tuple[Any, list[Any]]:
    if x.is_cuda:
        raise NotImplementedError(
            "Could not run 'aten::_histogramdd_from_bin_cts' with arguments from the 'CUDA' backend: "
            "histograms are the CPU's; use .cpu(), or torch.histc"
        )
    points = x.detach().reshape(-1, x.shape[-1])
    edges = _edges(points, bins, range)
    return _histogram(points, edges, None if weight is None else weight.detach().reshape(-1), density), edges


@composite(out=True)
def histogram(
    input,
    bins: int | Tensor,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
):
    """(hist, bin_edges) of all elements.

    bins: the number of bins of equal width over `range` (that of the data), or a tensor of edges.
    """
    x = input.reshape(-1, 1)
    if range is not None and len(range) != 2:
        raise RuntimeError(
            "torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, "
            f"but got {len(range)}"
        )
    _check("histogramdd", x, None if weight is None else weight.reshape(-1))
    found, edges = _counted(x, [bins], range, weight, density)
    return named("histogram")(found, edges[0].clone() if hasattr(bins, "_kind") else edges[0])


@composite(where=("torch",))
def histogramdd(input, bins: Any, range: Any = None, weight: Tensor | None = None, density: bool = False):
    """(hist, bin_edges) of points (..., D); bins: an int, a list of ints, or a list of edge tensors."""
    _check("histogramdd", input, weight)
    dims = input.shape[-1]
    each = [bins] * dims if isinstance(bins, int) else list(bins)
    if len(each) != dims:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the "
            f"input, got {len(each)} for {dims}."
        )
    if range is not None and len(range) != 2 * dims:
        raise RuntimeError(
            f"torch.histogramdd: for a {dims}-dimensional histogram range should have "
            f"{2 * dims} elements, but got {len(range)}"
        )
    found, edges = _counted(input, each, range, weight, density)
    return named("histogramdd")(found, tuple(edges))
