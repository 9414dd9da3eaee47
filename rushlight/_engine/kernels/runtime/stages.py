"""Stages: work on arrays that stay where they are, decided beforehand; a list of them is one native call.

A stage is a loop of NumPy's inner loop ABI and a table of its jobs. Each function here gives the stages that
do what NumPy or a kernel would do, with the same bits, or None where no loop is known for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property, lru_cache
from itertools import accumulate, groupby
from math import prod
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from rushlight._engine.core.layout import pointer, word
from rushlight._engine.kernels.loops.column_loops import in_chunks
from rushlight._engine.kernels.loops.columns import Columns
from rushlight._engine.kernels.loops.pointwise import SHARED, conversion, pointwise
from rushlight._engine.kernels.loops.rows import rows
from rushlight._engine.kernels.products import blas
from rushlight._engine.kernels.runtime import native, parallel, team
from rushlight._engine.kernels.runtime.abi import HEADER
from rushlight._engine.numerics.ufunc import LOOPS
from rushlight._engine.ops.expressions import Expr, symbol

if TYPE_CHECKING:  # the writers of code load when there is something to compile
    from rushlight._engine.kernels.emit.llvm_ir import Module

Array = np.ndarray[Any, Any]
# From how many elements on work is shared out: between the stages of a program threads are awake.
PARALLEL = 1 << 15
_MOST_JOBS = 4096
# Lines of fewer elements are better taken together.
LINE = 1024
# What elements are copied as: there is a number in every bit pattern.
WORDS = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}


class Stage:
    """`loop`, an address or a name in the runtime, on `jobs`: rows of `before` pointers, then dims.

    kept: the memory that it is about. threads: how many may work. within: gives a context to run in.
    """

    def __init__(
        self,
        loop: int | str,
        jobs: Any,
        before: int,
        steps: Any,
        threads: int,
        kept: Any,
        within: Any = None,
    ) -> None:
        self.loop = native.runtime_address(loop) if isinstance(loop, str) else loop
        self.jobs, self.steps = np.asarray(jobs, np.int64), np.asarray(steps, np.int64)
        self.before, self.kept, self.threads, self.within = before, kept, min(threads, len(jobs)), within


Stages = list[Stage]


class Run:
    """Pieces of work in one native call: each is its stages, and a function for when one of them refuses."""

    def __init__(self, pieces: Sequence[tuple[Stages, Callable[[], Any]]]) -> None:
        self.pieces = list(pieces)
        self.stages = [stage for stages, _ in pieces for stage in stages]
        self.count = len(self.stages)
        self.threads = max([s.threads for s in self.stages])
        # In one order everywhere: some are locks.
        self.within = sorted({s.within for s in self.stages if s.within is not None}, key=id)

    # What follows is made when it first runs: most become parts of longer ones, and never do.
    @cached_property
    def instead(self) -> list[tuple[Callable[[], Any], int]]:
        """For each stage, what runs its piece in another way, and the stage that follows."""
        ends = accumulate([len(stages) for stages, _ in self.pieces])
        pairs = zip(self.pieces, ends, strict=True)
        return [(python, end) for (stages, python), end in pairs for _ in stages]

    @cached_property
    def table(self) -> Array:
        """The stages, as machine code reads them."""
        return np.array(
            [
                [
                    s.loop,
                    pointer(s.jobs),
                    len(s.jobs),
                    s.jobs.strides[0],
                    8 * s.before,
                    pointer(s.steps),
                    s.threads - 1,
                    0,
                ]
                for s in self.stages
            ],
            np.int64,
        )

    @cached_property
    def address(self) -> int:
        """Where that is."""
        return pointer(self.table)

    def begin(self) -> int:
        """All that needs no Python: how many stages have been done, of `count`."""
        if self.within:
            return 0
        return self._from(0)

    def _from(self, first: int) -> int:
        threads = self.threads if self.threads < 2 else min(self.threads, parallel.get_num_threads())
        if threads < 2:
            return team.alone()(self.table, first, self.count)
        return team.run_stages(self.address, first, self.count, threads)

    def resume(self, done: int) -> None:
        """The rest, where `begin` came to a stage that refuses."""
        if not self.within:
            python, done = self.instead[done]
            python()
        self(done)

    def __call__(self, done: int = 0) -> None:
        """All of it, from a stage on."""
        while done < self.count:
            if self.within:
                with ExitStack() as stack:
                    for context in self.within:
                        stack.enter_context(context())
                    done = self._from(done)
            else:
                done = self._from(done)
            if done < self.count:
                python, done = self.instead[done]
                python()


def kernel(function: Any, operands: Sequence[Array], cores: Sequence[bool]) -> Stages | None:
    """A generated kernel's ufunc on arrays; `cores` says which have the row's axis as their last."""
    loop, layouts = LOOPS.get(function), tuple([(a.shape, a.strides) for a in operands])
    if loop is None or not all([a.size for a in operands]):
        return None
    threads = parallel.get_num_threads() if max([a.size for a in operands]) >= PARALLEL else 1
    plan = _lines(layouts, tuple(cores), threads)
    return plan and [Stage(loop, team.placed(plan[0], operands), len(operands), plan[1], threads, operands)]


@lru_cache(maxsize=1024)
def _lines(layouts: Any, cores: tuple[bool, ...], threads: int) -> tuple[Array, Array] | None:
    """The jobs of an elementwise or row kernel, relative to its operands' starts."""
    shapes = {own[:-1] if core else own for (own, _), core in zip(layouts, cores, strict=True)}
    shape = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
    return team.lines(layouts, cores, shape, threads) or team.lines(layouts, cores, shape, 1)


def matmul(a: Array, b: Array, out: Array) -> Stages | None:
    """np.matmul(a, b, out) of small operands."""
    # There are other ways for vectors, and NumPy has one for a matrix times its own transpose.
    if not out.flags.c_contiguous or min(*a.shape[-2:], b.shape[-1]) < 2 or pointer(a) == pointer(b):
        return None
    found = blas.planned(a, b, out)
    if found is None or len(found[1]) > _MOST_JOBS:
        return None
    loop, jobs, steps = found
    return [Stage(loop, jobs, 3, steps, 1, (a, b, out))]


def formula(expr: Expr, names: Sequence[str], arrays: Sequence[Array]) -> Stages | None:
    """A scalar expression of operands with these names; the last array is the result's."""
    made = _kernel_of(expr, tuple(names), tuple([a.dtype for a in arrays]))
    return kernel(made.fn, arrays, [False] * len(arrays)) if made.compile_now() else None


@lru_cache(maxsize=1024)
def _kernel_of(expr: Expr, names: tuple[str, ...], dtypes: tuple[Any, ...]) -> Any:
    *inputs, out = [of.name for of in dtypes]
    return pointwise((expr,), tuple(zip(names, inputs, strict=True)), (out,))


class StageRecorder:
    """What loops of recurrence_kernels.py ask for, as stages for some threads; `known`: if all could be."""

    def __init__(self, threads: int) -> None:
        self.stages: Stages = []
        self.threads, self.known = threads, True
        # Memory for steps in between, beside that of the operands.
        self.scratch: list[Array] = []

    def _more(self, found: Stages | None) -> None:
        self.known = self.known and found is not None
        self.stages += found or []

    def run(self, function: Any, *operands: Any) -> None:
        """A fused kernel, or a packed product."""
        # few recorded loops have products
        from rushlight._engine.kernels.products.tiles import Packed, PackedPairs

        if isinstance(function, PackedPairs):
            x, out = operands
            rounded = np.empty(x.shape, function.of)
            self.scratch.append(rounded)
            made = conversion(x.dtype.name, "bfloat16")
            self._more(kernel(made.fn, (x, rounded), (False, False)) if made.compile_now() else None)
            function, operands = function.pairs, (rounded, out)
        if isinstance(function, Packed):
            x, out = operands
            product, three = function.at(len(x)), (x, function.panels, out)
            self._more(
                [
                    Stage(
                        product.tile_code,
                        team.placed(product.tiles, three),
                        6,
                        product.steps,
                        self.threads,
                        (*three, product),
                    )
                ]
            )
            return
        arrays, kernel_of = (*operands[0], *operands[1]), getattr(function, "kernel", None)
        threads = self.threads if operands[1][0].size >= SHARED else 1
        # Each thread goes on with the columns whose products it has made.
        part, odd = divmod(operands[1][0].shape[-1], threads)
        cuts = [slice(None)] if odd else [slice(low, low + part) for low in range(0, part * threads, part)]
        found = (
            None
            if kernel_of is None
            else joined(
                [kernel(kernel_of.fn, [a[..., cut] for a in arrays], [False] * len(arrays)) for cut in cuts]
            )
        )
        if found:
            jobs = np.concatenate([stage.jobs for stage in found])
            found = [Stage(found[0].loop, jobs, found[0].before, found[0].steps, threads, arrays)]
        self._more(found)

    def copy(self, to: Array, source: Array) -> None:
        """to[...] = source."""
        self._more(copy(to, source))

    def add(self, to: Array, source: Array) -> None:
        """to += source."""
        self._more(formula(symbol("x") + symbol("y"), "xy", (to, source, to)))


def chains(parts: Sequence[Stages]) -> Stages:
    """Stages that a thread runs one after the other, beside those of other threads."""
    runs = [Run([(stages, list)]) for stages in parts]
    loop = native.address("chain", "", _chain)
    return [Stage(loop, [[run.address, run.count] for run in runs], 1, [], len(runs), runs)]


def _chain(module: Module, name: str) -> None:
    """The IR. args: a table of stages. dims: how many."""
    # Here, as the next, since small programs reduce by stages alone.
    from rushlight._engine.kernels.emit.llvm_ir import Function

    f = Function(module, HEADER.format(name))
    module.declare("rl_program_run", "declare i64 @rl_program_run(ptr, ptr, i64, i64, i64)")
    count = f.load("i64", "%dims")
    table = f.load("ptr", "%args")
    done = f.op(f"call i64 @rl_program_run(ptr null, ptr {table}, i64 0, i64 {count}, i64 0)")
    refused = f.i64("icmp ne", done, count)
    f.emit(f"ret i32 {f.op(f'zext i1 {refused} to i32')}")
    f.finish()


def copy(to: Array, source: Array) -> Stages | None:
    """to[...] = source, of one dtype."""
    if source.dtype != to.dtype or to.itemsize not in WORDS:
        return None
    x, of = symbol("x"), WORDS[to.itemsize]
    source, to = source.view(of), to.view(of)
    found = formula(x, ("x",), (source, to))
    if (found is None or len(found[0].jobs) > to.size // LINE) and to.ndim > 1 and to.shape == source.shape:
        made = rows((x,), (("x", of, "vector"),), (of,))
        found = (made.compile_now() and kernel(made.fn, (source, to), (True, True))) or found
    if found is None and to.shape == source.shape and not _moved_by_loops(to, source):
        # Many short rows, as of small images that are padded: along the longest dims there are fewer.
        order = sorted(range(to.ndim), key=to.shape.__getitem__)
        found = formula(x, ("x",), (source.transpose(order), to.transpose(order)))
    return found


def _moved_by_loops(to: Array, source: Array) -> bool:
    from rushlight._engine.kernels.moves import copies  # small programs have no use for its writer of code

    return copies.has_loop(to, source)


def joined(parts: Sequence[Stages | None]) -> Stages | None:
    """All of them, one after another."""
    found: list[Stage] = []
    for part in parts:
        if part is None:
            return None
        found += part
    return found


def add_reduce(a: Array, axes: Sequence[int], out: Array) -> Stages | None:
    """np.add.reduce of an array as `reduced` takes it, into `out`."""
    found = reduced(np.add, a, axes, out)
    zero = copy(out, np.zeros((), a.dtype)) if found else None
    return [*zero, found] if found and zero else None


def reduced(function: np.ufunc, a: Array, axes: Sequence[int], out: Array, skip: int = 0) -> Stage | None:
    """`out`, combined with function.reduce of a C-ordered array along all, the first or the last axes or
    both, of one dtype; without the `skip` first elements of each.
    """
    loops = [
        (of, prod([n for _, n in axis]))
        for of, axis in groupby([(i in axes, n) for i, n in enumerate(a.shape) if n > 1], itemgetter(0))
    ]
    whole = a.flags.c_contiguous and out.flags.c_contiguous and a.dtype == out.dtype
    over, (to, start, item) = [o for o, _ in loops], (pointer(out), pointer(a), a.itemsize)
    types = f"{2 * a.dtype.char}->{a.dtype.char}"
    if not (whole and a.size and types in function.types) or over not in (
        [True],
        [True, False],
        [False, True],
        [True, False, True][skip * 3 :],
    ):
        return None
    if over == [True, False]:
        jobs = [[to, start + i * item * out.size, to, out.size] for i in range(skip, loops[0][1])]
        steps = [item] * 3
    else:
        outer, kept, inner = [1, 1, *[n for _, n in loops]][-3:]
        jobs = [
            [to + k * item, start + ((i * kept + k) * inner + skip) * item, to + k * item, inner - skip]
            for i in range(outer)
            for k in range(kept)
        ]
        steps = [0, item, 0]
    if len(jobs) > _MOST_JOBS:
        return None
    # NumPy's own loop and its data; before them come four numbers in NumPy's object.
    fields, number = id(function) + object.__basicsize__ + 16, function.types.index(types)
    own = [word(word(fields + k).value + 8 * number).value for k in (0, 8)]
    return Stage("rl_numpy", jobs, 3, [*own, *steps], 1, (a, out))


def columns(made: Columns, a: Array, out: Array) -> Stages | None:
    """The sums of a matrix's columns."""
    (m, n), loop, threads = a.shape, LOOPS.get(made.fn), parallel.get_num_threads()  # type: ignore[call-overload]
    # The kernel adds up chunks of many short rows apart.
    if loop is None or in_chunks(m, n):
        return None
    cuts = [n * i // threads for i in range(threads + 1)]
    jobs = [
        [pointer(a) + low * a.itemsize, pointer(out) + low * out.itemsize, 1, m, high - low]
        for low, high in zip(cuts, cuts[1:], strict=False)
        if high > low
    ]
    return [Stage(loop, jobs, 2, [0, 0, *a.strides, out.itemsize], threads, (a, out))]
