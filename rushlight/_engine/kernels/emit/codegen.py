"""From a kernel's meaning to its LLVM IR: one writer per form of kernels.

Each raises Unsupported for an atom or dtype that no emitter knows.
"""

from __future__ import annotations

from collections.abc import Sequence

from rushlight._engine.kernels.emit.llvm_ir import Function, Module
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.kernels.emit.scalar_code import check, item_size, lanes_for, pointwise_body, record
from rushlight._engine.kernels.loops import row_body
from rushlight._engine.kernels.loops.column_loops import SEVERAL
from rushlight._engine.kernels.loops.row_plan import RowLevels, wide
from rushlight._engine.ops.expressions import const, m, substitute, symbol


def _inner_loop(module: Module, name: str, shared: str) -> None:
    """NumPy's inner loop `name`, which hands the descriptor to one of the shared loops."""
    module.functions.append(
        f"declare void @{shared}(ptr, ptr, ptr, ptr)\n"
        f"define i32 @{name}(ptr %c, ptr %args, ptr %dims, ptr %steps, ptr %d) {{\n"
        f"  call void @{shared}(ptr @{name}_desc, ptr %args, ptr %dims, ptr %steps)\n"
        "  ret i32 0\n}"
    )


def _strip(
    module: Module,
    name: str,
    meaning: Meaning,
    scalars: Sequence[str] = (),
    targets: Sequence[int] = (),
    internal: bool = False,
) -> None:
    """A pointwise body and its descriptor `name`, as shared_loops.py's loops take it.

    `scalars` lie in slots of the state, in order; `targets` follow the sizes, for rl_multi.
    """
    types = meaning.types()
    f = Function(
        module, f"define internal void @{name}_body(ptr %frame, i64 %vectors, i64 %valid)", lanes_for(types)
    )
    pointwise_body(f, meaning, types, {s: i for i, s in enumerate(scalars)})
    read = [item_size(d) for n, d in meaning.inputs if n not in scalars]
    sizes = [*read, *map(item_size, meaning.out_dtypes)]
    module.functions.append(
        record(name, [f"@{name}_body", len(sizes), len(read), f.width, *sizes, *targets], internal)
    )


def pointwise(module: Module, name: str, meaning: Meaning) -> None:
    """Expressions over broadcast arrays, as NumPy's inner loop."""
    check(meaning, meaning.types())
    _strip(module, f"{name}_desc", meaning)
    _inner_loop(module, name, "rl_pointwise")


def descriptor(
    module: Module, name: str, meaning: Meaning, scalars: Sequence[str] = (), targets: Sequence[int] = ()
) -> None:
    """The descriptor of a strip: of rl_add_rows, or of rl_multi, where results go to the inputs `targets`."""
    check(meaning, meaning.types())
    _strip(module, name, meaning, scalars, targets)


# --- rows -----------------------------------------------------------------------------------------


def rows(module: Module, name: str, meaning: Meaning, roles: tuple[str, ...], lanes: int = 0) -> None:
    """Row expressions; `roles` are "vector" or "scalar"."""
    check(meaning, meaning.types())
    plan = RowLevels(meaning, roles, lanes)
    row_body.write(module, plan)
    module.functions.append(record(f"{name}_desc", _row_parts(plan)))
    _inner_loop(module, name, "rl_rows")


def _row_parts(plan: RowLevels) -> list[int | str]:
    """The slots of the descriptor in row_loops.py."""
    dtypes = plan.operand_dtypes()
    scalars = len(plan.scalars) + len(plan.out_scalars)
    return [len(dtypes), len(plan.vectors), scalars, "@rows", *map(item_size, dtypes), *plan.numbers]


# --- columns --------------------------------------------------------------------------------------


def columns(
    module: Module, name: str, meaning: Meaning, roles: tuple[str, ...], sums: tuple[str, ...]
) -> None:
    """Sums over rows, in dtypes `sums`; `roles` are "matrix", "perrow" or "percol"."""
    check(meaning, meaning.types())
    scalars = [n for (n, _), role in zip(meaning.inputs, roles, strict=True) if role == "perrow"]
    _column_strips(module, meaning, sums, scalars)
    module.functions.append(record(f"{name}_desc", _column_parts(meaning, roles, sums, scalars)))
    module.functions.append("declare void @rl_strip(ptr, ptr, ptr, ptr, i64)")
    _inner_loop(module, name, "rl_columns")


def _column_strips(module: Module, meaning: Meaning, sums: tuple[str, ...], scalars: list[str]) -> None:
    """Four strips: main and several add rows to the first stage, merge that to the second, final rounds."""
    seconds = tuple(wide("add", d) for d in sums)
    firsts = [symbol(f"first {i}") for i in range(len(sums))]
    totals = [symbol(f"second {i}") for i in range(len(sums))]
    names = tuple((str(s.arg), d) for s, d in zip(firsts, sums, strict=True))
    wides = tuple((str(s.arg), d) for s, d in zip(totals, seconds, strict=True))
    folded = tuple(t + m.cast(a, arg=d) for t, a, d in zip(totals, firsts, seconds, strict=True))
    zeros = (const(0),) * len(firsts)
    for name, count in (("main", 1), ("several", SEVERAL)):
        summed, inputs, each = firsts, list[tuple[str, str]](), list[str]()
        for r in range(count):
            own = {symbol(n): symbol(f"{n} {r}") for n, _ in meaning.inputs}
            summed = [
                a + m.cast(substitute(o, own), arg=d)
                for a, o, d in zip(summed, meaning.outputs, sums, strict=True)
            ]
            inputs += [(f"{n} {r}", d) for n, d in meaning.inputs]
            each += [f"{n} {r}" for n in scalars]
        main = Meaning(tuple(summed), (*inputs, *names), sums, meaning.work)
        _strip(module, name, main, each, internal=True)
    _strip(module, "merge", Meaning(zeros + folded, names + wides, sums + seconds, sums[0]), internal=True)
    _strip(module, "final", Meaning(tuple(totals), wides, meaning.out_dtypes, seconds[0]), internal=True)


def _column_parts(
    meaning: Meaning, roles: tuple[str, ...], sums: tuple[str, ...], scalars: list[str]
) -> list[int | str]:
    """The slots of the descriptor in column_loops.py."""
    steps, position = [], 0
    for role in (*roles, *["percol"] * len(sums)):
        steps.append(position)
        position += 2 if role == "matrix" else 1
    vectors = [i for i, role in enumerate(roles) if role != "perrow"]
    parts: list[int | str] = [
        "@main",
        "@merge",
        "@final",
        len(vectors),
        len(scalars),
        len(sums),
        "@several",
        2 if roles[0] == "percol" else 1,
    ]
    for i in vectors:
        matrix = roles[i] == "matrix"
        parts += [i, steps[i] if matrix else -1, steps[i] + 1 if matrix else steps[i]]
    for number, name in enumerate(scalars):
        i = [n for n, _ in meaning.inputs].index(name)
        parts += [item_size(meaning.inputs[i][1]), i, steps[i], number]
    for o, d in enumerate(sums):
        parts += [len(roles) + o, item_size(d), steps[len(roles) + o]]
    return parts
