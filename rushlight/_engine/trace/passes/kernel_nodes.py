"""Kernel nodes of the graph: entries whose meaning is known as expressions; and products.

A Kernel has one of three forms: "pointwise" over broadcast arrays, "rows" along the last axis (roles
"vector" and "scalar"), "full" over all elements. Its operands are called x0, x1, ... in order, so that
equal meanings are one kernel, whatever made them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.emit.meaning import InvalidIR, Meaning
from rushlight._engine.kernels.loops.full_reductions import full
from rushlight._engine.kernels.loops.pointwise import pointwise
from rushlight._engine.kernels.loops.rows import rows
from rushlight._engine.ops.expressions import Expr, show, substitute, symbol, toposort
from rushlight._engine.ops.linalg import matmul
from rushlight._engine.trace.recorder import Array, Entry

# A kernel's operands with their roles: the arrays are those that a replay works on.
Operands = Sequence[tuple[str, Array, str]]


class Kernel:
    """What an entry computes: `exprs` of the operands x0, x1, ..., stored as `out_dtypes`.

    combine: of a full reduction, how its one expression is combined. lanes: on how many lanes a row's
    reductions run, which decides in what order they add; 0 for the kernel's own choice.
    """

    row = None

    def __init__(
        self,
        form: str,
        exprs: tuple[Expr, ...],
        inputs: tuple[tuple[str, str, str], ...],
        out_dtypes: tuple[str, ...],
        lanes: int = 0,
        combine: str = "",
    ) -> None:
        self.form, self.exprs, self.inputs, self.out_dtypes = form, exprs, inputs, out_dtypes
        self.lanes, self.combine = lanes, combine
        named = tuple((name, d) for name, d, _ in inputs)
        self.made: Any = (
            pointwise(exprs, named, out_dtypes)
            if form == "pointwise"
            else rows(exprs, inputs, out_dtypes, lanes)
            if form == "rows"
            else full(combine, exprs[0], named, out_dtypes[0], lanes)
        )

    def __call__(self, arrays: Sequence[Array]) -> Any:
        return self.made(*arrays)

    @property
    def tiered(self) -> Any:
        """The kernel that is compiled."""
        return self.made.kernel if self.form == "full" else self.made

    @cached_property
    def meaning(self) -> Meaning:
        """Expressions and dtypes."""
        return Meaning(
            self.exprs, tuple([(name, d) for name, d, _ in self.inputs]), self.out_dtypes, self.tiered.work
        )

    @cached_property
    def types(self) -> dict[Expr, str]:
        """The dtype of every node."""
        return self.meaning.types()

    @cached_property
    def nodes(self) -> list[Expr]:
        """What the expressions consist of."""
        return toposort(self.exprs)

    @cached_property
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


def node(
    form: str,
    exprs: Sequence[Expr],
    operands: Operands,
    outs: Sequence[Array],
    out_dtypes: Sequence[str],
    where: str,
    lanes: int = 0,
    combine: str = "",
    later: bool = False,
) -> Entry | None:
    """The entry of a kernel, its operands renamed; None where there is no machine code for it.

    later: there is some, as for its parts; it is compiled when it is known that the kernel stays.
    """
    inputs = tuple([(name, dt.from_numpy_dtype(a.dtype).name, role) for name, a, role in operands])
    made = _kernel(form, tuple(exprs), inputs, tuple(out_dtypes), lanes, combine)
    if settings.kernels == "numpy" or not (later or made.tiered.compile_now()):
        return None
    return Entry("run", made, ([a for _, a, _ in operands],), tuple(outs), where)


@lru_cache(4096)
def _kernel(
    form: str,
    exprs: tuple[Expr, ...],
    inputs: tuple[tuple[str, str, str], ...],
    out_dtypes: tuple[str, ...],
    lanes: int,
    combine: str,
) -> Kernel:
    """The kernel of expressions of operands with any names, kept: it is the same at all sizes."""
    mapping = {symbol(name): symbol(f"x{i}") for i, (name, _, _) in enumerate(inputs)}
    numbered = tuple([(f"x{i}", d, role) for i, (_, d, role) in enumerate(inputs)])
    return Kernel(form, tuple([substitute(e, mapping) for e in exprs]), numbered, out_dtypes, lanes, combine)


class Product:
    """The entry of a product of two matrices, taken out of a larger one; of two-byte floats in float32."""

    row, label = None, "matmul"

    def __call__(self, a: Array, b: Array) -> Any:
        return matmul.unrounded_product(a, b)
