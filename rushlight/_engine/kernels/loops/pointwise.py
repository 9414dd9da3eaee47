"""Pointwise kernels: one callable per (expressions, input dtypes, output dtypes)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.layout import result_memory, tiled
from rushlight._engine.core.numpy_warnings import hush, restore
from rushlight._engine.core.settings import settings
from rushlight._engine.derive.exactness import same_bits
from rushlight._engine.derive.reference import program
from rushlight._engine.kernels.emit import machine_code
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.kernels.runtime import parallel, team
from rushlight._engine.kernels.runtime.tiers import Tiered
from rushlight._engine.ops.expressions import Expr, symbol

Array = np.ndarray[Any, Any]
Inputs = tuple[tuple[str, str], ...]
# From how many elements on threads are worth waking.
PARALLEL = 1 << 17
# The same for kernels that stand for a dozen ops.
SHARED = 1 << 12
# Elements up to which short rows are put together.
_LONG = 1 << 11


def work_dtype(dtypes: tuple[str, ...]) -> str:
    """The dtype that a kernel's literals take: the widest of its arrays', as it computes."""
    found = max((dt.BY_NAME[d] for d in dtypes), key=lambda d: (d.category, d.itemsize))
    return dt.opmath(found).name


class Pointwise(Tiered):
    """Expressions over broadcast arrays; results have the common shape."""

    def __init__(self, outputs: tuple[Expr, ...], inputs: Inputs, out_dtypes: tuple[str, ...]) -> None:
        super().__init__()
        self.outputs, self.inputs, self.out_dtypes = outputs, inputs, out_dtypes
        self.work = work_dtype(tuple(d for _, d in inputs) or out_dtypes)
        self._program = program(outputs, inputs, self.work)
        self.out = tuple(dt.BY_NAME[d].np for d in out_dtypes)
        self.core = (False,) * (len(inputs) + len(out_dtypes))

    def reference(self, *arrays: Any, out: Any = None) -> Any:
        """Evaluate with NumPy."""
        token = hush()
        try:
            if out is None and len(self.out) == 1:
                out = result_memory(arrays, self.out[0])
            found = self._program(arrays)
            shape = arrays[0].shape if arrays else ()
            for a in arrays:
                if a.shape != shape and a.shape:
                    shape = np.broadcast_shapes(shape, a.shape) if shape else a.shape
            if out is None and len(found) == 1:
                return _deliver(found[0], shape, self.out[0], None, arrays)
            wanted = [None] * len(found) if out is None else [out] if len(found) == 1 else out
            results = [
                _deliver(f, shape, d, o, arrays) for f, d, o in zip(found, self.out, wanted, strict=True)
            ]
        finally:
            restore(token)
        return results[0] if len(results) == 1 else tuple(results)

    @property
    def meaning(self) -> Meaning:
        """What the machine code is compiled from."""
        return Meaning(self.outputs, self.inputs, self.out_dtypes, self.work)

    @cached_property
    def source(self) -> tuple[str, str]:
        return "pointwise", self.meaning.text()

    @cached_property
    def exact(self) -> bool:
        return same_bits(self.outputs, self.inputs, self.out_dtypes, self.work)

    def build(self) -> np.ufunc | None:
        """A ufunc, or None where there is no machine code."""
        return machine_code.ufunc(self.source, "pointwise", self.meaning)

    def ir(self) -> str:
        """The kernel's LLVM IR, for reading."""
        return machine_code.ir("pointwise", self.meaning)

    def parallel(self, *arrays: Any, out: Any = None) -> Any:
        """The elements shared out over threads."""
        shape = arrays[0].shape
        for a in arrays:
            if a.size >= PARALLEL or a.shape != shape:
                break
        else:
            return self.fn(*arrays) if out is None else self.fn(*arrays, out=out)
        if len(self.out) == 1:
            out = result_memory(arrays, self.out[0]) if out is None else out
            if out is None:
                out = np.empty(np.broadcast_shapes(*[a.shape for a in arrays]), self.out[0])
            longer = _longer_rows(arrays, out)
            if longer is not None:
                *given, to = longer
                parallel.split(self.fn, given, self.core, self.out, to, PARALLEL)
                return out
        return parallel.split(self.fn, arrays, self.core, self.out, out, PARALLEL)


def _longer_rows(arrays: tuple[Any, ...], out: Array) -> list[Any] | None:
    """Dense operands that lie alike as matrices of long rows, with what repeats along their short rows (one
    number a channel, in channels last) laid out as such a row; None where that is not how they lie.

    NumPy calls a loop once a row, which takes longer than a short row's arithmetic.
    """
    steps = tuple([s // out.itemsize for s in out.strides])
    found = _tiling(out.shape, steps, tuple([a.shape for a in arrays]))
    if found is None:
        return None
    order, times, rows = found
    longer = []
    for a in (*arrays, out):
        if a.shape == out.shape:
            if tuple([s // a.itemsize for s in a.strides]) != steps:
                return None
            longer.append(a.transpose(order).reshape(rows))
        else:
            longer.append(tiled(a.reshape(-1), (times,)) if a.size > 1 else a.reshape(()))
    return longer


@lru_cache(maxsize=1024)
def _tiling(
    shape: tuple[int, ...], steps: tuple[int, ...], given: tuple[tuple[int, ...], ...]
) -> tuple[tuple[int, ...], int, tuple[int, int]] | None:
    """(dims from the slowest to the fastest, how many rows are one then, (rows, their length))."""
    order = tuple(sorted(range(len(shape)), key=lambda d: (-steps[d], -shape[d])))
    others = {s for s in given if s != shape}
    if not order or not others or shape not in given or all(prod(s) == 1 for s in others):
        return None
    dense, extent = 1, shape[order[-1]]
    for d in reversed(order):
        if shape[d] > 1 and steps[d] != dense:
            return None
        dense *= shape[d]
    for s in others:
        wide = (1,) * (len(shape) - len(s)) + s
        if prod(s) != 1 and (prod(s) != extent or wide[order[-1]] != extent):
            return None
    rows = dense // extent
    times = 1
    while rows % (2 * times) == 0 and 2 * times * extent <= _LONG:
        times *= 2
    return (order, times, (rows // times, times * extent)) if times >= 4 else None


def _deliver(
    found: Any, shape: tuple[int, ...], dtype: np.dtype[Any], out: Array | None, arrays: tuple[Any, ...]
) -> Array:
    """A result in its dtype and shape, in `out` or in memory that is no operand's."""
    if out is not None:
        out[...] = found
        return out
    if found.dtype != dtype:
        found = found.astype(dtype)
    if (
        found.__class__ is not np.ndarray
        or found.shape != shape
        or not found.flags.owndata
        or any([found is a for a in arrays])
    ):
        return np.array(np.broadcast_to(found, shape), order="C")
    return found


@cache
def pointwise(outputs: tuple[Expr, ...], inputs: Inputs, out_dtypes: tuple[str, ...]) -> Pointwise:
    """The kernel for expressions over `inputs` (name, dtype name), kept.

    Call it with one array per input, in order, and `out=` (an array, or a tuple for several
    outputs); it gives an array or a tuple of arrays of `out_dtypes`.
    """
    return Pointwise(outputs, inputs, out_dtypes)


@cache
def conversion(source: str, to: str) -> Pointwise:
    """The kernel from one dtype to another."""
    return pointwise((symbol("a"),), (("a", source),), (to,))


def fused(*meaning: Any) -> Callable[[Sequence[Array], Sequence[Array]], None]:
    """A kernel that is compiled at once, as a function of (operands, results), for many calls on some rows.

    It is shared out over threads from fewer elements on, as it stands for many ops.
    """
    kernel = pointwise(*meaning)
    ready = settings.kernels != "numpy" and kernel.compile_now()

    def run(operands: Sequence[Array], results: Sequence[Array]) -> None:
        whole, shape, threads = (*operands, *results), results[0].shape, parallel.get_num_threads()
        if (
            ready
            and threads > 1
            and results[0].size >= SHARED
            and team.split(kernel.fn, whole, (False,) * len(whole), shape, threads)
        ):
            return
        kernel(*operands, out=tuple(results) if len(results) > 1 else results[0])

    setattr(run, "kernel", kernel if ready else None)
    return run
