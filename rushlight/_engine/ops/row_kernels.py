"""Fused kernels of composites that work row by row: declared as expressions, compiled later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from threading import get_ident
from typing import Any

import numpy as np

from rushlight._engine.core.dtype import BY_NAME, dtype, opmath
from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.core.services import service
from rushlight._engine.ops.expressions import Expr

Array = np.ndarray[Any, Any]
BIG = 65536
# Elements of a result, and rows of it, from which on they are not left to NumPy's iteration, where an operand
# is repeated.
BROAD, ROWS_OF_IT = 1 << 12, 100
# Elements from which on sums are machine code's, whose order kernels of several sums keep.
SUMMED = 1 << 14


def broad(largest: Any, arrays: Sequence[Any]) -> bool:
    """Whether an operand is repeated along so many rows of the largest one."""
    size = largest.size
    return (
        size >= BROAD
        and size >= ROWS_OF_IT * largest.shape[-1]
        and any([a.size < size for a in arrays if a.ndim])
    )


class RowKernel:
    """One pass over rows along a dim. `inputs`: a name each; those in `scalars` hold one value a row. Results
    have the dtype of the first input, or, where they are `wide`, the one that it is computed in.

    Called with (dim, *arrays): vectors have the full shape, scalars a size of 1 along dim. That is an eager
    call, which ends in `launch`. Small eager calls that repeat do not come here: their plan
    (dispatch/runners/plans.py) runs the kernel's loop by kernels/runtime/small_calls.py. A compiled program
    runs it as a stage (trace/stage_planning.py).
    """

    def __init__(
        self,
        meaning: Callable[[], tuple[Expr, ...]],
        inputs: Sequence[str],
        scalars: Sequence[str] = (),
        wide: bool = False,
    ) -> None:
        self.meaning, self.inputs, self.scalars = meaning, tuple(inputs), frozenset(scalars)
        self.wide = wide
        self._compiled: dict[tuple[int, ...], Any] = {}

    def __call__(self, dim: int, *arrays: Array) -> Any:
        first = arrays[0]
        kernel = self.compiled(*arrays)
        if kernel is NotImplemented or not first.ndim or not first.size:
            return NotImplemented
        last = dim == -1 or dim == first.ndim - 1
        dim = dim if last else wrap_dim(dim, first.ndim)
        rows: Sequence[Array] = arrays if last else [a.swapaxes(dim, -1) for a in arrays]
        if self.scalars:
            rows = [a[..., 0] if n in self.scalars else a for n, a in zip(self.inputs, rows, strict=True)]
        found = launch(kernel, rows)
        return found if last and first.flags.c_contiguous else _back(found, -1 if last else dim)

    def compiled(self, *arrays: Array) -> Any:
        """The kernel for arrays of these dtypes; NotImplemented where there is none."""
        key = tuple([a.dtype.num for a in arrays])
        kernel = self._compiled.get(key)
        if kernel is None:
            kernel = self._compiled[key] = self._make(arrays)
        return kernel

    def of_row(self, *values: Any) -> Any:
        """The kernel as a row (*arrays, dim) calls it, whose body is the faster way to wide planes."""
        *arrays, dim = values
        return NotImplemented if _are_planes(arrays[0], dim) else self(dim, *arrays)

    def bare(self, *values: Any) -> Any:
        """(what is compiled, its arrays) where `of_row` hands them on as they are; else None."""
        *arrays, dim = values
        kernel = self.compiled(*arrays)
        first = arrays[0]
        plain = dim in (-1, first.ndim - 1) and first.size and first.flags.c_contiguous and not self.scalars
        return (kernel, arrays) if plain and kernel is not NotImplemented else None

    def _make(self, arrays: Sequence[Array]) -> Any:
        dtypes = [a.dtype.name for a in arrays]
        if arrays[0].dtype.kind != "f" and dtypes[0] != "bfloat16":
            return NotImplemented
        outputs = self.meaning()
        kinds = ["scalar" if n in self.scalars else "vector" for n in self.inputs]
        inputs = tuple(zip(self.inputs, dtypes, kinds, strict=True))
        kernel = service("row kernel")(
            outputs, inputs, (self.result(BY_NAME[dtypes[0]]).name,) * len(outputs)
        )
        return NotImplemented if kernel is None else kernel

    def result(self, of: dtype) -> dtype:
        """The results' dtype, of vectors of a dtype."""
        return opmath(of) if self.wide else of


def launch(kernel: Any, rows: Sequence[Array]) -> Any:
    """Run a compiled row kernel on arrays whose last axis is the row: in this thread, or from BIG elements on
    in all threads. One array, or a tuple of the kernel's results.
    """
    if rows[0].size >= BIG:  # rows that lie apart are read at once, by tiles
        given = [_laid_out(r) if core else r for r, core in zip(rows, kernel.core, strict=False)]
        found = kernel.large(*given)
    else:
        found = kernel.fn(*rows)
    if _watchers:
        _tell_watchers(kernel, rows, found)
    return found


def _tell_watchers(kernel: Any, rows: Sequence[Array], found: Any) -> None:
    """Note a launch in each `watched` that this thread has open."""
    for thread, launches in _watchers:
        if thread == get_ident():
            launches.append((kernel, rows, found if isinstance(found, tuple) else (found,)))


def _laid_out(a: Array) -> Array:
    """An array whose rows lie side by side."""
    if a.strides[-1] in (0, a.itemsize):
        return a
    out = np.empty(a.shape, a.dtype)
    if not service("copy")(out, a):
        out[...] = a
    return out


# Elements behind a dim, and all in all, from which on it is faster to go over whole planes of them, op by op,
# than over rows that lie apart.
_PLANE, _PLANES = 64, 4096


def _are_planes(a: Array, dim: int) -> bool:
    """Whether the elements behind a dim are many; not in short floats, where each op would round."""
    if dim in (-1, a.ndim - 1) or a.size < _PLANES or a.dtype.num not in _LONG_FLOATS:
        return False
    return bool(prod(a.shape[wrap_dim(dim, a.ndim) + 1 :]) >= _PLANE)


_LONG_FLOATS = frozenset((np.dtype(np.float32).num, np.dtype(np.float64).num))
# (thread, its launches) of each `watched` that is open.
_watchers: list[tuple[int, list[Any]]] = []


@contextmanager
def watched() -> Iterator[list[Any]]:
    """Collect the launches of row kernels in this thread: (kernel, its arrays, its results). So compile()
    learns which kernel a composite is (trace/passes/lowering.py).
    """
    watcher: tuple[int, list[Any]] = get_ident(), []
    _watchers.append(watcher)
    try:
        yield watcher[1]
    finally:
        _watchers.remove(watcher)


def _back(found: Any, dim: int) -> Any:
    """Results with their rows along dim, laid out as PyTorch's are: one after another."""
    if isinstance(found, tuple):
        return tuple(_back(f, dim) for f in found)
    return np.asarray(found if dim == -1 else found.swapaxes(dim, -1), order="C")
