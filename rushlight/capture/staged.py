"""How entries are replayed: natively where they are known as stages, many in one call, else by Python."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from rushlight.base.config import knobs
from rushlight.base.rng import default_engine
from rushlight.capture.kernelnode import Kernel, Product, checked, total
from rushlight.capture.recorder import Entry
from rushlight.compiler import mersenne, stages
from rushlight.compiler.rows import rows
from rushlight.compiler.stages import Run, Stages
from rushlight.compiler.target import available
from rushlight.dispatch.formula import Formula
from rushlight.dispatch.reducing import BIG, X, Reducer

Array = np.ndarray[Any, Any]
Step = Callable[[], Any]
# Lines of fewer elements are better taken together.
_LINE = 1024


def prepared(entry: Entry) -> Step:
    """What to call at every replay, in Python: an optimizer's step by a shorter way, runs into memory."""
    function, operands = entry.function, entry.operands
    if entry.kind == "run":
        return partial(_into, function, operands, entry.outs)
    stepped = hasattr(getattr(function, "func", None), "hooked")
    again = getattr(function.args[0], "again", None) if stepped else None  # type: ignore[attr-defined]
    return partial(function, *operands) if again is None else again(function)


def _into(function: Callable[..., Any], operands: tuple[Any, ...], outs: tuple[Array, ...]) -> None:
    made = function(*operands)
    made = made if isinstance(made, tuple) else (made,)
    arrays = [a for a in made if isinstance(a, (np.ndarray, np.generic))]
    for out, a in zip(outs, arrays, strict=len(outs) > 1):
        out[...] = a


def steps(entries: Sequence[Entry]) -> list[Step]:
    """What runs each entry by itself."""
    return [prepared(e) if found is None else Run([(found, prepared(e))])
            for e, found in zip(entries, map(staged, entries), strict=True)]


def joined(each: Sequence[Step]) -> list[Step]:
    """The same with native ones that follow each other as one call."""
    found: list[Step] = []
    for native, group in groupby(each, lambda step: isinstance(step, Run)):
        runs: list[Any] = [*group]
        found += [Run([piece for run in runs for piece in run.pieces])] if native else runs
    return found


def staged(entry: Entry) -> Stages | None:
    """The stages that do what the entry says; None where it needs Python."""
    function, operands, outs = entry.function, entry.operands, entry.outs
    if entry.kind != "run" or knobs.kernels == "numpy" or not available():
        return None
    if isinstance(function, Kernel):
        return None if function.form == "full" else _kernel(function, operands[0], outs)
    if isinstance(function, Product):
        return stages.matmul(*operands, outs[0])
    if function is checked:
        return [stages.Stage("rl_refuse", [[stages.pointer(operands[0])]], 1, [], operands[0])]
    if function is total:
        return stages.add_reduce(operands[0], range(operands[0].ndim), outs[0])
    if len(outs) != 1:
        return None
    bound = getattr(getattr(function, "func", function), "__func__", getattr(function, "func", None))
    if bound is Formula.compute:
        kernel, arrays = function.args[0].kernel, (*operands[0], outs[0])  # type: ignore[attr-defined]
        return stages.kernel(kernel.fn, arrays, [False] * len(arrays)) if kernel.ready else None
    if bound is Reducer.run:
        return _reduction(function.__self__, outs[0], *operands)  # type: ignore[attr-defined]
    row = getattr(function, "row", None)
    return _ROWS[row.name](outs[0], *operands) if row is not None and row.name in _ROWS else None


def _kernel(kernel: Kernel, arrays: Sequence[Array], outs: Sequence[Array]) -> Stages | None:
    if kernel.form == "rows":
        roles = [role == "vector" for _, _, role in kernel.inputs]
        return stages.kernel(kernel.made.fn, (*arrays, *outs), [*roles, *kernel.made.vector_outputs])
    found = stages.kernel(kernel.made.fn, (*arrays, *outs), [False] * (len(arrays) + len(outs)))
    many = found is None or 1 < len(found[0].jobs) > outs[0].size // _LINE
    return outs[0].ndim and many and _by_rows(kernel, arrays, outs) or found


def _by_rows(kernel: Kernel, arrays: Sequence[Array], outs: Sequence[Array]) -> Stages | None:
    """A pointwise kernel with a bias, say, which would be a job for each row: as one of rows."""
    vectors = [a.shape[-1:] == outs[0].shape[-1:] for a in arrays]
    if not any(vectors):
        return None
    operands = [a if vector or not a.ndim else a[..., 0] for a, vector in zip(arrays, vectors, strict=True)]
    inputs = tuple([(name, d, "vector" if v else "scalar") for (name, d, _), v in zip(
        kernel.inputs, vectors, strict=True)])
    made = rows(kernel.exprs, inputs, kernel.out_dtypes)
    if not all(made.vector_outputs) or not made.compile_now():
        return None
    return stages.kernel(made.fn, [*operands, *outs], [*vectors, *made.vector_outputs])


def _reduction(reducer: Reducer, out: Array, a: Array, axes: tuple[int, ...], keepdim: bool,
               compute: Any, result: Any) -> Stages | None:
    meaning = reducer.meaning
    if a.size >= BIG or meaning.combine != "add" or meaning.map is not X or meaning.finish is not None:
        return None
    return stages.add_reduce(a, axes, out) if a.dtype == compute.np else None


def _clone(out: Array, a: Array, *options: Any) -> Stages | None:
    return stages.copy(out, a) if out.shape == a.shape else None


def _keep(out: Array, input: Array, p: float, channels: bool, share: float) -> Stages | None:
    value = out.dtype.type(1) / out.dtype.type(share)
    return mersenne.bernoulli(default_engine(), 1 - p, value, out) if input.flags.c_contiguous else None


_ROWS: dict[str, Callable[..., Stages | None]] = {"clone": _clone, "_keep": _keep}
