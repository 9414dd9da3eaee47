"""Kernel nodes of the graph: entries whose meaning is known as expressions, and how others become such.

A Kernel has one of three forms: "pointwise" over broadcast arrays, "rows" along the last axis (roles
"vector" and "scalar"), "full" over all elements. Its operands are called x0, x1, ... in order, so that
equal meanings are one kernel, whatever made them.
"""
from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.base.config import knobs
from rushlight.capture.recorder import Entry, root, roots
from rushlight.compiler.full import full
from rushlight.compiler.meaning import InvalidIR, Meaning
from rushlight.compiler.pointwise import pointwise
from rushlight.compiler.rows import Rows, rows
from rushlight.dispatch.formula import Formula
from rushlight.dispatch.reducing import BIG, MACHINE, Reducer
from rushlight.ops import classification, products, rowkernels
from rushlight.ops.rowexpr import reduce_
from rushlight.ops.scalar import Expr, const, m, show, substitute, symbol, toposort

Array = np.ndarray[Any, Any]
# A kernel's operands with their roles: the arrays are those that a replay works on.
Operands = Sequence[tuple[str, Array, str]]


class Kernel:
    """What an entry computes: `exprs` of the operands x0, x1, ..., stored as `out_dtypes`.

    combine: of a full reduction, how its one expression is combined. lanes: on how many lanes a row's
    reductions run, which decides in what order they add; 0 for the kernel's own choice.
    """

    row = None

    def __init__(self, form: str, exprs: tuple[Expr, ...], inputs: tuple[tuple[str, str, str], ...],
                 out_dtypes: tuple[str, ...], lanes: int = 0, combine: str = "") -> None:
        self.form, self.exprs, self.inputs, self.out_dtypes = form, exprs, inputs, out_dtypes
        self.lanes, self.combine = lanes, combine
        named = tuple((name, d) for name, d, _ in inputs)
        self.made: Any = (pointwise(exprs, named, out_dtypes) if form == "pointwise" else
            rows(exprs, inputs, out_dtypes, lanes) if form == "rows" else
            full(combine, exprs[0], named, out_dtypes[0], lanes))

    def __call__(self, arrays: Sequence[Array]) -> Any:
        return self.made(*arrays)

    @property
    def tiered(self) -> Any:
        """The kernel that is compiled."""
        return self.made.kernel if self.form == "full" else self.made

    @property
    def meaning(self) -> Meaning:
        """Expressions and dtypes."""
        return Meaning(self.exprs, tuple([(name, d) for name, d, _ in self.inputs]), self.out_dtypes,
                       self.tiered.work)

    @property
    def label(self) -> str:
        """The form and formulas, as reports name it."""
        return f"{self.form} {self.combine and self.combine + ' of '}{', '.join(map(show, self.exprs))}"

    def text(self) -> str:
        """A canonical text, for `parse`."""
        roles = ",".join(role for _, _, role in self.inputs)
        return f"{self.form} {self.combine or 'each'} {self.lanes} {roles}\n{self.meaning.text()}"

    @classmethod
    def parse(cls, text: str) -> Kernel:
        """The kernel that has this text. InvalidIR for a text that none has."""
        head, _, body = text.partition("\n")
        form, combine, lanes, roles, *more = [*head.split(), *["?"] * 4]
        of, inputs = Meaning.parse(body), roles.split(",")
        if len(more) != 4 or len(of.inputs) != len(inputs):
            raise InvalidIR(f"{head!r}: expected a form, how it combines, lanes, {len(of.inputs)} roles")
        named = tuple([(*pair, role) for pair, role in zip(of.inputs, inputs, strict=True)])
        return cls(form, of.outputs, named, of.out_dtypes, int(lanes), combine.replace("each", ""))


def node(form: str, exprs: Sequence[Expr], operands: Operands, outs: Sequence[Array],
         out_dtypes: Sequence[str], where: str, lanes: int = 0, combine: str = "",
         inner: bool = False) -> Entry | None:
    """The entry of a kernel, its operands renamed; None where there is no machine code for it."""
    mapping = {symbol(name): symbol(f"x{i}") for i, (name, _, _) in enumerate(operands)}
    renamed = tuple(substitute(e, mapping) for e in exprs)
    inputs = tuple((f"x{i}", dt.from_numpy_dtype(a.dtype).name, role)
                   for i, (_, a, role) in enumerate(operands))
    made = Kernel(form, renamed, inputs, tuple(out_dtypes), lanes, combine)
    if knobs.kernels == "numpy" or not made.tiered.compile_now():
        return None
    return Entry("run", made, ([a for _, a, _ in operands],), tuple(outs), where, inner)


class Product:
    """The entry of a product of two matrices, taken out of a larger one."""

    row, label = None, "matmul"

    def __call__(self, a: Array, b: Array) -> Any:
        return products.product(a, b)


def lowered(entry: Entry, owned: Container[int]) -> list[Entry]:
    """The entry as kernels and products, where that is known to be the same; else as it is.

    owned: the memory of tensors; a number that lies elsewhere is a literal of the program.
    """
    function, found = entry.function, None
    row = getattr(function, "row", None)
    parts = _PARTS.get(row.name) if row is not None and entry.kind == "run" else None
    if parts is not None:
        return parts(entry) or [entry]
    bound = getattr(function, "func", function)
    if entry.kind == "run" and len(entry.outs) and not any(o.dtype.kind == "c" for o in entry.outs):
        if bound is Formula.compute:
            found = _formula(entry, owned)
        elif getattr(bound, "__func__", None) is Reducer.run:
            found = _reduction(entry)
        else:
            found = _row_kernel(entry)
    return [found or entry]


def _linear(entry: Entry) -> list[Entry] | None:
    """A product and the addition of a bias, which may then be fused with what follows."""
    (x, w, bias), out = entry.operands, entry.outs[0]
    if x.ndim < 2 or w.ndim != 2 or not (x.flags.c_contiguous and out.flags.c_contiguous) or (
            not x.dtype == w.dtype == out.dtype or x.dtype.name not in MACHINE or x.dtype.itemsize < 4):
        return None
    operands = x.reshape(-1, x.shape[-1]), w.T
    if bias is None:
        return [_product(operands, out.reshape(-1, out.shape[-1]), entry, False)]
    total = np.empty_like(out)
    added = node("pointwise", (symbol("a") + symbol("b"),), [("a", total, "vector"), ("b", bias, "vector")],
                 (out,), (dt.from_numpy_dtype(out.dtype).name,), entry.where)
    product = _product(operands, total.reshape(-1, total.shape[-1]), entry)
    return None if added is None else [product, added]


def _product(operands: tuple[Array, Array], out: Array, whole: Entry, inner: bool = True) -> Entry:
    return Entry("run", Product(), operands, (out,), whole.where, inner)


def _outers(entry: Entry) -> list[Entry] | None:
    (a, b), (out,) = entry.operands, entry.outs
    if a.ndim != 2 and not (a.flags.c_contiguous and b.flags.c_contiguous):
        return None
    return [_product((a.reshape(-1, a.shape[-1]).T, b.reshape(-1, b.shape[-1])), out, entry, False)]


def _matmul(entry: Entry) -> list[Entry]:
    return [_product(entry.operands, entry.outs[0], entry, False)]  # type: ignore[arg-type]


def total(a: Array) -> Any:
    """A sum in NumPy's order."""
    return np.add.reduce(a, None)


def checked(wrong: Array, t: Array, classes: int, ignored: int) -> tuple[()]:
    """IndexError for a class out of range, if there is a `wrong` one."""
    if wrong:
        classification.in_range(t, classes, ignored)
    return ()


def _counted(entry: Entry, x: Array, t: Array, ignored: int) -> tuple[Entry | None, Array, Array]:
    """How many targets are not ignored, as a number of x's dtype, and whether any is out of range."""
    at, counts = symbol("t"), m.ne(symbol("t"), symbol("ignored"))
    wrong = m.logical_and(counts, m.logical_or(at < 0, at >= symbol("classes")))
    operands = [("t", t, "vector"), *[(n, np.array(v), "scalar") for n, v in (
        ("ignored", ignored), ("classes", x.shape[1]))]]
    outs, d = (np.empty((), x.dtype), np.empty((), np.bool_)), x.dtype.name
    return node("rows", (reduce_("add", m.cast(counts, arg=d)), reduce_("any", wrong)), operands, outs,
                (d, "bool"), entry.where, inner=True), *outs


def _cross_entropy(entry: Entry) -> list[Entry] | None:
    """A look at the targets, the rows' losses, their sum, and its share."""
    (x, t, ignored, reduction), (out, lse) = entry.operands, entry.outs
    kernel = classification.loss_of_rows.compiled(x, t, t)
    if reduction == "none" or t.dtype != np.int64 or kernel is NotImplemented:
        return None
    look, count, wrong = _counted(entry, x, t, ignored)
    losses, summed = np.empty(t.shape, x.dtype), out if reduction == "sum" else np.empty_like(out)
    operands = [("x", x, "vector"), ("t", t, "scalar"), ("ignore", np.array(ignored), "scalar")]
    each = node("rows", kernel.outputs, operands, (losses, lse), kernel.out_dtypes, entry.where, inner=True)
    found = [look, Entry("run", checked, (wrong, t, x.shape[1], ignored), (), entry.where), each,
             Entry("run", total, (losses,), (summed,), entry.where, summed is not out)]
    if summed is not out:
        found.append(node("pointwise", (symbol("s") / symbol("n"),), [
            ("s", summed, "vector"), ("n", count, "vector")], (out,), (x.dtype.name,), entry.where))
    return None if None in found else found  # type: ignore[return-value]


def _cross_entropy_back(entry: Entry) -> list[Entry] | None:
    (x, t, lse, g, ignored, reduction), (out,) = entry.operands, entry.outs
    kernel = classification.gradient_of_rows.compiled(x, t, lse, g)
    if t.dtype != np.int64 or kernel is NotImplemented or g.ndim:
        return None
    look, count, _ = _counted(entry, x, t, ignored)
    share = symbol("g") / symbol("n") if reduction == "mean" else symbol("g")
    share = share * m.cast(m.ne(symbol("t"), symbol("ignored")), arg=x.dtype.name)
    operands = [("x", x, "vector"), *[(n, a, "scalar") for n, a in (
        ("t", t), ("lse", lse), ("g", g), ("ignored", np.array(ignored)), ("n", count))]]
    back = node("rows", [substitute(e, {symbol("g"): share}) for e in kernel.outputs], operands, (out,),
                kernel.out_dtypes, entry.where)
    return None if look is None or back is None else [look, back]


_PARTS: dict[str, Callable[[Entry], list[Entry] | None]] = {
    "linear": _linear, "mm": _matmul, "bmm": _matmul, "_matmul": _matmul, "_sum_of_outers": _outers,
    "_cross_entropy_rows": _cross_entropy, "_cross_entropy_backward": _cross_entropy_back}


def _formula(entry: Entry, owned: Container[int]) -> Entry | None:
    made = entry.function.args[0].kernel  # type: ignore[attr-defined]
    arrays, out = entry.operands[0], entry.outs[0]
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    if shape != out.shape or any(a.dtype.kind == "c" for a in arrays):
        return None
    # A literal exponent would be computed in another way than the same number from memory.
    literal = not any(e.op == "pow" for e in toposort(made.outputs))
    operands, known = [], {}
    for (name, d), a in zip(made.inputs, arrays, strict=True):
        if literal and not a.ndim and d == made.work and a.dtype.kind == "f" and id(root(a)) not in owned:
            known[symbol(name)] = const(float(a))
        else:
            operands.append((name, a, "vector"))
    exprs = [substitute(e, known) for e in made.outputs]
    if not operands or any(e.op == "const" for e in exprs):
        return None
    return node("pointwise", exprs, operands, (out,), made.out_dtypes, entry.where)


def _reduction(entry: Entry) -> Entry | None:
    """A reduction that ran on a generated kernel, over everything or along the last axis."""
    reducer: Reducer = entry.function.__self__  # type: ignore[attr-defined]
    a, axes, _, compute, result = entry.operands
    meaning, out = reducer.meaning, entry.outs[0]
    if a.size < BIG or not a.flags.c_contiguous or reducer.finish is not None or result is not compute or (
            dt.opmath(compute) is not compute or compute.name not in MACHINE or a.dtype != compute.np):
        return None
    operands = [("input", a, "vector")]
    if len(axes) == a.ndim:
        return node("full", (meaning.map,), operands, (out,), (compute.name,), entry.where,
                    combine=meaning.combine)
    if axes != (a.ndim - 1,):
        return None
    return node("rows", (reduce_(meaning.combine, meaning.map),), operands, (out.reshape(a.shape[:-1]),),
                (compute.name,), entry.where)


def _row_kernel(entry: Entry) -> Entry | None:
    """A composite that is one row kernel between views of its operands and views of its results."""
    row = getattr(entry.function, "row", None)
    if row is None or row.kind != "composite" or row.fused is None or entry.draws:
        return None
    with rowkernels.watched() as calls:
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
        if root(result) is not root(shown) or not (result.flags.c_contiguous and out.flags.c_contiguous) or (
                result.size != out.size or result.dtype != out.dtype):
            return None
        outs.append(out.reshape(result.shape))
    # What the glue made may stand only where it is the same at every replay: one number, repeated.
    if any(id(root(a)) not in given and np.prod([n for n, s in zip(a.shape, a.strides, strict=True) if s]) > 1
           for a in arrays):
        return None
    names = [name for name, _ in kernel.inputs]
    operands = list(zip(names, arrays, kernel.roles, strict=True))
    return node("rows", kernel.outputs, operands, outs, kernel.out_dtypes, entry.where)
