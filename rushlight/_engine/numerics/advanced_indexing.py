"""Reading and writing an array at index arrays and masks, with PyTorch's rules and layouts.

`indices` has, for each dim of the array, None (all of it), an int64 or int32 array, or a mask
(bool or uint8; one of k dims stands for k dims). Index arrays broadcast against each other; where
they stand side by side the result has their dims in that place, otherwise in front.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.core.callers import warn
from rushlight._engine.core.layout import laid_out, overlaps_itself
from rushlight._engine.numerics.accumulate import Array, add_at

Indices = Sequence[Any]
_POSITIONS = frozenset({np.dtype(np.int64), np.dtype(np.int32)})
_BOOL, _BYTE = np.dtype(np.bool_), np.dtype(np.uint8)
_MASKS = frozenset({_BOOL, _BYTE})


class Read(NamedTuple):
    """What an advanced index reads: expanded indices and the geometry of the result."""

    indices: list[Array | None]  # one entry per leading dim of the array
    front: int  # dims of the array before the index dims in the result
    shape: tuple[int, ...]  # of the broadcast index arrays
    result: tuple[int, ...]  # of all that is read


def out_of_bounds(place: int, dim: int, size: int) -> IndexError:
    """The error for an index outside a dim."""
    return IndexError(f"index {place} is out of bounds for dimension {dim} with size {size}")


def view(a: Array, basic: tuple[Any, ...], ones: tuple[int, ...]) -> Array:
    """The view a[basic] with dims of size 1 put in at `ones`; it always shares memory."""
    found: Array = a[basic]
    if not ones:
        return found
    sizes = list(found.shape)
    for dim in ones:
        sizes.insert(dim, 1)
    return found.reshape(sizes)


# --- understanding --------------------------------------------------------------------------------


def expand(shape: Sequence[int], indices: Indices) -> list[Array | None]:
    """Masks as the positions of their true elements; IndexError for unusable dtypes or shapes."""
    found: list[Array | None] = []
    for index in indices:
        if index is None:
            found.append(None)
        elif index.dtype in _POSITIONS:
            found.append(index)
        elif index.dtype in _MASKS:
            _check_mask(shape, index, len(found))
            found.extend(index.nonzero())
        else:
            raise IndexError(
                "tensors used as indices must be long, int, byte or bool tensors, "
                f"got {index.dtype.name}; convert it with .long()"
            )
    if len(found) > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)} (got {len(found)})")
    return found


def _check_mask(shape: Sequence[int], mask: Array, place: int) -> None:
    if mask.dtype == _BYTE:
        warn(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
            UserWarning,
        )
    if place + mask.ndim > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    for j, size in enumerate(mask.shape):
        if size != shape[place + j]:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {j} does not match "
                f"the shape of the indexed tensor {list(shape)} at index {place + j}"
            )


def understand(shape: Sequence[int], indices: Indices) -> Read:
    """The geometry of an advanced index on an array of `shape`."""
    expanded = expand(shape, indices)
    where = [i for i, index in enumerate(expanded) if index is not None]
    arrays = [index for index in expanded if index is not None]
    try:
        common = np.broadcast_shapes(*[index.shape for index in arrays])
    except ValueError:
        shapes = ", ".join(str(list(index.shape)) for index in arrays)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    adjacent = bool(where) and where[-1] - where[0] + 1 == len(where)
    front = where[0] if adjacent else 0
    rest = [n for i, n in enumerate(shape) if i not in where]
    return Read(expanded, front, common, (*rest[:front], *common, *rest[front:]))


def _key(read: Read) -> tuple[Any, ...]:
    return tuple([slice(None) if index is None else index for index in read.indices])


def _refuse(shape: Sequence[int], read: Read) -> None:
    """IndexError that names the first position outside its dim, if there is one."""
    pairs = [(index, shape[i]) for i, index in enumerate(read.indices) if index is not None]
    if 0 in [size for _, size in pairs] and 0 not in read.shape:
        raise IndexError("index is out of bounds for dimension with size 0")
    if 0 in read.result:
        return
    outside = [
        np.broadcast_to((index < -size) | (index >= size), read.shape).reshape(-1) for index, size in pairs
    ]
    first = int(np.argmax(np.logical_or.reduce(outside)))
    for number, ((index, size), bad) in enumerate(zip(pairs, outside, strict=True)):
        if bad[first]:
            place = int(np.broadcast_to(index, read.shape).reshape(-1)[first])
            raise out_of_bounds(place, number, size)


# --- reading --------------------------------------------------------------------------------------


def read(a: Array, indices: Indices) -> Array:
    """a[indices] as a fresh array, laid out as PyTorch lays it out."""
    if a.flags.c_contiguous:
        found = _read_plain(a, indices)
        if found is not None:
            return found
    plan = understand(a.shape, indices)
    try:
        return _gather(a, plan)
    except IndexError:
        _refuse(a.shape, plan)
        if 0 in plan.result:
            return np.empty(plan.result, a.dtype)
        raise


def _read_plain(a: Array, indices: Indices) -> Array | None:
    """The usual reads of a contiguous array: one index array, one mask, or one array per dim."""
    index, count = indices[-1], len(indices)
    if index is None or not index.flags.c_contiguous:
        return None
    try:
        if index.dtype in _POSITIONS:
            if count == 1 and a.ndim == 1 and index.ndim:
                return a[index]
            if count == 1 or not any([i is not None for i in indices[:-1]]):
                return np.asarray(a.take(index, count - 1))
            if count == a.ndim and all(
                [
                    i is not None
                    and i.dtype in _POSITIONS
                    and i.ndim
                    and i.shape == index.shape
                    and i.flags.c_contiguous
                    for i in indices
                ]
            ):
                return np.asarray(a[tuple(indices)])
        elif index.dtype == _BOOL and count == 1 and index.shape == a.shape[: index.ndim]:
            if index.ndim == a.ndim:
                return np.asarray(a.reshape(-1).take(index.reshape(-1).nonzero()[0]))
            if index.ndim == 1:
                return np.asarray(a.take(index.nonzero()[0], 0))
    except (IndexError, ValueError):
        pass  # found again, and named, by the general way
    return None


def _gather(a: Array, plan: Read) -> Array:
    arrays = [index for index in plan.indices if index is not None]
    plain = a.flags.c_contiguous and all(index.flags.c_contiguous for index in arrays)
    side_by_side = len(arrays) + plan.front == len(plan.indices)
    if plain and side_by_side and len(arrays) == 1:
        return a.take(arrays[0], plan.front)
    if plain and side_by_side and plan.front + len(arrays) < a.ndim:
        sizes = a.shape[plan.front : len(plan.indices)]
        merged = a.reshape(*a.shape[: plan.front], math.prod(sizes), *a.shape[len(plan.indices) :])
        return merged.take(flat_positions(arrays, sizes), plan.front)
    found = a[_key(plan)]
    return np.ascontiguousarray(found) if plain else _laid_out(found, a, plan)


def flat_positions(arrays: Sequence[Array], sizes: Sequence[int]) -> Array:
    """Several coordinates as one position in the flattened dims; IndexError when outside."""
    flat: Array | None = None
    for index, size in zip(arrays, sizes, strict=True):
        if index.size and (int(index.min()) < -size or int(index.max()) >= size):
            raise IndexError("a position is outside its dim")
        wrapped = np.where(index < 0, index + size, index)
        flat = wrapped if flat is None else flat * size + wrapped
    if flat is None:
        raise IndexError("at least one index array is needed")
    return flat


# --- the layout of a result -----------------------------------------------------------------------


def _laid_out(found: Array, a: Array, plan: Read) -> Array:
    """`found` with its dims ordered in memory as PyTorch's iterator orders them."""
    out = laid_out(plan.result, _operand_strides(a, plan), found.dtype)
    if out.strides == found.strides:
        return found
    out[...] = found
    return out


def _operand_strides(a: Array, plan: Read) -> tuple[tuple[int, ...], ...]:
    """Strides of the array and of each index array over the dims of the result."""
    count = len(plan.shape)
    rest = [s for i, s in enumerate(a.strides) if i >= len(plan.indices) or plan.indices[i] is None]
    strides = [[*rest[: plan.front], *[0] * count, *rest[plan.front :]]]
    for index in plan.indices:
        if index is not None:
            own = [0] * (count - index.ndim) + [
                0 if size == 1 else step for size, step in zip(index.shape, index.strides, strict=True)
            ]
            strides.append([*[0] * plan.front, *own, *[0] * (len(rest) - plan.front)])
    return tuple(map(tuple, strides))


# --- writing --------------------------------------------------------------------------------------


def fitting(shape: tuple[int, ...], indices: Any, values: tuple[int, ...]) -> Any:
    """What the indices mean for such a shape; RuntimeError unless such values broadcast to the result."""
    plan = understand(shape, indices)
    if not broadcasts(values, plan.result):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values)} cannot be "
            f"broadcast to indexing result of shape {list(plan.result)}"
        )
    return plan


def warn_of_expanded(op: str, a: Array, example: str) -> None:
    """A warning where several elements of what is written to are one."""
    if 0 in a.strides and a.size and overlaps_itself(a.shape, a.strides):
        warn(
            f"Use of {op} on expanded tensors is deprecated. Please clone() the tensor before "
            f"performing this operation. This also applies to advanced indexing e.g. {example}",
            UserWarning,
        )


def write(a: Array, indices: Indices, values: Array, accumulate: bool = False) -> None:
    """a[indices] = values, or += with every repeated position counted.

    `values` broadcasts to what the index reads and has a's dtype; RuntimeError otherwise.
    """
    warn_of_expanded("index_put_", a, "tensor[indices] = tensor")
    if not accumulate and len(indices) == 1 and _write_plain(a, indices[0], values):
        return
    plan = fitting(a.shape, indices, values.shape)
    try:
        if accumulate:
            _accumulate(a, plan, values)
        else:
            a[_key(plan)] = values
    except IndexError:
        _refuse(a.shape, plan)
        if 0 not in plan.result:
            raise


def _write_plain(a: Array, index: Array, values: Array) -> bool:
    """Write at one index array or mask; False where the general way must look closer."""
    try:
        if index.dtype in _POSITIONS:
            if values.ndim > a.ndim - 1 + index.ndim:
                return False
            a[index] = values
        elif index.dtype == _BOOL and index.shape == a.shape[: index.ndim] and not values.ndim:
            if index.ndim == a.ndim:
                np.copyto(a, values, where=index)
            else:
                a[index] = values
        else:
            return False
    except (IndexError, ValueError):
        return False  # NumPy looks at all positions before it writes one
    return True


def broadcasts(shape: Sequence[int], to: Sequence[int]) -> bool:
    """Whether an array of `shape` can be expanded to the shape `to`."""
    return len(shape) <= len(to) and all(
        n in (1, m) for n, m in zip(reversed(shape), reversed(to), strict=False)
    )


def _accumulate(a: Array, plan: Read, values: Array) -> None:
    """Bring the index dims to the front and flatten them: one row per position."""
    where = [i for i, index in enumerate(plan.indices) if index is not None]
    arrays = [index for index in plan.indices if index is not None]
    others = [i for i in range(a.ndim) if i not in where]
    sizes = [a.shape[i] for i in where]
    flat = np.broadcast_to(flat_positions(arrays, sizes), plan.shape).reshape(-1)
    count = len(plan.shape)
    full = np.broadcast_to(values, plan.result)
    full = np.moveaxis(full, range(plan.front, plan.front + count), range(count))
    rest = [a.shape[i] for i in others]
    rows = full.reshape(flat.size, *rest)
    turned = a.transpose(*where, *others)
    merged = turned.reshape(math.prod(sizes), *rest)
    add_at(merged, flat, rows)
    if not np.may_share_memory(merged, a):
        turned[...] = merged.reshape(turned.shape)


def coordinates(shape: Sequence[int], indices: Indices) -> tuple[Array, ...]:
    """One coordinate array per dim of the array, which broadcast to the shape of the result."""
    plan = understand(shape, indices)
    ndim, count = len(plan.result), len(plan.shape)
    found: list[Array] = []
    place = 0  # the next dim of the result that is no index dim
    for i, size in enumerate(shape):
        index = plan.indices[i] if i < len(plan.indices) else None
        if index is not None:
            after = ndim - plan.front - count
            found.append(index.reshape((*index.shape, *[1] * after)))
            continue
        place += count if place == plan.front else 0
        found.append(np.arange(size).reshape([size if j == place else 1 for j in range(ndim)]))
        place += 1
    return tuple(found)
