"""Gradients of pointwise rows: the reverse-mode derivative of a scalar expression.

The result is again a scalar expression over the same inputs, the incoming gradient GRAD and the
row's own result RESULT, so that it becomes one fused kernel, has a gradient itself, and so on.

Why gradients may use the result: docs/decisions/05-gradients-depend-on-results.md.
"""

from __future__ import annotations

from rushlight._engine.ops.atoms import ATOMS
from rushlight._engine.ops.expressions import Expr, const, is_const, m, make, substitute, symbol, toposort

GRAD = symbol("grad")
RESULT = symbol("result")


def differentiate(root: Expr, wrt: list[Expr], complex_: bool = False) -> list[Expr]:
    """The gradients that flow into the inputs `wrt` when GRAD flows into `root`.

    complex_: the expression is over complex numbers; gradients are conjugate Wirtinger ones.
    """
    bar: dict[Expr, Expr] = {root: GRAD}
    order = toposort([root])
    reaches = _reaching(order, set(wrt))
    for node in reversed(order):
        if node.src and node in bar and node in reaches:
            chosen, masks = _unmasked(bar[node])
            for source, g in zip(node.src, _rule(node, chosen, complex_), strict=True):
                if source not in reaches:
                    continue
                if g is None:
                    raise NotImplementedError(f"the derivative for '{node.op}' is not implemented.")
                if not is_const(g, 0):
                    g = _masked(g, masks)
                    bar[source] = _sum(bar[source], g) if source in bar else g
    found = [bar.get(x, const(0)) for x in wrt]
    # The forward result is at hand: mention it instead of computing it again. A quotient's operands are
    # needed anyway, and its result stays the program's, to write to.
    shortcut = {root: RESULT} if root.src and root.op != "div" else {}
    return [substitute(e, shortcut) if shortcut and e.src else e for e in found]


def _unmasked(g: Expr) -> tuple[Expr, list[tuple[Expr, bool]]]:
    """A gradient without the choices that make it 0 elsewhere, and these, the innermost last: whether it is
    the first branch of each. In a branch that is not taken a derivative may be infinite, and 0 times it nan:
    so the choice is made after the product.
    """
    masks: list[tuple[Expr, bool]] = []
    while g.op == "where" and (is_const(g.src[1], 0) or is_const(g.src[2], 0)):
        first = is_const(g.src[2], 0)
        masks.append((g.src[0], first))
        g = g.src[1 if first else 2]
    return g, masks


def _masked(g: Expr, masks: list[tuple[Expr, bool]]) -> Expr:
    for condition, first in reversed(masks):
        g = m.where(condition, g, const(0)) if first else m.where(condition, const(0), g)
    return g


def _sum(a: Expr, b: Expr) -> Expr:
    """a + b, inside of the choice where both make the same one."""
    if a.op != "where" or b.op != "where" or a.src[0] is not b.src[0]:
        return make("add", a, b)
    branches = [
        y if is_const(x, 0) else x if is_const(y, 0) else _sum(x, y)
        for x, y in zip(a.src[1:], b.src[1:], strict=True)
    ]
    return m.where(a.src[0], *branches)


def _reaching(order: list[Expr], wrt: set[Expr]) -> set[Expr]:
    found: set[Expr] = set()
    for node in order:
        if node in wrt or any(s in found for s in node.src):
            found.add(node)
    return found


def _rule(node: Expr, g: Expr, complex_: bool) -> tuple[Expr | None, ...]:
    atom = ATOMS[node.op]
    if atom.derivative is None:
        return (None,) * len(node.src)
    if not complex_:
        return atom.derivative(g, node, *node.src)
    if atom.complex_derivative is not None:
        return atom.complex_derivative(g, node, *node.src)
    if node.op == "where":
        return atom.derivative(g, node, *node.src)
    return atom.derivative(g, m.conj(node), *(m.conj(s) for s in node.src))
