"""What recorded entries are known to compute, as kernels and products: the first pass over a graph."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.conversion import number
from rushlight._engine.dispatch.runners.recorded import recorded
from rushlight._engine.dispatch.runners.reductions import BIG, MACHINE, Reducer
from rushlight._engine.kernels.loops.rows import Rows
from rushlight._engine.kernels.products import gemm
from rushlight._engine.kernels.products.gemv import fits
from rushlight._engine.ops import row_kernels
from rushlight._engine.ops.expressions import Expr, const, m, substitute, symbol, toposort
from rushlight._engine.ops.linalg.matmul import is_large_product, is_low_precision
from rushlight._engine.ops.nn import class_losses
from rushlight._engine.ops.row_expressions import reduce_
from rushlight._engine.trace.passes.kernel_nodes import Product, node
from rushlight._engine.trace.recorder import Array, Entry, root, roots

# Whole numbers up to this one are factors and exponents rather than counts.
_SMALL = 4


def lowered(entry: Entry, owned: Container[int]) -> list[Entry]:
    """The entry as kernels and products, where that is known to be the same; else as it is.

    owned: the memory of tensors; a number that lies elsewhere is a literal of the program.
    """
    function, found = entry.function, None
    row = getattr(function, "row", None)
    parts = _PARTS.get(row.name) if row is not None and entry.kind == "run" else None
    if parts is not None:
        return parts(entry) or [entry]
    if entry.kind == "run" and len(entry.outs) and not any(o.dtype.kind == "c" for o in entry.outs):
        what = recorded(function)
        if what.compiled is not None:
            found = _formula(entry, owned)
        elif what.reducer is not None:
            found = _reduction(entry)
        else:
            found = _row_kernel(entry)
    return [found or entry]


def _linear(entry: Entry) -> list[Entry] | None:
    """A product and the addition of a bias, which may then be fused with what follows."""
    (x, w, bias), out = entry.operands, entry.outs[0]
    if not (x.size and w.size):
        return None  # no rows to count, or none to sum
    if is_low_precision(x) and x.ndim > 1 and w.ndim == 2 and x.flags.c_contiguous:
        return _narrow(x.reshape(-1, x.shape[-1]), w.T, out.reshape(-1, out.shape[-1]), entry, bias)
    if (
        x.ndim < 2
        or w.ndim != 2
        or not (x.flags.c_contiguous and out.flags.c_contiguous)
        or (not x.dtype == w.dtype == out.dtype or x.dtype.name not in MACHINE or x.dtype.itemsize < 4)
    ):
        return None
    operands = x.reshape(-1, x.shape[-1]), w.T
    if bias is None:
        return [_product(operands, out.reshape(-1, out.shape[-1]), entry)]
    total = np.empty_like(out)
    added = _sum(total, bias, out, entry)
    product = _product(operands, total.reshape(-1, total.shape[-1]), entry)
    return None if added is None else [product, added]


def _product(operands: tuple[Array, Array], out: Array, whole: Entry) -> Entry:
    return Entry("run", Product(), operands, (out,), whole.where)


def _whole(entries: Sequence[Entry | None]) -> list[Entry] | None:
    """The entries, if none is missing."""
    found = [entry for entry in entries if entry is not None]
    return found if len(found) == len(entries) else None


def _narrow(a: Array, b: Array, out: Array, whole: Entry, bias: Array | None = None) -> list[Entry] | None:
    """A product of two-byte floats is one of what they are in float32, rounded with the bias."""
    if fits(a, b) or not out.flags.c_contiguous or a.dtype != out.dtype:
        return None
    wide, total, found = [a, b], np.empty(out.shape, np.float32), list[Entry | None]()
    if not is_large_product(a, b) or gemm.planned(a, b) is None:
        wide = [np.empty_like(x, np.float32) for x in (a, b)]
        found = [_converted(x, to, whole) for x, to in zip((a, b), wide, strict=True)]
    found.append(_product((wide[0], wide[1]), total, whole))
    found.append(_converted(total, out, whole) if bias is None else _sum(total, bias, out, whole))
    return _whole(found)


def _converted(x: Array, out: Array, whole: Entry) -> Entry | None:
    """An array in another floating dtype."""
    order = sorted(range(x.ndim), key=lambda i: -out.strides[i])
    x, out = x.transpose(order), out.transpose(order)
    return _each(symbol("x"), out, whole, x=x) if out.flags.c_contiguous else None


def _sum(a: Array, b: Array, out: Array, whole: Entry) -> Entry | None:
    return _each(symbol("a") + symbol("b"), out, whole, a=a, b=b)


def _each(expr: Expr, out: Array, whole: Entry, **arrays: Array) -> Entry | None:
    """An expression of arrays, element by element."""
    operands = [(name, a, "vector") for name, a in arrays.items()]
    return node("pointwise", (expr,), operands, (out,), (_name(out),), whole.where)


def _name(a: Array) -> str:
    return dt.from_numpy_dtype(a.dtype).name


def _to_dtype(entry: Entry) -> list[Entry] | None:
    x, out = entry.operands[0], entry.outs[0]
    whole = x.dtype.kind in "bi"
    known = all(_name(a) in MACHINE or (whole and a.dtype.kind in "bi") for a in (x, out))
    found = _converted(x, out, entry) if known and x.shape == out.shape else None
    return None if found is None else [found]


def _outers(entry: Entry) -> list[Entry] | None:
    (a, b), (out,) = entry.operands, entry.outs
    if not a.size or not b.size or (a.ndim != 2 and not (a.flags.c_contiguous and b.flags.c_contiguous)):
        return None
    return _multiplied(a.reshape(-1, a.shape[-1]).T, b.reshape(-1, b.shape[-1]), out, entry)


def _matmul(entry: Entry) -> list[Entry] | None:
    a, b = entry.operands
    return _multiplied(a, b, entry.outs[0], entry)


def _multiplied(a: Array, b: Array, out: Array, whole: Entry) -> list[Entry] | None:
    thin = min(a.ndim, b.ndim) > 1 and is_low_precision(a)
    return _narrow(a, b, out, whole) if thin else [_product((a, b), out, whole)]


def total(a: Array) -> Any:
    """A sum in NumPy's order."""
    return np.add.reduce(a, None)


def checked(wrong: Array, t: Array, classes: int, ignored: int) -> tuple[()]:
    """IndexError for a class out of range, if there is a `wrong` one."""
    if wrong:
        class_losses.in_range(t, classes, ignored)
    return ()


def _counted(entry: Entry, x: Array, t: Array, ignored: int) -> tuple[Entry | None, Array, Array]:
    """How many targets are not ignored, as a number of x's dtype, and whether any is out of range."""
    at, counts = symbol("t"), m.ne(symbol("t"), symbol("ignored"))
    wrong = m.logical_and(counts, m.logical_or(at < 0, at >= symbol("classes")))
    operands = [
        ("t", t, "vector"),
        *[(n, np.array(v), "scalar") for n, v in (("ignored", ignored), ("classes", x.shape[1]))],
    ]
    outs, d = (np.empty((), x.dtype), np.empty((), np.bool_)), x.dtype.name
    return node(
        "rows",
        (reduce_("add", m.cast(counts, arg=d)), reduce_("any", wrong)),
        operands,
        outs,
        (d, "bool"),
        entry.where,
    ), *outs


def _cross_entropy(entry: Entry) -> list[Entry] | None:
    """A look at the targets, the rows' losses, their sum, and its share."""
    (x, t, ignored, reduction), (out, *moments) = entry.operands, entry.outs
    kernel = class_losses.loss_of_rows.compiled(x, t, t)
    if reduction == "none" or t.dtype != np.int64 or kernel is NotImplemented:
        return None
    look, count, wrong = _counted(entry, x, t, ignored)
    losses, summed = np.empty(t.shape, x.dtype), out if reduction == "sum" else np.empty_like(out)
    operands = [("x", x, "vector"), ("t", t, "scalar"), ("ignore", np.array(ignored), "scalar")]
    each = node("rows", kernel.outputs, operands, (losses, *moments), kernel.out_dtypes, entry.where)
    found = [
        look,
        Entry("run", checked, (wrong, t, x.shape[1], ignored), (), entry.where),
        each,
        Entry("run", total, (losses,), (summed,), entry.where),
    ]
    if summed is not out:
        found.append(_each(symbol("s") / symbol("n"), out, entry, s=summed, n=count))
    return _whole(found)


def _cross_entropy_back(entry: Entry) -> list[Entry] | None:
    (x, t, high, total, g, ignored, reduction), (out,) = entry.operands, entry.outs
    kernel = class_losses.gradient_of_rows.compiled(x, t, high, total, g)
    if t.dtype != np.int64 or kernel is NotImplemented or g.ndim:
        return None
    look, count, _ = _counted(entry, x, t, ignored)
    share = symbol("g") / symbol("n") if reduction == "mean" else symbol("g")
    share = share * m.cast(m.ne(symbol("t"), symbol("ignored")), arg=x.dtype.name)
    given = {"t": t, "high": high, "total": total, "g": g, "ignored": np.array(ignored), "n": count}
    operands = [("x", x, "vector"), *[(name, a, "scalar") for name, a in given.items()]]
    back = node(
        "rows",
        [substitute(e, {symbol("g"): share}) for e in kernel.outputs],
        operands,
        (out,),
        kernel.out_dtypes,
        entry.where,
    )
    return None if look is None or back is None else [look, back]


def cut(out: Array, given: Sequence[Array], dim: int, stacked: bool) -> list[tuple[Array, Array]]:
    """The parts of what cat or stack makes, each with what goes there."""
    at = np.cumsum([1 if stacked else a.size and a.shape[dim] for a in given])[:-1].tolist()
    return [(to, a.reshape(to.shape)) for to, a in zip(np.split(out, at, dim), given, strict=True) if a.size]


def _cat(entry: Entry) -> list[Entry] | None:
    """A kernel for each part: fused with what makes the part, it writes that where it belongs."""
    (out,), (given, dim), stacked = entry.outs, entry.operands, entry.function.row.name == "_stack"
    found: list[Entry] = []
    for to, a in cut(out, given, dim, stacked):
        if _name(to) in MACHINE:
            part = _each(symbol("x"), to, entry, x=a)
            if part is None:
                return None
            found.append(part)
    return found


def _masked_fill(entry: Entry) -> list[Entry] | None:
    (x, mask, value), (out,) = entry.operands, entry.outs
    value = value if isinstance(value, np.ndarray) else np.array(number(value, dt.from_numpy_dtype(x.dtype)))
    if mask.dtype != np.bool_ or value.dtype != x.dtype or _name(x) not in MACHINE:
        return None
    chosen = m.where(symbol("mask"), symbol("value"), symbol("x"))
    found = _each(chosen, out, entry, x=x, mask=mask, value=value)
    return None if found is None else [found]


_PARTS: dict[str, Callable[[Entry], list[Entry] | None]] = {
    "linear": _linear,
    "mm": _matmul,
    "bmm": _matmul,
    "_matmul": _matmul,
    "_sum_of_outers": _outers,
    "_cross_entropy_rows": _cross_entropy,
    "_cross_entropy_backward": _cross_entropy_back,
    "_to_dtype": _to_dtype,
    "_cat": _cat,
    "_stack": _cat,
    "masked_fill": _masked_fill,
}


def _formula(entry: Entry, owned: Container[int]) -> Entry | None:
    made = entry.function.args[0].kernel
    arrays, out = entry.operands[0], entry.outs[0]
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    if shape != out.shape or any(a.dtype.kind == "c" for a in arrays):
        return None
    # A literal exponent would be computed in another way than the same number from memory.
    atoms = toposort(made.outputs)
    literal = not any(e.op == "pow" for e in atoms)
    # Times a literal 0, and plus one, are left out of expressions; of a number, they tell infinity and signs.
    counted = {s for e in atoms if e.op in ("mul", "add", "sub", "fma") for s in e.src}
    operands, known = [], {}
    for (name, d), a in zip(made.inputs, arrays, strict=True):
        fixed = not a.ndim and d == made.work and a.dtype.kind == "f" and id(root(a)) not in owned
        zero = fixed and not float(a) and symbol(name) in counted
        if literal and fixed and not zero and not _is_count(float(a)):
            known[symbol(name)] = const(float(a))
        else:
            operands.append((name, a, "vector"))
    exprs = [substitute(e, known) for e in made.outputs]
    if not operands or any(e.op == "const" for e in exprs):
        return None
    return node("pointwise", exprs, operands, (out,), made.out_dtypes, entry.where)


def _is_count(number: float) -> bool:
    """Whether a number may count elements: at other sizes it is another, and the kernel is to be the same."""
    return number.is_integer() and abs(number) > _SMALL


def _reduction(entry: Entry) -> Entry | None:
    """A reduction that ran on a generated kernel, over everything or along the last axis."""
    reducer: Reducer = entry.function.__self__
    a, axes, _, compute, result = entry.operands
    meaning, out = reducer.meaning, entry.outs[0]
    if (
        a.size < BIG
        or not a.flags.c_contiguous
        or reducer.finish is not None
        or result is not compute
        or (dt.opmath(compute) is not compute or compute.name not in MACHINE or a.dtype != compute.np)
    ):
        return None
    operands = [("input", a, "vector")]
    if len(axes) == a.ndim:
        return node(
            "full", (meaning.map,), operands, (out,), (compute.name,), entry.where, combine=meaning.combine
        )
    if axes != (a.ndim - 1,):
        return None
    return node(
        "rows",
        (reduce_(meaning.combine, meaning.map),),
        operands,
        (out.reshape(a.shape[:-1]),),
        (compute.name,),
        entry.where,
    )


def _row_kernel(entry: Entry) -> Entry | None:
    """A composite that is one row kernel between views of its operands and views of its results."""
    row = getattr(entry.function, "row", None)
    if row is None or row.kind != "composite" or row.fused is None or entry.draws:
        return None
    with row_kernels.watched() as calls:
        made = entry.function(*entry.operands)
    if len(calls) != 1:
        return None
    kernel, arrays, results = calls[0]
    made = made if isinstance(made, tuple) else (made,)
    if not isinstance(kernel, Rows) or len(results) != len(made) or len(made) != len(entry.outs):
        return None
    given = roots(entry.operands)
    outs = []
    for result, shown, out in zip(results, made, entry.outs, strict=True):
        if (
            root(result) is not root(shown)
            or not (result.flags.c_contiguous and out.flags.c_contiguous)
            or (result.size != out.size or result.dtype != out.dtype)
        ):
            return None
        outs.append(out.reshape(result.shape))
    # What the glue made may stand only where it is the same at every replay: one number, repeated.
    if any(
        id(root(a)) not in given and np.prod([n for n, s in zip(a.shape, a.strides, strict=True) if s]) > 1
        for a in arrays
    ):
        return None
    names = [name for name, _ in kernel.inputs]
    operands = list(zip(names, arrays, kernel.roles, strict=True))
    return node("rows", kernel.outputs, operands, outs, kernel.out_dtypes, entry.where)
