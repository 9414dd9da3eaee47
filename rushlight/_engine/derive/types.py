"""The dtype of each node of a scalar expression, once for the reference and for the emitters.

Inputs narrower than float32 are widened when read and compute in float32. Literals have no dtype
of their own: they take that of what they meet, and the kernel's own where they meet nothing.
Operands of unlike dtypes are brought to PyTorch's common one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.promotion import promote_types
from rushlight._engine.ops.atoms import ATOMS
from rushlight._engine.ops.expressions import Expr, toposort

# Atoms that on integers mean what they do of the converted number: these, and special functions.
_FLOATING_ONLY = frozenset(
    "div reciprocal exp exp2 expm1 log log2 log10 log1p sigmoid sqrt rsqrt sin cos tan asin acos atan atan2 "
    "sinh cosh tanh asinh acosh atanh hypot copysign nextafter angle".split()
).union(
    [
        name
        for name, atom in ATOMS.items()
        if getattr(atom.numpy, "__module__", "")
        in (
            f"rushlight._engine.numerics.{module}"
            for module in ("error_gamma", "bessel", "incomplete_gamma", "orthogonal_polynomials")
        )
    ]
)
# Operands whose dtype says nothing about the result's.
_CONDITIONS = {"where": 1}
_OPERANDS_APART = frozenset(
    {"logical_and", "logical_or", "logical_xor", "logical_not", "cast", "shift_left", "shift_right", "fetch"}
)


def infer(outputs: Iterable[Expr], inputs: Mapping[str, str], work: str) -> dict[Expr, str]:
    """The dtype name in which each node computes; `inputs` gives those of the arrays read."""
    order = toposort(outputs)
    known: dict[Expr, dt.dtype | None] = {}
    for node in order:
        known[node] = _forward(node, known, inputs, dt.BY_NAME[work])
    wanted: dict[Expr, dt.dtype] = {}
    for node in reversed(order):
        if known[node] is None:
            known[node] = wanted.get(node, _literal_home(node, dt.BY_NAME[work]))
        _demand(node, known, wanted)
    return {node: found.name for node, found in known.items() if found is not None}


def operand_type(node: Expr, types: Mapping[Expr, str], number: int) -> str:
    """The dtype to which operand `number` of `node` is converted before the atom is applied."""
    own = types[node.src[number]]
    if (
        node.op in _OPERANDS_APART
        or number < _CONDITIONS.get(node.op, 0)
        or (node.op in ("at", "reduce", "largest"))
    ):
        return own
    if _result(node) == "same":
        return types[node]
    common = _common(types[s] for s in node.src[_CONDITIONS.get(node.op, 0) :])
    if node.op in _FLOATING_ONLY and common.category < dt.FLOATING:
        return types[node]
    return common.name


def _result(node: Expr) -> str:
    atom = ATOMS.get(node.op)
    return "same" if atom is None else atom.result


def _common(names: Iterable[str]) -> dt.dtype:
    found = [dt.BY_NAME[name] for name in names]
    return reduce(promote_types, found) if found else dt.bool_


def _forward(
    node: Expr, known: Mapping[Expr, dt.dtype | None], inputs: Mapping[str, str], work: dt.dtype
) -> dt.dtype | None:
    if node.op == "in":
        return dt.opmath(dt.BY_NAME[inputs[node.arg]])
    if node.op in ("extent", "iota"):
        return work if node.op == "extent" else dt.int64
    if node.op == "const":
        return None
    if node.op == "at":
        return known[node.src[0]]
    rule = "arg" if node.op == "fetch" else _result(node)
    if rule == "bool" or (node.op == "reduce" and node.arg in ("any", "all")):
        return dt.bool_
    if rule == "arg":
        return dt.opmath(dt.BY_NAME[node.arg])
    return _same(node, known, rule, work)


def _same(node: Expr, known: Mapping[Expr, dt.dtype | None], rule: str, work: dt.dtype) -> dt.dtype | None:
    operands = node.src[_CONDITIONS.get(node.op, 0) :]
    if node.op in ("shift_left", "shift_right"):
        operands = operands[:1]
    found = [d for s in operands if (d := known[s]) is not None]
    if not found:
        return None
    common = _raised_by_literals(reduce(promote_types, found), operands, known, work)
    if node.op in _FLOATING_ONLY and common.category < dt.FLOATING:
        return work if work.category >= dt.FLOATING else dt.float64
    return common.to_real() if rule == "real" else common


def _raised_by_literals(
    common: dt.dtype, operands: Iterable[Expr], known: Mapping[Expr, dt.dtype | None], work: dt.dtype
) -> dt.dtype:
    """An integer meeting the literal 0.5 becomes floating, and a real one meeting 1j complex."""
    for s in operands:
        if known[s] is None:
            category = _literal_category(s)
            if category > common.category:
                if category == dt.COMPLEX:
                    common = common.to_complex()
                elif category == dt.FLOATING:
                    common = work if work.category == dt.FLOATING else dt.float64
                else:
                    common = work if work.category == category else dt.int64
    return common


def _literal_category(node: Expr) -> int:
    kinds = {bool: dt.BOOL, int: dt.INTEGRAL, float: dt.FLOATING, complex: dt.COMPLEX}
    found = [kinds[type(n.arg)] for n in toposort([node]) if n.op == "const"]
    return max(found, default=dt.BOOL)


def _literal_home(node: Expr, work: dt.dtype) -> dt.dtype:
    category = _literal_category(node)
    if work.category >= category:
        return work
    return {dt.INTEGRAL: dt.int64, dt.FLOATING: dt.float64, dt.COMPLEX: dt.complex128}[category]


def _demand(node: Expr, known: Mapping[Expr, dt.dtype | None], wanted: dict[Expr, dt.dtype]) -> None:
    """Pass on to literal operands the dtype in which `node` uses them."""
    first = _CONDITIONS.get(node.op, 0)
    literal = [s for i, s in enumerate(node.src) if known[s] is None and i >= first]
    for s in node.src[:first]:
        if known[s] is None:
            wanted[s] = dt.bool_
    if not literal:
        return
    others = [known[s] for s in node.src if known[s] is not None]
    home = known[node]
    if home is None or node.op in _OPERANDS_APART or home is dt.bool_ or _result(node) == "real":
        if not others or others[0] is None or node.op == "cast":
            return
        home = _raised_by_literals(others[0], literal, known, others[0])
    for s in literal:
        seen = wanted.get(s)
        wanted[s] = home if seen is None else promote_types(seen, home)
