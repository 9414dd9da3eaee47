"""The vocabulary of optimizer steps: formulas over one element of every tensor, and who runs them.

A formula answers with new values by name: "p" is the parameter, the rest are states. It is compiled by
compiler.multi into one kernel that runs over a list of tensors in place; with differentiable=True the same
formula is computed with ordinary ops, so that autograd sees it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from rushlight._engine.kernels.loops.multi_tensor import MultiTensorUpdate
from rushlight._engine.ops.expressions import Expr, m, round_stored, stored, symbol, toposort
from rushlight._engine.tensors.tensor import Tensor, storage

__all__ = [
    "Formula",
    "G",
    "P",
    "collector",
    "collects",
    "gradient",
    "kernel",
    "lerp",
    "mean_of_squares",
    "plus",
    "stored",
    "symbols",
]

Formula = Mapping[str, Expr]
# The target of casts that no gradient goes through (in formulas for ops only).
DETACHED = "detached"
P, G = symbol("p"), symbol("g")  # the parameter and its gradient
_Function = TypeVar("_Function", bound=Callable[..., Any])


def symbols(names: str) -> list[Expr]:
    """Symbols of these names (of states, or of numbers that are the same for all elements)."""
    return [symbol(name) for name in names.split()]


def plus(a: Expr, b: Expr, alpha: Expr) -> Expr:
    """a + alpha * b as PyTorch's `add` has it, which rounds alpha to the arrays' dtype first."""
    return stored(m.fma(stored(alpha), b, a))


def gradient(maximize: bool, decay: bool) -> Expr:
    """The gradient to descend along, with the L2 penalty `wd` where there is one."""
    g: Expr = -G if maximize else G
    return plus(g, P, symbol("wd")) if decay else g


def lerp(start: Expr, end: Expr, weight: Expr) -> Expr:
    """From start to end; exactly `end` for a weight of 1."""
    return stored(m.fma(weight, end - start, start))


def mean_of_squares(mean: Expr, g: Expr, beta: Expr) -> Expr:
    """A running mean of squares, one step on."""
    return stored(m.fma((1 - beta) * g, g, stored(mean * beta)))


def touch(tensors: Any) -> None:
    """Tell autograd that these were written to."""
    for t in tensors:
        storage(t).version += 1


def unscaled(optimizer: Any, params: Sequence[Any]) -> bool:
    """Whether gradients are finite, as far as a GradScaler has told the optimizer; they are unscaled then."""
    found: Any = getattr(optimizer, "found_inf", None)
    scale: Any = getattr(optimizer, "grad_scale", None)
    if found:
        return False
    for p in params if scale is not None else ():
        p._grad.div_(scale.to(p.device))
    return True


@cache
def kernel(
    formula: Callable[..., Formula], names: tuple[str, ...], options: tuple[Any, ...], fused: bool
) -> MultiTensorUpdate:
    """The native update of the states `names` (after p and g) by formula(*options).

    PyTorch's fused steps round once, at the end; the others after each op.
    """
    new = formula(*options)
    numbers = scalars(new, names)
    if fused:
        new = dict(zip(new, round_stored(tuple(new.values()), None), strict=True))
    return MultiTensorUpdate(new, ("p", "g", *names), numbers)


@cache
def states(formula: Callable[..., Formula], options: tuple[Any, ...]) -> tuple[str, ...]:
    """The names of the states that formula(*options) renews."""
    return tuple(name for name in formula(*options) if name != "p")


def scalars(formula: Formula, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of all numbers, given those of the states."""
    used = dict.fromkeys(node.arg for node in toposort(formula.values()) if node.op == "in")
    return tuple(name for name in used if name not in ("p", "g", *names))


# --- the same formula as ops ------------------------------------------------------------------------


def with_ops(formula: Formula, env: Mapping[str, Any]) -> dict[str, Any]:
    """The new values, computed with ordinary ops on tensors (and numbers) by name."""
    values: dict[Expr, Any] = {}
    for node in toposort(formula.values()):
        if node.op == "in":
            values[node] = env[node.arg]
        elif node.op == "const":
            values[node] = node.arg
        elif node.op == "cast":
            value = values[node.src[0]]
            values[node] = value.detach() if node.arg == DETACHED else value
        else:
            values[node] = _op(node.op, [values[s] for s in node.src])
    return {name: values[value] for name, value in formula.items()}


_PYTHON: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "neg", "lt", "gt", "eq")},
    "div": operator.truediv,
    "fma": lambda a, b, c: a * b + c,
    "maximum": lambda a, b: a.maximum(b) if isinstance(b, Tensor) else a.clamp(min=b),
    "minimum": lambda a, b: a.minimum(b) if isinstance(b, Tensor) else a.clamp(max=b),
}


def _op(name: str, operands: list[Any]) -> Any:
    if name in _PYTHON:
        return _PYTHON[name](*operands)
    import rushlight

    return getattr(rushlight, name)(*operands)


def collects(*names: str) -> Callable[[_Function], _Function]:
    """Decorator of a class' own _init_group, whose lists after the gradients are of these states."""

    def mark(function: _Function) -> _Function:
        setattr(function, "collects", names)
        return function

    return mark


def collector(**lists: str) -> Callable[..., bool]:
    """An _init_group(group, params_with_grad, grads, LIST, ...): LIST="state" says whose each list is."""

    def _init_group(
        self: Any,
        group: dict[str, Any],
        params_with_grad: list[Tensor],
        grads: list[Tensor],
        *held: list[Any],
        **named: list[Any],
    ) -> bool:
        """Append what a step of this group is about; whether any parameter is complex."""
        given = {**dict(zip(lists, held)), **named}
        if given.keys() != lists.keys() or len(held) + len(named) != len(lists):
            raise TypeError(f"_init_group() takes group, params_with_grad, grads, {', '.join(lists)}")
        states = {lists[name]: kept for name, kept in given.items()}
        found: bool = self._collect(group, params_with_grad, grads, **states)
        return found

    return collects(*lists.values())(_init_group)
