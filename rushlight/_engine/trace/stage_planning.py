"""How entries are replayed: natively where they are known as stages, many in one call, else by Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from math import prod
from types import MethodType
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.layout import pointer
from rushlight._engine.core.settings import settings
from rushlight._engine.dispatch.methods import assign
from rushlight._engine.dispatch.runners.array_bodies import silent
from rushlight._engine.dispatch.runners.formulas import CompiledFormula, Formula
from rushlight._engine.dispatch.runners.recorded import HasResolve, recorded
from rushlight._engine.dispatch.runners.reductions import BIG, Reducer, X
from rushlight._engine.kernels.emit.target import available
from rushlight._engine.kernels.loops.columns import columns
from rushlight._engine.kernels.loops.full_reductions import CHUNK, full
from rushlight._engine.kernels.loops.rows import rows
from rushlight._engine.kernels.moves import mersenne_twister
from rushlight._engine.kernels.products.tiles import Packed
from rushlight._engine.kernels.runtime import handwritten_stages as handwritten, parallel, stages
from rushlight._engine.kernels.runtime.handwritten_stages import Scratch
from rushlight._engine.kernels.runtime.stages import LINE, Run, StageRecorder, Stages, chains, joined
from rushlight._engine.numerics.rng import default_engine
from rushlight._engine.ops.creation.filled import Fill
from rushlight._engine.ops.expressions import Expr, symbol, toposort
from rushlight._engine.ops.linalg.matmul import unrounded_product_function
from rushlight._engine.ops.nn import recurrence_kernels
from rushlight._engine.ops.resolved import arrays_in
from rushlight._engine.ops.row_expressions import reduce_
from rushlight._engine.trace.passes.kernel_nodes import Kernel, Product
from rushlight._engine.trace.passes.lowering import checked, cut, total
from rushlight._engine.trace.passes.moves import MOVED, looked_up, moved
from rushlight._engine.trace.recorder import Array, Entry, gathered
from rushlight._engine.trace.updates import Update

Step = Callable[[], Any]
# What NumPy and machine code compute with the same bits.
_EXACT = frozenset("in const add sub mul div sqrt neg abs".split())


def prepared(entry: Entry) -> Step:
    """What to call at every replay, in Python: an optimizer's step by a shorter way, runs into memory."""
    function, operands = entry.function, entry.operands
    if isinstance(function, Product):
        return _product(entry.outs, *operands)
    if entry.kind == "run":
        loop = _LOOPS.get(getattr(getattr(function, "row", None), "name", ""))
        made = loop and loop(entry.outs, *operands)
        return made or partial(_into, *_found(function, operands), entry.outs)
    stepped = hasattr(getattr(function, "func", None), "hooked")
    again = getattr(function.args[0], "again", None) if stepped else None
    return partial(function, *operands) if again is None else again(function)


def _found(function: Any, operands: tuple[Any, ...]) -> tuple[Any, Any]:
    """A function and its operands; of a body that answers with a function of arrays, that one: the arrays lie
    the same at every replay, and to work out what is done with them may take longer than to do it.
    """
    of = recorded(function)
    if of.row is None or not isinstance(of.body, HasResolve):
        return function, operands
    resolved = of.body.resolve(*operands)
    if resolved is NotImplemented:
        return function, operands
    return silent(of.row, resolved), arrays_in(operands)


class Late:
    """What `prepared` gives of an entry, prepared when it first runs."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.step: Step | None = None

    def __call__(self) -> None:
        """The entry in Python."""
        if self.step is None:
            self.step = prepared(self.entry)
        self.step()


def _product(outs: tuple[Array, ...], a: Array, b: Array) -> Step:
    """A product that is no stage, as of one row: where it is NumPy's, straight into its place."""
    multiply, out = unrounded_product_function(a, b), outs[0]
    own = multiply is np.matmul or (multiply is np.ndarray.dot and a.ndim == 2)
    if own and min(a.ndim, b.ndim) > 1 and a.dtype == b.dtype == out.dtype and out.flags.c_contiguous:
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        if out.shape == (*lead, a.shape[-2], b.shape[-1]):
            return partial(multiply, a, b, out)
    return partial(_into, multiply, (a, b), outs)


def _recurrent(made: Any, outs: Sequence[Array]) -> Step | None:
    """A recurrence whose loop of steps is one native call; None where something in it is not known so."""
    if made.projection is not None or not isinstance(made.packed, Packed):
        return None
    # Each thread has its own sequences, and waits for nobody; or where these are few, its own columns.
    batch, threads, tile = len(made.first[0]), parallel.get_num_threads(), made.packed.at(1).high
    part = batch // threads // tile * tile
    cuts = [*range(0, part * threads, part), batch] if part and threads > 1 else [0, batch]
    parts = [StageRecorder(threads if len(cuts) == 2 else 1) for _ in cuts[1:]]
    for written, low, high in zip(parts, cuts, cuts[1:], strict=False):
        made.loop(written, low, high)
    if not all(written.known and written.stages for written in parts):
        return None
    loop = Run([(parts[0].stages if len(parts) == 1 else chains([p.stages for p in parts]), made.loop)])

    def step() -> None:
        made.start()
        made.packed.again()
        loop()
        for out, a in zip(outs, (a for a in made.finish() if a is not None), strict=True):
            if out is not a:
                out[...] = a

    return step


def _forward(outs: tuple[Array, ...], gates: Array, h0: Array, c0: Any, *rest: Any) -> Step | None:
    *weights, mode, sizes, reverse = rest
    if gates.dtype.itemsize < 4:  # computed in another dtype
        return None
    steps = recurrence_kernels.spans(sizes, reverse)
    return _recurrent(recurrence_kernels.Forward(mode, gates, h0, c0, tuple(weights), steps, outs), outs)


def _backward(
    outs: tuple[Array, ...],
    to_out: Any,
    to_h: Any,
    to_c: Any,
    out: Array,
    kept: Any,
    gates: Array,
    h0: Array,
    c0: Any,
    *rest: Any,
) -> Step | None:
    *weights, mode, sizes, reverse = rest
    if gates.dtype.itemsize < 4:
        return None
    steps = recurrence_kernels.spans(sizes, reverse)
    made = recurrence_kernels.Backward(
        mode, (to_out, to_h, to_c), out, kept, h0, c0, tuple(weights), steps, outs[0]
    )
    return _recurrent(made, outs)


_LOOPS: dict[str, Callable[..., Step | None]] = {"_recurrence": _forward, "_recurrence_backward": _backward}


def _into(function: Callable[..., Any], operands: tuple[Any, ...], outs: tuple[Array, ...]) -> None:
    made = function(*operands)
    made = made if isinstance(made, tuple) else (made,)
    arrays = [a for a in made if isinstance(a, (np.ndarray, np.generic))]
    for out, a in zip(outs, arrays, strict=len(outs) > 1):
        if out.size:  # else there is nothing to write, and NumPy may only let it be read
            out[...] = a


def steps(entries: Sequence[Entry], scratch: Scratch | None = None) -> list[Step]:
    """What runs each entry by itself; scratch: memory that all of them may use."""
    scratch = scratch or Scratch()
    return [
        prepared(e) if found is None else Run([(found, Late(e))])
        for e, found in [(e, staged(e, scratch)) for e in entries]
    ]


def together(each: Sequence[Step]) -> list[Step]:
    """The same with native ones that follow each other as one call."""
    found: list[Step] = []
    for native, group in groupby(each, lambda step: isinstance(step, Run)):
        runs: list[Any] = [*group]
        found += [Run([piece for run in runs for piece in run.pieces])] if native else runs
    return found


def does(entries: Sequence[Entry], each: Sequence[Step]) -> tuple[Any, ...]:
    """What steps run, but for the memory that they work on."""
    return tuple(
        [
            tuple([stage.loop for stage in step.stages]) if isinstance(step, Run) else e.name
            for e, step in zip(entries, each, strict=True)
        ]
    )


def staged(entry: Entry, scratch: Scratch) -> Stages | None:
    """The stages that do what the entry says; None where it needs Python."""
    function, operands, outs = entry.function, entry.operands, entry.outs
    if entry.kind == "call" or settings.kernels == "numpy" or not available():
        return None
    if entry.kind == "write":
        return _written(function, operands)
    if isinstance(function, Kernel):
        return _kernel(function, operands[0], outs)
    if isinstance(function, Product):
        return handwritten.product(scratch.again(), outs[0], *operands)
    if function is checked:
        return [stages.Stage("rl_refuse", [[pointer(operands[0])]], 1, [], 1, operands[0])]
    if function is total:
        return stages.add_reduce(operands[0], range(operands[0].ndim), outs[0])
    filled = getattr(function, "__self__", None)
    if filled.__class__ is Fill:
        return None if filled.value is None else stages.copy(outs[0], np.array(filled.value, outs[0].dtype))
    name = getattr(getattr(function, "row", None), "name", "")
    if name in _WIDENED:
        return _WIDENED[name](scratch.again(), outs, *operands)
    if name in MOVED or name in _ROWS:
        return moved(entry) if name in MOVED else _ROWS[name](*outs, *operands)
    what = recorded(function)
    if what.compiled is not None and len(outs) == 1:
        return _formula(what.compiled.kernel, operands[0], outs[0])
    return None if what.reducer is None else _reduction(what.reducer, outs[0], *operands)


def _written(function: Any, operands: Sequence[Any]) -> Stages | None:
    """An entry that writes to its operands."""
    if isinstance(function, MethodType) and function.__func__ is Formula.write_arrays:
        return _in_place(*operands)
    if isinstance(function, MethodType) and function.__func__ is Update.apply:
        update: Any = function.__self__
        found: Stages | None = update.staged(*operands)
        return found
    if function is gathered:
        return (
            stages.copy(*operands)
            if len(operands) == 2
            else stages.formula(symbol("x") + symbol("y"), "xy", (operands[2], operands[1], operands[0]))
        )
    plain = function is assign and isinstance(operands[1], np.ndarray)
    return stages.copy(*operands) if plain and not np.may_share_memory(*operands) else None


def _formula(kernel: Any, arrays: Sequence[Array], out: Array) -> Stages | None:
    if not kernel.ready:
        return None
    arrays, outs = _as_they_lie(arrays, (out,))
    return stages.kernel(kernel.fn, (*arrays, *outs), [False] * (len(arrays) + 1))


def _kernel(kernel: Kernel, arrays: Sequence[Array], outs: Sequence[Array]) -> Stages | None:
    if kernel.form == "full":
        return handwritten.everything(kernel.made, arrays, outs[0])
    if kernel.form == "rows":
        roles = [role == "vector" for _, _, role in kernel.inputs]
        return stages.kernel(kernel.made.fn, (*arrays, *outs), [*roles, *kernel.made.vector_outputs])
    arrays, outs = _as_they_lie(arrays, outs)
    found = stages.kernel(kernel.made.fn, (*arrays, *outs), [False] * (len(arrays) + len(outs)))
    many = found is None or 1 < len(found[0].jobs) > outs[0].size // LINE
    return (outs[0].ndim and many and _by_rows(kernel, arrays, outs)) or found


def _as_they_lie(arrays: Sequence[Array], outs: Sequence[Array]) -> tuple[list[Array], list[Array]]:
    """Operands and results of a pointwise kernel, their dims in the order of the first result's memory."""
    ndim, strides = outs[0].ndim, outs[0].strides
    order = sorted(range(ndim), key=strides.__getitem__, reverse=True)
    if order == [*range(ndim)]:
        return [*arrays], [*outs]
    full = [a.reshape((1,) * (ndim - a.ndim) + a.shape) for a in arrays]
    return [a.transpose(order) for a in full], [o.transpose(order) for o in outs]


def _by_rows(kernel: Kernel, arrays: Sequence[Array], outs: Sequence[Array]) -> Stages | None:
    """A pointwise kernel with a bias, say, which would be a job for each row: as one of rows."""
    shape = outs[0].shape
    # Rows are of as many of the last dims as each operand has all of, one after another, or none of.
    last = max((k for k in range(1, len(shape) + 1) if _in_rows((*arrays, *outs), shape, k)), default=0)
    vectors = [_is_row(a, shape, last) for a in arrays]
    if not last or not any(vectors):
        return None
    outs = [_merged(o, last) for o in outs]
    operands = [
        _merged(a, last) if vector else _first_of_rows(a, last)
        for a, vector in zip(arrays, vectors, strict=True)
    ]
    inputs = tuple(
        [
            (name, d, "vector" if v else "scalar")
            for (name, d, _), v in zip(kernel.inputs, vectors, strict=True)
        ]
    )
    made = rows(kernel.exprs, inputs, kernel.out_dtypes)
    if not all(made.vector_outputs) or not made.compile_now():
        return None
    return stages.kernel(made.fn, [*operands, *outs], [*vectors, *made.vector_outputs])


def _in_rows(arrays: Sequence[Array], shape: tuple[int, ...], last: int) -> bool:
    """Whether each array, seen in `shape`, has all of the last dims one after another, or repeats in them."""
    return all(_is_row(a, shape, last) or prod(a.shape[-last:]) == 1 for a in arrays)


def _is_row(a: Array, shape: tuple[int, ...], last: int) -> bool:
    if a.shape[-last:] != shape[-last:]:
        return False
    steps, sizes = a.strides[-last:], a.shape[-last:]
    return all(steps[i] == steps[i + 1] * sizes[i + 1] for i in range(last - 1))


def _merged(a: Array, last: int) -> Array:
    """The last dims, which lie one after another, as one."""
    strides = (*a.strides[: a.ndim - last], a.strides[-1])
    return np.lib.stride_tricks.as_strided(a, (*a.shape[: a.ndim - last], prod(a.shape[-last:])), strides)


def _first_of_rows(a: Array, last: int) -> Array:
    """The first place of the last dims, along which the operand repeats."""
    index: Any = (..., *[0] * min(last, a.ndim))
    found: Array = a[index]
    return found


def _in_place(compiled: CompiledFormula, of: Any, arrays: Sequence[Array], out: Array) -> Stages | None:
    # An operand may be what is written to, but not another view of it.
    apart = all(_same(a, out) or not np.may_share_memory(a, out) for a in arrays)
    return _formula(compiled.kernel, arrays, out) if compiled.result_kind is of and apart else None


def _same(a: Array, b: Array) -> bool:
    """Whether they are one array, or two alike."""
    return a is b or (
        pointer(a) == pointer(b) and a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype
    )


def _reduction(
    reducer: Reducer, out: Array, a: Array, axes: tuple[int, ...], keepdim: bool, compute: Any, result: Any
) -> Stages | None:
    finish, map_, work = reducer.finish, reducer.meaning.map, dt.opmath(compute)
    # Sums of two-byte floats are rounded at the end.
    small = a.size < BIG and work is not compute
    if (
        small
        or reducer.meaning.combine != "add"
        or not a.dtype == compute.np == result.np
        or not (work.np.char in "fd" and a.flags.c_contiguous)
        or any(e.op not in _EXACT for e in toposort((map_, map_ if finish is None else finish)))
    ):
        return None
    if finish is None and work is compute:
        return _sum(a, map_, axes, out)
    total, count = np.empty(out.shape, work.np), np.array(a.size // max(out.size, 1), work.np)
    return joined(
        [
            _sum(a, map_, axes, total),
            stages.formula(
                symbol("combined") if finish is None else finish, ("combined", "count"), (total, count, out)
            ),
        ]
    )


def _sum(a: Array, map_: Expr, axes: tuple[int, ...], out: Array) -> Stages | None:
    """The sum of an expression over axes, as eager calls add it up."""
    k, over, of, to = len(axes), sorted(axes), a.dtype.name, out.dtype.name
    first, last = over == [*range(k)], over == [*range(a.ndim - k, a.ndim)]
    machine = a.size >= BIG
    if machine and not first and not last:
        return None  # eager goes by several kernels
    if a.dtype == out.dtype and not machine:
        source = a if map_ is X else np.empty_like(a)
        mapped = [] if map_ is X else stages.formula(map_, ("input",), (a, source))
        return joined([mapped, stages.add_reduce(source, axes, out)])
    if last and (k < a.ndim or a.size <= CHUNK):
        each = rows((reduce_("add", map_),), (("input", of, "vector"),), (to,))
        lead = a.shape[: a.ndim - k]
        return (
            stages.kernel(each.fn, (a.reshape(*lead, -1), out.reshape(lead)), (True, False))
            if each.compile_now()
            else None
        )
    if last:
        return handwritten.everything(full("add", map_, (("input", of),), to), (a,), out)
    made = columns((map_,), (("input", of, "matrix"),), (to,)) if first else None
    if made is None or not made.compile_now():
        return None
    return stages.columns(made, a.reshape(prod(a.shape[:k]), -1), out)


def _cat(stacked: bool, out: Array, arrays: Sequence[Array], dim: int) -> Stages | None:
    return joined([stages.copy(*pair) for pair in cut(out, arrays, dim, stacked)]) or None


def _keep(out: Array, input: Array, p: float, channels: bool, share: float) -> Stages | None:
    one = dt.opmath(dt.from_numpy_dtype(out.dtype)).np.type(1)
    value = (one / one.dtype.type(share)).astype(out.dtype)
    return (
        mersenne_twister.bernoulli(default_engine(), 1 - p, value, out) if input.flags.c_contiguous else None
    )


# Functions of an entry's results and operands, and those that need scratch for what is padded.
_ROWS: dict[str, Callable[..., Stages | None]] = {
    "_cat": partial(_cat, False),
    "_stack": partial(_cat, True),
    "_keep": _keep,
    "clone": lambda out, a, *_: stages.copy(out, a) if out.shape == a.shape else None,
    "_spread": handwritten.spread,
    "_max_pool": handwritten.max_pool,
    "_greatest": lambda found, *how: handwritten.max_pool(found, np.empty(found.shape, np.int64), *how),
    "gather": partial(looked_up, False),
    "index_select": lambda out, table, dim, rows: (
        None
        if not table.ndim
        else handwritten.look_up(out, table, rows)
        if dim == 0
        else looked_up(True, out, table, dim, rows)
    ),
    "embedding": handwritten.look_up,
    "embedding_dense_backward": handwritten.look_up_backward,
    "_attention": handwritten.attention,
    "_attention_backward": handwritten.attention_backward,
}
_WIDENED: dict[str, Callable[..., Stages | None]] = {
    "_convolution": lambda scratch, outs, x, w, *how: handwritten.convolution(
        scratch, outs[0], "forward", x, w, *how, outs[0].shape[2:]
    ),
    "_convolution_input": lambda scratch, outs, *how: handwritten.convolution(
        scratch, outs[0], "to_input", *how
    ),
    "_convolution_weight": lambda scratch, outs, g, x, *how: handwritten.convolution(
        scratch, outs[0], "to_weight", x, g, *how
    ),
}
