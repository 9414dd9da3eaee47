"""Kernels on few elements without NumPy: finding the loop by NumPy takes longer than running it.

Each function gives a callable for arrays that lie as the given ones do: one builtin call (`team.Call.run`)
that runs the loop, with the interpreter's lock held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.core.layout import pointer, reduced_sizes
from rushlight._engine.core.numpy_warnings import mark_without_flags
from rushlight._engine.kernels.runtime import native, stages, team

Array = np.ndarray[Any, Any]
# Elements of an operand up to which other threads may wait for the call.
_FEW = 1 << 12
# Elements from which on columns are added up by a loop of their own, and those of a row up to which they are.
_MANY, _SHORT = 1 << 11, 1 << 9


def fits(kernel: Any, arrays: Sequence[Any], results: Sequence[Array]) -> bool:
    """Whether a kernel can go over arrays like these, and results, without NumPy: all are few elements."""
    return results[0].size <= _FEW and all(
        [
            a.__class__ is np.ndarray and a.flags.c_contiguous and a.dtype.name == d and a.size <= _FEW
            for a, (_, d) in zip(arrays, kernel.inputs, strict=True)
        ]
    )


def of_kernel(kernel: Any, arrays: Sequence[Array], results: Sequence[Array]) -> stages.Stages | None:
    """The stages of a kernel on arrays and results that it `fits`, if it is machine code."""
    rows = max(kernel.core)  # which may have a number each, in an axis of its own
    seen = [
        a[..., 0] if rows and not core and a.ndim == arrays[0].ndim else a
        for a, core in zip(results, kernel.core[len(arrays) :], strict=True)
    ]
    return stages.kernel(kernel.fn, [*arrays, *seen], kernel.core)


def loop(kernel: Any, operands: Sequence[Array], given: Sequence[Array]) -> Callable[..., Any] | None:
    """The kernel on operands and results that are views of the given arrays, or of others that lie so."""
    return _relative(stages.kernel(kernel.fn, operands, kernel.core), given)


def loops(kernel: Any, parts: Sequence[Sequence[Array]], given: Sequence[Array]) -> Callable[..., Any] | None:
    """The same on the operands of several calls, one after the other."""
    found = [stages.kernel(kernel.fn, operands, kernel.core) for operands in parts]
    return _relative([stage for each in found for stage in each or ()], given) if all(found) else None


def reduction(
    function: np.ufunc, a: Array, axes: Sequence[int], keepdim: bool
) -> Callable[[Array], Array] | None:
    """function.reduce of arrays that lie as `a` does, in its dtype, by NumPy's own loop; None where NumPy is
    called: also before anything has been compiled, which must not wait for it.

    It has `into`: its stages on other arrays, an operand and a result that is 0; None where it begins with
    something else.
    """
    if not (native.loaded() and 1 < a.size <= _FEW and team.possible()):
        return None
    shape = reduced_sizes(a.shape, axes, keepdim)
    make: Callable[..., Array] = _BEGIN.get(function, np.empty)
    of = a.dtype
    out, first = make(shape, of), a[tuple([slice(0, 1) if i in axes else slice(None) for i in range(a.ndim)])]
    begun = stages.copy(out, first.reshape(shape)) if make is np.empty else []
    found = stages.reduced(function, a, axes, out, int(make is np.empty))
    run = None if begun is None or found is None else _relative([*begun, found], (a, out))
    if run is None:
        return None

    def total(a: Array) -> Array:
        out = make(shape, of)
        run(a, out)
        return out

    def into(a: Array, out: Array) -> stages.Stage | None:
        return stages.reduced(function, a, axes, out)

    total.__dict__["into"] = into if make is np.zeros else None
    return mark_without_flags(total)


def sums(a: Array, axes: Sequence[int], keepdim: bool) -> Callable[[Array], Array] | None:
    """np.add.reduce of arrays that lie as `a` does along the first or the last axes, or the last and others,
    where its many short rows are worth a loop of their own, with NumPy's bits, once something is compiled;
    None for others.
    """
    shape, of = a.shape, a.dtype
    if a.size < _MANY or of.char not in "fd" or len(axes) == a.ndim or not a.flags.c_contiguous:
        return None
    if native.loaded():
        return _sums(shape, of, axes, keepdim)
    found: Callable[[Array], Array] | None = None
    reduce: Any = np.add.reduce

    def run(a: Array) -> Array:
        nonlocal found
        if found is None and native.loaded():
            found = _sums(shape, of, axes, keepdim) or by_numpy
        return by_numpy(a) if found is None else found(a)

    def by_numpy(a: Array) -> Array:
        total: Array = reduce(a, axes, None, None, keepdim)
        return total

    return run


def _sums(
    sizes: tuple[int, ...], of: Any, axes: Sequence[int], keepdim: bool
) -> Callable[[Array], Array] | None:
    # what few programs reduce in this way
    from rushlight._engine.kernels.loops import columns_in_registers, rows_in_registers

    k, ndim, over = len(axes), len(sizes), tuple(sorted(axes))
    rows, columns = prod(sizes[:k]), prod(sizes[k:])
    shape = reduced_sizes(sizes, over, keepdim)
    found: Callable[[Array], Array] | None = None
    if over == tuple(range(k)):
        if 1 < columns <= _SHORT:
            found = columns_in_registers.columns_of("line", of, (1, rows, columns))
    elif over == tuple(range(ndim - k, ndim)):
        n = prod(sizes[ndim - k :])
        if 1 < n <= rows_in_registers.LINE:
            found = rows_in_registers.sums_of("line", of, prod(sizes) // n, n)
    else:
        found = _apart(sizes, of, over)
    return None if found is None else lambda a: found(a).reshape(shape)


def _apart(shape: tuple[int, ...], of: Any, over: tuple[int, ...]) -> Callable[[Array], Array] | None:
    """The same along the last axes and some before: the rows' sums, which NumPy adds up in order."""
    from rushlight._engine.kernels.loops import rows_in_registers  # as above

    behind = next(i for i in range(len(shape)) if len(shape) - 1 - i not in over)
    ahead, n, rest = (
        over[: len(over) - behind],
        prod(shape[len(shape) - behind :]),
        shape[: len(shape) - behind],
    )
    if not behind or not 1 < n <= rows_in_registers.LINE or 1 in shape:
        return None
    rows = rows_in_registers.sums_of("line", of, prod(rest), n)
    return None if rows is None else lambda a: np.add.reduce(rows(a).reshape(rest), ahead)


def product(a: Array, b: Array) -> Callable[[Array, Array], Array] | None:
    """np.matmul of batches of as many matrices that lie as these, by NumPy's own loop; None as above."""
    if not (native.loaded() and 1 < a.size <= _FEW and b.size <= _FEW and a.dtype == b.dtype):
        return None
    if not 2 < a.ndim == b.ndim or a.shape[:-2] != b.shape[:-2] or not team.possible():
        return None
    shape, of = (*a.shape[:-1], b.shape[-1]), a.dtype
    # Apart from each other, as operands of later calls may be; NumPy has another way for a matrix times its
    # own transpose.
    apart = np.empty_like(a), np.empty_like(b), np.empty(shape, of)
    turned = a.strides[-1] != b.strides[-1]
    if [x.strides for x in apart[:2]] != [a.strides, b.strides] or turned or apart[2].size > _FEW:
        return None
    run = _relative(stages.matmul(*apart), apart)
    if run is None:
        return None

    def multiply(a: Array, b: Array) -> Array:
        out = np.empty(shape, of)
        run(a, b, out)
        return out

    return multiply


# What reductions begin with; others with their first elements.
_BEGIN: dict[Any, Any] = {
    np.add: np.zeros,
    np.logical_or: np.zeros,
    np.multiply: np.ones,
    np.logical_and: np.ones,
}


def _relative(found: stages.Stages | None, given: Sequence[Array]) -> Callable[..., Any] | None:
    """Stages on these arrays, which share no memory with each other, as a function of others that lie so;
    None where they know other memory.
    """
    return joined(found or (), [(a, number, 0) for number, a in enumerate(given)])


def joined(
    found: Sequence[stages.Stage], places: Sequence[tuple[Array, int, int]]
) -> Callable[..., Any] | None:
    """Stages on arrays which share no memory with each other, as a function of others; None where they know
    other memory, or there are none.

    places: an array, which of the function's operands holds it, and where it begins there, in bytes.
    """
    parts, spans = [], [(pointer(a), pointer(a) + a.nbytes) for a, _, _ in places]
    for stage in found:
        columns, jobs = stage.jobs.T[: stage.before].tolist(), stage.jobs.copy()
        of = [
            next((k for k, (low, high) in enumerate(spans) if low <= min(c) and max(c) < high), -1)
            for c in columns
        ]
        if -1 in of:
            return None
        jobs[:, : stage.before] -= [spans[k][0] - places[k][2] for k in of]
        operands = [places[k][1] for k in of]
        parts.append(team.CallStage(stage.loop, jobs, operands, stage.before, stage.steps))
    if not parts or not team.possible():
        return None
    call = team.Call(*parts, few=max(a.size for a, _, _ in places) <= _FEW)
    return call.run if call.small else partial(call, 1)
