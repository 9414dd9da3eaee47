"""Calls of elementwise kernels on many elements, without NumPy's iteration: planned once for operands that
lie so, and then one native call over threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from rushlight._engine.core.layout import pointer, result_memory, tiled
from rushlight._engine.core.services import service
from rushlight._engine.kernels.runtime import parallel, team
from rushlight._engine.numerics.ufunc import LOOPS

if TYPE_CHECKING:  # it imports this file
    from rushlight._engine.kernels.loops.pointwise import Pointwise

Array = np.ndarray[Any, Any]
# Sizes, and strides in bytes or elements.
Layout = tuple[tuple[int, ...], tuple[int, ...]]
# From how many elements on threads are worth waking.
PARALLEL = 1 << 17
# Elements up to which short rows are put together: what repeats along them stays in the fastest cache. And
# which rows are short.
_LONG, _SHORT = 1 << 10, 1 << 8
# How many rows at least are put together.
_FEWEST = 4
# Elements of a row up to which its number is laid out as often.
_NUMBERS = 16
# Elements of both sides from which on tiles are turned.
_SIDE = 16


class PreparedCall:
    """A kernel's call on operands that lie alike, and where its results go."""

    def __init__(self, kernel: Pointwise, arrays: Sequence[Array], results: Sequence[Array]) -> None:
        """results: those of one such call, which may be others in the next."""
        self.results = [_order(r) for r in results]
        self.repeated: list[tuple[int, int]] = []  # operands that are laid out so many times
        self.turned = [k for k, a in enumerate(arrays) if lies_across(a, results[0])]
        arrays = [self._turned(a) if k in self.turned else a for k, a in enumerate(arrays)]
        # Operands with one number for each short row.
        self.stretched = [k for k, a in enumerate(arrays) if _is_number_of_rows(a, results[0])]
        for k in self.stretched:
            arrays[k] = np.empty(results[0].shape, arrays[k].dtype)
        self.call: team.Call | None = None
        shape, layouts = self._layouts([*arrays, *results], results[0])
        threads = parallel.get_num_threads() if prod(shape) >= PARALLEL else 1
        planned = team.planes(layouts, shape, threads)
        if planned is not None:
            jobs, steps = planned
            behind = results[0].size - prod(shape)  # rows that are too few to be put together with others
            if behind:
                done = [prod(shape) * a.itemsize * (a.shape == results[0].shape) for a in [*arrays, *results]]
                job = [*done, -1, behind] if jobs.shape[1] > len(done) + 1 else [*done, behind]
                jobs = np.concatenate([jobs, [job]])
            loop, count = LOOPS[kernel.fn], len(layouts)  # type: ignore[index]
            self.call = team.Call(team.CallStage(loop, jobs, range(count), count, steps))
            self.threads = min(threads, len(jobs))

    def _layouts(self, operands: Sequence[Array], out: Array) -> tuple[tuple[int, ...], list[Layout]]:
        """The shape that is walked, and how the operands lie in it."""
        found = _tiling(out.shape, _steps(out), tuple([(a.shape, _steps(a)) for a in operands]))
        if found is None:
            return _by_memory(out.shape, [(a.shape, a.strides) for a in operands], out.strides)
        times, shape = found
        layouts: list[Layout] = []
        for k, a in enumerate(operands):
            if a.shape == out.shape:
                layouts.append((shape, (a.itemsize * shape[1], a.itemsize)))
            else:
                self.repeated += [(k, times)] * (a.size > 1)
                layouts.append((shape[1:], (a.itemsize * (a.size > 1),)))
        return shape, layouts

    def _turned(self, a: Array) -> Array:
        """A copy that lies as the results do."""
        sizes, turned, _ = self.results[0]
        out = np.empty(sizes, a.dtype) if turned is None else np.empty(sizes, a.dtype).transpose(turned)
        if not service("copy")(out, a):
            out[...] = a
        return out

    def __call__(self, arrays: Sequence[Array], results: Sequence[Array] | None) -> Sequence[Array]:
        """The results, fresh ones where none are given."""
        if results is None:
            results = [
                np.empty(sizes, d) if turned is None else np.empty(sizes, d).transpose(turned)
                for sizes, turned, d in self.results
            ]
        operands = [*arrays, *results]
        for k in self.turned:
            operands[k] = self._turned(arrays[k])
        for k in self.stretched:
            operands[k] = np.repeat(arrays[k][..., 0].reshape(-1), results[0].shape[-1])
        for k, times in self.repeated:
            operands[k] = tiled(arrays[k].reshape(-1), (times,))
        call: Any = self.call
        if self.threads < 2 and call.small:
            call.run(*operands)
        else:
            call(self.threads, *operands)
        return results


def plan(kernel: Pointwise, arrays: Sequence[Any], out: Sequence[Any] | None) -> PreparedCall | None:
    """How the kernel, which is machine code, is called on operands like these; None where NumPy calls it."""
    if kernel.fn not in LOOPS or not team.possible():
        return None
    dtypes = [dtype for dtype, _ in zip(kernel.taken, arrays, strict=True)]
    given = [*zip(arrays, dtypes, strict=True), *zip(out or (), kernel.out, strict=bool(out))]
    if not all([a.__class__ is np.ndarray and a.dtype == d and a.flags.aligned and a.size for a, d in given]):
        return None
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    if out is None:
        made = result_memory(arrays, kernel.out[0]) if len(kernel.out) == 1 else None
        out = [np.empty(shape, d) for d in kernel.out] if made is None else [made]
    if not all([a.shape == shape for a in out]):
        return None
    found = PreparedCall(kernel, arrays, out)
    return None if found.call is None else found


def apart(arrays: Sequence[Array], results: Sequence[Array]) -> bool:
    """Whether no result shares memory with an operand other than elementwise, and all may be written to."""
    for r in results:
        if not r.flags.writeable:
            return False
        start = pointer(r)
        for a in arrays:
            at = pointer(a)
            if at == start and a.shape == r.shape and a.strides == r.strides and a.itemsize == r.itemsize:
                continue
            if np.may_share_memory(a, r):
                return False
    return True


def _order(a: Array) -> tuple[tuple[int, ...], tuple[int, ...] | None, np.dtype[Any]]:
    """The sizes of dense memory like an array's, how its dims are turned (None if not at all), its dtype."""
    if a.flags.c_contiguous:
        return a.shape, None, a.dtype
    order = sorted(range(a.ndim), key=lambda d: -a.strides[d])
    turned = tuple(sorted(range(a.ndim), key=order.__getitem__))
    return tuple([a.shape[d] for d in order]), turned, a.dtype


def _is_number_of_rows(a: Array, out: Array) -> bool:
    """Whether an operand has one number for each row of a result whose rows are short."""
    if out.ndim < 2 or not 1 < out.shape[-1] <= _NUMBERS or not out.flags.c_contiguous:
        return False
    rows, n = out.shape[:-1], a.shape[-1] if a.ndim else 0
    one = a.shape == (*rows, 1) or (a.shape == out.shape and a.strides[-1] == 0)
    return bool(n and one and a[..., 0].flags.c_contiguous)


def lies_across(a: Array, out: Array) -> bool:
    """Whether an operand's fastest dim is a slow one of the result: then tiles of it are turned first."""
    if a.shape != out.shape or a.ndim < 2 or a.itemsize not in a.strides or out.itemsize not in out.strides:
        return False
    fast, own = out.strides.index(out.itemsize), a.strides.index(a.itemsize)
    sides = out.shape[fast], out.shape[own]
    return fast != own and min(sides) >= _SIDE and min(a.strides) > 0 and a.strides[fast] != a.itemsize


def _steps(a: Array) -> tuple[int, ...]:
    """The strides in elements."""
    return tuple([s // a.itemsize for s in a.strides])


def _by_memory(
    shape: tuple[int, ...], layouts: Sequence[Layout], strides: tuple[int, ...]
) -> tuple[tuple[int, ...], list[Layout]]:
    """The shape, and layouts with all its dims, in the order in which a result of these strides lies."""
    order = sorted(range(len(shape)), key=lambda d: -abs(strides[d]))
    turned = []
    for sizes, steps in layouts:
        missing = len(shape) - len(sizes)
        all_sizes, all_steps = (1,) * missing + sizes, (0,) * missing + steps
        turned.append((tuple([all_sizes[d] for d in order]), tuple([all_steps[d] for d in order])))
    return tuple([shape[d] for d in order]), turned


@lru_cache(maxsize=1024)
def _tiling(
    shape: tuple[int, ...], steps: tuple[int, ...], given: tuple[Layout, ...]
) -> tuple[int, tuple[int, int]] | None:
    """(how many rows are one, (how many there are then, their length)) of dense operands that lie alike as
    matrices of short rows, but for what repeats along those (one number a channel, in channels last); some
    rows may be left. None where that is not how they lie.
    """
    order = tuple(sorted(range(len(shape)), key=lambda d: (-steps[d], -shape[d])))
    others = {sizes for sizes, _ in given if sizes != shape}
    if not order or not others or all(prod(s) == 1 for s in others):
        return None
    dense, extent = 1, shape[order[-1]]
    for d in reversed(order):
        if shape[d] > 1 and steps[d] != dense:
            return None
        dense *= shape[d]
    if extent > _SHORT or any(sizes == shape and own != steps for sizes, own in given):
        return None
    for s in others:
        wide = (1,) * (len(shape) - len(s)) + s
        if prod(s) != 1 and (prod(s) != extent or wide[order[-1]] != extent):
            return None
    rows = dense // extent
    times = 1
    while 2 * times <= rows and 2 * times * extent <= _LONG:
        times *= 2
    return (times, (rows // times, times * extent)) if times >= _FEWEST else None
