"""Layout arithmetic: sizes, strides and offsets in elements, and memory for results; no data, no tensors."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Container, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

Ints = tuple[int, ...]
Array = np.ndarray[Any, Any]
# The word at an address.
word = ctypes.c_int64.from_address
# Where NumPy's array object has its data, behind the head that every Python object has: part of NumPy's ABI.
_DATA = object.__basicsize__


def pointer(a: Array) -> int:
    """Where an array's first element is; `__array_interface__` says so in five times the time."""
    return word(id(a) + _DATA).value


def as_tuple(value: int | Sequence[int]) -> Ints:
    """One int or several as a tuple."""
    return (value,) if isinstance(value, int) else tuple(value)


class Layout(NamedTuple):
    """How a strided view sees its storage; strides and offset count elements."""

    sizes: Ints
    strides: Ints
    offset: int = 0


def contiguous_strides(sizes: Sequence[int]) -> Ints:
    """Row-major strides; PyTorch counts a size of 0 as 1 here."""
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


@lru_cache(maxsize=4096)
def strides_like(sizes: Ints, strides: Ints) -> Ints:
    """Dense strides in the order of given ones: what `empty_like` (preserve_format) gives."""
    return dense_strides(sizes, iteration_order(sizes, (strides,)))


def strided_memory(sizes: Ints, strides: Ints, dtype: Any) -> Array:
    """Fresh memory with any strides, in elements."""
    step = np.dtype(dtype).itemsize
    flat = np.empty(extent(Layout(sizes, strides)) * step, np.uint8)
    return np.ndarray(sizes, dtype, flat, 0, tuple([s * step for s in strides]))


def strides_of_empty(a: Array, memory_format: object) -> Ints:
    """Strides, in elements, of a copy of an array without elements: its own, unless a format is asked for."""
    strides = tuple([s // a.itemsize for s in a.strides])
    if getattr(memory_format, "name", "preserve_format") == "preserve_format" and any(strides):
        return strides
    return format_strides(a.shape, contiguous_strides(a.shape), memory_format)


def dense_strides(sizes: Sequence[int], order: Sequence[int]) -> Ints:
    """Dense strides, the dims in an order from the outermost to the innermost."""
    strides, step = [0] * len(sizes), 1
    for i in reversed(order):
        strides[i] = step
        step *= max(sizes[i], 1)
    return tuple(strides)


def broadcast_shapes(*shapes: Sequence[int]) -> Ints:
    """The common shape by right-aligned broadcasting; RuntimeError in PyTorch's words."""
    if len(shapes) == 2 and shapes[0] == shapes[1]:
        return tuple(shapes[0])
    ndim = max((len(s) for s in shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for i, size in zip(range(ndim - 1, -1, -1), reversed(shape), strict=False):
            if result[i] == 1:
                result[i] = size
            elif size not in (1, result[i]):
                raise RuntimeError(
                    f"The size of tensor a ({result[i]}) must match the size of "
                    f"tensor b ({size}) at non-singleton dimension {i}"
                )
    return tuple(result)


def infer_size(shape: Sequence[int], numel: int) -> Ints:
    """`shape` with its one -1 filled in so that it holds `numel` elements."""
    known, hole = 1, None
    for i, size in enumerate(shape):
        if size == -1:
            if hole is not None:
                raise RuntimeError("only one dimension can be inferred")
            hole = i
        elif size < 0:
            raise RuntimeError(f"invalid shape dimension {size} at index {i} of shape {list(shape)}")
        else:
            known *= size
    if hole is None:
        if known == numel:
            return tuple(shape)
    elif known > 0 and numel % known == 0:
        return (*shape[:hole], numel // known, *shape[hole + 1 :])
    elif known == 0 and numel == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the "
            "unspecified dimension size -1 can be any value and is ambiguous"
        )
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")


def view_strides(sizes: Sequence[int], strides: Sequence[int], shape: Sequence[int]) -> Ints | None:
    """Strides under which the same memory reads as `shape`, or None where it cannot.

    Walks both shapes from the back: a run of old dims that are contiguous among themselves can be
    cut anew in any way.
    """
    if math.prod(shape) == 0:
        return tuple(strides) if tuple(shape) == tuple(sizes) else contiguous_strides(shape)
    if not sizes:
        return (1,) * len(shape)
    out = [0] * len(shape)
    new = len(shape) - 1
    run, base = 1, strides[-1]
    for old in range(len(sizes) - 1, -1, -1):
        run *= sizes[old]
        ends = old == 0 or (sizes[old - 1] != 1 and strides[old - 1] != run * base)
        if not ends:
            continue
        used = 1
        while new >= 0 and (used < run or shape[new] == 1):
            out[new] = used * base
            used *= shape[new]
            new -= 1
        if used != run:
            return None
        if old > 0:
            run, base = 1, strides[old - 1]
    return tuple(out) if new == -1 else None


def reduced_sizes(sizes: Sequence[int], axes: Container[int], keepdim: bool) -> Ints:
    """What is left of sizes without some axes, each of which is 1 with keepdim."""
    return tuple([1 if i in axes else n for i, n in enumerate(sizes) if keepdim or i not in axes])


def extent(layout: Layout) -> int:
    """One past the last storage element that a view touches."""
    if 0 in layout.sizes:
        return layout.offset
    return layout.offset + 1 + sum((n - 1) * s for n, s in zip(layout.sizes, layout.strides, strict=True))


def beyond_storage(layout: Layout, itemsize: int, needed: int, available: int) -> RuntimeError:
    """The error for a view of more bytes than its storage has."""
    return RuntimeError(
        f"setStorage: sizes {list(layout.sizes)}, strides {list(layout.strides)}, storage "
        f"offset {layout.offset}, and itemsize {itemsize} requiring a storage size of "
        f"{needed} are out of bounds for storage of size {available}"
    )


def overlaps_itself(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two indices may name one element (expanded tensors): conservative only for odd cases."""
    step = 0
    for stride, size in sorted((s, n) for s, n in zip(strides, sizes, strict=True) if n > 1):
        if stride <= step:
            return True
        step += stride * (size - 1)
    return False


def shared(what: str) -> RuntimeError:
    """The error for a write to memory where elements (`what`) share a place."""
    return RuntimeError(
        f"unsupported operation: {what} to a single memory location. Please clone() the "
        "tensor before performing the operation."
    )


def check_apart_from_itself(a: Array) -> None:
    """RuntimeError for memory that cannot be written to, as elements of it share a place."""
    if 0 in a.strides and 0 not in a.shape and overlaps_itself(a.shape, a.strides):
        raise shared("more than one element of the written-to tensor refers")


def channels_last_strides(sizes: Sequence[int]) -> Ints:
    """Strides of N, H, W, C order (or N, D, H, W, C) under sizes N, C, H, W."""
    return dense_strides(sizes, (0, *range(2, len(sizes)), 1))


def has_channels_last(sizes: Sequence[int], strides: Sequence[int], dims: Sequence[int] = (4, 5)) -> bool:
    """Whether N, C, (D,) H, W lies so that results get channels last too; not where both orders fit.

    dims: how many dims such an operand may have; with 3 also N, C, W, which is N, C, 1, W.
    """
    if len(sizes) not in dims or not strides[1]:
        return False
    least = 0
    for d in (1, *range(len(sizes) - 1, 1, -1), 0):
        if not sizes[d] or strides[d] < least or (not d and least == strides[1]):
            return False
        least = strides[d] * max(sizes[d], 1)
    return True


def suggests(t: Any, memory_format: Any) -> bool:
    """Whether a tensor suggests this memory format: channels last where it lies so, else the other one."""
    return has_channels_last(t.shape, t.stride()) is (memory_format.name != "contiguous_format")


def convolves_last(a: Any, b: Any) -> bool:
    """Whether a convolution's result is in channels last: if an operand is, of lines if the second one is."""
    return has_channels_last(a.shape, a.strides) or has_channels_last(b.shape, b.strides, (3, 4, 5))


def format_strides(sizes: Ints, strides: Ints, memory_format: object) -> Ints:
    """Strides of a copy in a memory format (by its name; None preserves dense strides)."""
    name = getattr(memory_format, "name", "preserve_format")
    if name == "contiguous_format":
        return contiguous_strides(sizes)
    if name == "preserve_format":
        return strides_like(sizes, strides)
    wanted = 4 if name == "channels_last" else 5
    if len(sizes) != wanted:
        raise RuntimeError(f"required rank {wanted} tensor to use {name} format")
    return channels_last_strides(sizes)


# --- the order of a result's dims -----------------------------------------------------------------


def result_memory(
    operands: Sequence[Array], dtype: Any, copied: Sequence[int] = (), beside: Sequence[int] = ()
) -> Array | None:
    """Fresh memory for a pointwise result of operands that broadcast; None where it is C's order anyway.

    copied: the places of operands that PyTorch converts into a dense copy first; beside: those of numbers
    that are no operands to PyTorch. None by default.
    """
    if all([a.flags.c_contiguous for a in operands]):
        return None
    return in_order(*result_order(operands, copied, beside), dtype)


def result_order(
    operands: Sequence[Array], copied: Sequence[int] = (), beside: Sequence[int] = ()
) -> tuple[Ints, Ints | None]:
    """How `in_order` is to make a pointwise result's memory, which is laid out by its operands."""
    return order_of(tuple([(a.shape, a.strides, a.itemsize) for a in operands]), tuple(copied), tuple(beside))


@lru_cache(maxsize=4096)
def order_of(
    operands: tuple[tuple[Ints, Ints, int], ...], copied: Ints, beside: Ints
) -> tuple[Ints, Ints | None]:
    """The same of operands' (shapes, strides, bytes of an element)."""
    given = [
        (sizes, strides_like(sizes, strides) if k in copied else strides, 1 if k in copied else size)
        for k, (sizes, strides, size) in enumerate(operands)
    ]
    asked = {
        (sizes, tuple([s // size for s in strides]))
        for k, (sizes, strides, size) in enumerate(given)
        if k not in beside
    }
    if len(asked) == 1:
        sizes, strides = asked.pop()
        if len(sizes) == 4 and 1 in sizes and _lies_channels_last(sizes, strides):
            return _arranged(sizes, (channels_last_strides(sizes),))
    return _arranged(*_broadcast([(sizes, strides) for sizes, strides, _ in given]))


def _lies_channels_last(sizes: Ints, strides: Ints) -> bool:
    """Whether N, C, H, W is dense in the order N, H, W, C, whatever the strides of dims of size 1 are."""
    dense = channels_last_strides(sizes)
    return all([n == 1 or s == step for n, s, step in zip(sizes, strides, dense, strict=True)])


def _broadcast(operands: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, tuple[Ints, ...]]:
    """The common shape, and each operand's strides over its dims."""
    shape = np.broadcast_shapes(*[sizes for sizes, _ in operands])
    return shape, tuple(
        [
            (0,) * (len(shape) - len(sizes))
            + tuple(
                [
                    0 if n == 1 != k else s
                    for n, k, s in zip(sizes, shape[len(shape) - len(sizes) :], strides, strict=True)
                ]
            )
            for sizes, strides in operands
        ]
    )


def spread(a: Array, shape: Ints) -> Array:
    """`a` broadcast to a shape."""
    if a.ndim or a.dtype.isbuiltin != 1:
        return np.broadcast_to(a, shape)
    return np.ndarray(shape, a.dtype, a, 0, (0,) * len(shape))


def tiled(a: Array, times: Ints) -> Array:
    """`a` laid out times[i] times along each dim, of which there may be more than it has: np.tile, sooner."""
    if a.ndim == len(times) == 1:
        lines = np.empty((times[0], a.size), a.dtype)
        lines[...] = a
        return lines.reshape(-1)
    if a.ndim and times[-1] > 1 and max(times[:-1], default=1) > 1:  # long lines are copied sooner
        a, times = tiled(a, (1,) * (a.ndim - 1) + times[-1:]), (*times[:-1], 1)
    shape = (1,) * (len(times) - a.ndim) + a.shape
    out = np.empty([n * s for n, s in zip(times, shape, strict=True)], a.dtype)
    apart = [each for pair in zip(times, shape, strict=True) for each in pair]
    out.reshape(apart)[...] = a.reshape([each for s in shape for each in (1, s)])
    return out


def laid_out(shape: Ints, operands: tuple[Ints, ...], dtype: Any) -> Array:
    """Fresh memory whose dims are in the order of these operands' strides."""
    return in_order(*_arranged(shape, operands), dtype)


def in_order(sizes: Ints, turned: Ints | None, dtype: Any) -> Array:
    """Fresh memory of dims that are turned then, if they are."""
    made = np.empty(sizes, dtype)
    return made if turned is None else made.transpose(turned)


@lru_cache(maxsize=4096)
def _arranged(shape: Ints, operands: tuple[Ints, ...]) -> tuple[Ints, Ints | None]:
    order = iteration_order(shape, operands)
    turned = tuple(sorted(range(len(order)), key=order.__getitem__))
    return tuple([shape[i] for i in order]), None if order == sorted(order) else turned


def iteration_order(shape: Ints, operands: tuple[Ints, ...]) -> list[int]:
    """Dims from the slowest to the fastest in memory, as PyTorch allocates results.

    An insertion sort by strides: the first operand that has two dims neither of which is
    broadcast decides between them; where none does, they keep their order.
    """
    order = list(range(len(shape)))[::-1]  # fastest first
    for i in range(1, len(shape)):
        moving = i
        for other in range(i - 1, -1, -1):
            verdict = _swap(shape, operands, order[other], order[moving])
            if verdict > 0:
                order[other], order[moving] = order[moving], order[other]
                moving = other
            elif verdict < 0:
                break
    return order[::-1]


def _swap(shape: Ints, operands: tuple[Ints, ...], fast: int, slow: int) -> int:
    """1 where dim `fast` should be the slower one, -1 where it is right as it is, 0 unknown."""
    for strides in operands:
        a, b = strides[fast], strides[slow]
        if a == 0 or b == 0:
            continue
        if a != b:
            return 1 if a > b else -1
        if shape[fast] > shape[slow]:
            return 1
    return 0
