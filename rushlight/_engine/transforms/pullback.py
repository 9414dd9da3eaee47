"""Reverse mode under levels: gradients of wrapped results, from one run of the engine over the plain graph.

An input enters by an `InputNode`, which hands its gradient on to whatever the input came from. Inside vmap it
enters as a batch, so that each example has a gradient of its own. Of a dual result, d<primal> is what the
primals give, and its tangent what the tangents give: d(tangent)/d(input's primal) is the derivative of the
gradient in the tangent's direction. So gradients need no wrappers in the graph. What is wrapped in levels
that were opened later (a batch of gradients: jacrev) goes through the rules of the nodes, which are ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rushlight._engine.autograd import engine
from rushlight._engine.autograd.grad_mode import LOCAL, OutsideInference, Transformed
from rushlight._engine.autograd.node import AccumulateGrad, Node, edge
from rushlight._engine.autograd.saved_tensors import twin
from rushlight._engine.core.dtype import FLOATING
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.tensor import BELOW, Tensor, alias
from rushlight._engine.transforms.batching import Batched, Batching
from rushlight._engine.transforms.levels import Wrapped, active, wrapper
from rushlight._engine.transforms.tangents import Dual, dual


class InputNode(Node):
    """Where an input comes into a function that is being differentiated: the identity."""

    __slots__ = ("open",)
    open: bool  # whether the function still runs

    def apply(self, grad: Any) -> Any:
        """The gradient, as it is."""
        return (grad,)


def _entered(t: Any, levels: list[Any], nodes: list[InputNode]) -> Any:
    """The input as the function sees it, batched at every vmap among `levels`; its nodes join `nodes`."""
    if t._kind.dtype.category < FLOATING:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    if levels:
        level, rest = levels[0], levels[1:]
        if isinstance(level, Batching):
            level.spread = level.spread or not level.holds(t)
            return wrapper(Batched, _entered(level.whole(t), rest, nodes), level)
        if level.holds(t):
            return dual(_entered(t.value, rest, nodes), t.tangent, level)
        return _entered(t, rest, nodes)
    below = t.__class__ in BELOW
    entered = twin(t) if below else alias(t)
    node = InputNode((edge(t),))  # also without gradients: the way back may be taken with them
    node.open = True
    entered._grad_node = node
    nodes.append(node)
    return entered


def _sourced(starts: Iterable[Node]) -> bool:
    """Whether a gradient would flow to a leaf, or to the input of a function that is still running."""
    seen: set[Node] = set()
    stack = list(starts)
    while stack:
        node = stack.pop()
        if node.__class__ is AccumulateGrad or getattr(node, "open", False):
            return True
        if node not in seen:
            seen.add(node)
            stack.extend(e[0] for e in node.next if e is not None)
    return False


def left(value: Any, tracked: bool = True) -> Any:
    """A result outside the function: in the graph only if something outside is differentiated (`tracked`)."""
    if isinstance(value, Dual):
        return dual(left(value.value, tracked), left(value.tangent, tracked), value.level)
    if isinstance(value, Batched):
        return wrapper(Batched, left(value.value, tracked), value.level)
    if (
        not isinstance(value, Tensor)
        or value._grad_node is None
        or (tracked and _sourced([value._grad_node]))
    ):
        return value
    return value.detach()


def vjp(
    function: Callable[..., Any], inputs: Sequence[Any], captured: Sequence[Any] = ()
) -> tuple[Any, Callable[..., list[Any]]]:
    """(function(*inputs), a list of tensors; pull: gradients of the results -> gradients of the inputs).

    captured: tensors that the function may read, and not write.

    The results are still in the function's graph: `left` takes them out.
    """
    levels, nodes, before = active(), list[InputNode](), LOCAL.enabled
    ins = [_entered(t, levels, nodes) for t in inputs]
    LOCAL.enabled, LOCAL.transforms = True, (*LOCAL.transforms, captured)
    try:
        with OutsideInference(), Transformed():
            outs = function(*ins)
    finally:
        LOCAL.enabled, LOCAL.transforms = before, LOCAL.transforms[:-1]
        for node in nodes:
            node.open = False

    def pulled(outputs: Any, grads: Any) -> list[Any]:
        LOCAL.transforms = (*LOCAL.transforms, ())
        try:
            with OutsideInference():
                return _pull(list(outputs), ins, list(grads), levels)
        finally:
            LOCAL.transforms = LOCAL.transforms[:-1]

    return outs, pulled


def pull(outs: Any, ins: Any, grads: Any) -> tuple[Any, ...]:
    """The gradients of wrapped tensors, as autograd.grad gives them."""
    if any(isinstance(level, Batching) and not level.holds(t) for level in active()[:1] for t in ins):
        raise RuntimeError(
            "vmap: autograd.grad by a tensor that has no batch would mix the examples: use "
            "torch.func.grad, or pass the tensor through the mapped function's arguments"
        )
    given = [ROWS["ones_like"](o) if g is None else g for g, o in zip(grads, outs, strict=True)]
    return tuple(_pull(list(outs), list(ins), given, active()))


def _pull(outs: list[Any], ins: list[Any], grads: list[Any], levels: list[Any]) -> list[Any]:
    kept = [(o, g) for o, g in zip(outs, grads, strict=True) if g is not None and o._grad_node is not None]
    outs, grads = [o for o, _ in kept], [g for _, g in kept]
    if not outs:
        return [None] * len(ins)
    if not levels:
        return _run(outs, ins, grads)
    level, rest = levels[0], levels[1:]
    if isinstance(level, Batching):
        # What is not batched does not depend on the inputs, which are.
        kept = [(o, g) for o, g in kept if level.holds(o)]
        found = _pull(
            [o.value for o, _ in kept],
            [t.value for t in ins],
            [_under(g, level, _batch_of) for _, g in kept],
            rest,
        )
        return [None if g is None else _under(g, level, _as_batch) for g in found]
    return _pull_dual(outs, ins, grads, level, rest)


def _pull_dual(outs: list[Any], ins: list[Any], grads: list[Any], level: Any, rest: list[Any]) -> list[Any]:
    plain = [o.value if level.holds(o) else o for o in outs]
    ins = [t.value if level.holds(t) else t for t in ins]
    primals = [_under(g, level, _primal_of) for g in grads]
    found = _pull(plain, ins, primals, rest)
    moving = [(o.tangent, g) for o, g in zip(outs, primals, strict=True) if level.holds(o)]
    moving += [
        (o, _under(g, level, _tangent_of)) for o, g in zip(plain, grads, strict=True) if _moves(g, level)
    ]
    tangents = _pull([o for o, _ in moving], ins, [g for _, g in moving], rest)
    return [
        g if t is None else _joined(ROWS["zeros_like"](t) if g is None else g, t, level)
        for g, t in zip(found, tangents, strict=True)
    ]


def _run(outs: list[Any], ins: list[Any], grads: list[Any]) -> list[Any]:
    """The engine's run; the gradients are in the graph if something outside is differentiated too."""
    again = any(isinstance(g, Wrapped) or g._grad_node is not None for g in grads) or _sourced(
        [o._grad_node for o in outs]
    )
    return list(engine.grad(outs, ins, grads, retain_graph=True, create_graph=again, allow_unused=True))


# --- gradients that are wrapped in later levels ----------------------------------------------------


def _under(t: Any, level: Any, change: Callable[..., Any], crossed: int = 0) -> Any:
    """`t` with change(part, level, batch dims in front) of what lies under later levels' wrappers."""
    if not isinstance(t, Wrapped) or t.level.number <= level.number:
        return change(t, level, crossed)
    if isinstance(t, Batched):
        return wrapper(Batched, _under(t.value, level, change, crossed + 1), t.level)
    whole: Any = t
    primal, tangent = (_under(part, level, change, crossed) for part in (whole.value, whole.tangent))
    return dual(primal, tangent, t.level)


def _batch_of(t: Any, level: Any, crossed: int) -> Any:
    whole = level.whole(t)
    return whole.movedim(0, crossed) if crossed else whole


def _as_batch(t: Any, level: Any, crossed: int) -> Any:
    return wrapper(Batched, t.movedim(crossed, 0) if crossed else t, level)


def _primal_of(t: Any, level: Any, crossed: int) -> Any:
    return t.value if level.holds(t) else t


def _tangent_of(t: Any, level: Any, crossed: int) -> Any:
    return t.tangent if level.holds(t) else ROWS["zeros_like"](t)


def _joined(primal: Any, tangent: Any, level: Any) -> Any:
    """A dual of the level, under the wrappers of later levels that either part has."""
    levels = [t.level for t in (primal, tangent) if isinstance(t, Wrapped)]
    last = max(levels, key=lambda one: one.number, default=level)
    if last.number <= level.number:
        return dual(primal, tangent, level)
    if isinstance(last, Batching):
        return wrapper(Batched, _joined(last.whole(primal), last.whole(tangent), level), last)
    primals = _joined(last.primal(primal), last.primal(tangent), level)
    tangents = _joined(last.tangent(primal), last.tangent(tangent), level)
    return dual(primals, tangents, last)


def _moves(t: Any, level: Any) -> bool:
    """Whether a gradient has a tangent at the level, under wrappers of later ones."""
    while isinstance(t, Wrapped):
        if level.holds(t):
            return True
        t = t.value
    return False
