"""Calls of elementwise kernels on many elements, without NumPy's iteration: planned once for operands that
lie so, and then one native call over threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from rushlight._engine.core.layout import pointer, result_memory
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
# Elements of both sides from which on tiles are turned.
_SIDE = 16


class PreparedCall:
    """A kernel's call on operands that lie alike, and where its results go."""

    def __init__(self, kernel: Pointwise, arrays: Sequence[Array], results: Sequence[Array]) -> None:
        """results: those of one such call, which may be others in the next."""
        self.results = [_order(r) for r in results]
        self.turned = [k for k, a in enumerate(arrays) if lies_across(a, results[0])]
        arrays = [self._turned(a) if k in self.turned else a for k, a in enumerate(arrays)]
        self.call: team.Call | None = None
        out = results[0]
        shape, layouts = _by_memory(
            out.shape, [(a.shape, a.strides) for a in (*arrays, *results)], out.strides
        )
        threads = parallel.get_num_threads() if prod(shape) >= PARALLEL else 1
        planned = team.planes(layouts, shape, threads)
        if planned is not None:
            jobs, steps = planned
            loop, count = LOOPS[kernel.fn], len(layouts)  # type: ignore[index]
            self.call = team.Call(team.CallStage(loop, jobs, range(count), count, steps))
            self.threads = min(threads, len(jobs))

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


def lies_across(a: Array, out: Array) -> bool:
    """Whether an operand's fastest dim is a slow one of the result: then tiles of it are turned first."""
    if a.shape != out.shape or a.ndim < 2 or a.itemsize not in a.strides or out.itemsize not in out.strides:
        return False
    fast, own = out.strides.index(out.itemsize), a.strides.index(a.itemsize)
    sides = out.shape[fast], out.shape[own]
    return fast != own and min(sides) >= _SIDE and min(a.strides) > 0 and a.strides[fast] != a.itemsize


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
