"""Row expressions: scalar expressions extended by what one element may know of its whole row.

They are Exprs with four more ops; a row kernel (kernels/loops/rows.py) evaluates them along the last
axis, so that a softmax, a norm or a cross entropy is one expression:
    peak = reduce_("max", x);  e = m.exp(x - peak);  softmax = e / reduce_("add", e)
"""

from __future__ import annotations

from rushlight._engine.ops.expressions import Expr, Operand, intern, lift

# Atoms that cost more than reading a number that has been computed already.
COSTLY = frozenset("exp exp2 expm1 log log1p log2 log10 tanh sigmoid erf erfc pow sin cos".split())
REDUCTIONS = ("add", "mul", "max", "min", "any", "all")


def reduce_(kind: str, e: Operand) -> Expr:
    """The reduction of `e` over the row, one value for the row; max and min keep nan.

    ValueError unless `kind` is one of REDUCTIONS.
    """
    if kind not in REDUCTIONS:
        raise ValueError(f"reduce_: expected one of {REDUCTIONS}, got {kind!r}")
    return intern("reduce", (lift(e),), kind)


def extent() -> Expr:
    """The number of elements of the row, as a float."""
    return intern("extent", (), None)


def at(x: Expr, i: Operand) -> Expr:
    """Element `i` of the row of the input `x`; an index outside the row is moved to its end.

    ValueError unless `x` is an input.
    """
    if x.op != "in":
        raise ValueError(f"at: expected an input, got the expression {x!r}")
    return intern("at", (x, lift(i)), None)


def fetch(of: str, address: Expr, i: Expr) -> Expr:
    """Element `i` of numbers of a dtype at an address, for kernels that are machine code from the first."""
    return intern("fetch", (address, i), of)


def iota() -> Expr:
    """The position of the element in its row, an int64."""
    return intern("iota", (), None)


def is_vector(node: Expr, known: dict[Expr, bool]) -> bool:
    """Whether a node varies along the row; `known` has its sources and the inputs."""
    if node.op in ("reduce", "extent", "const"):
        return False
    if node.op == "iota":
        return True
    if node.op == "at":
        return known[node.src[1]]
    return any(known[s] for s in node.src) if node.src else known[node]
