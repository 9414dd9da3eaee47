"""Forward mode's interpreter: an op on dual numbers as the op on primals and its derivative on tangents.

The derivative follows from the row's kind: pointwise rows have it in their gradient formulas, which scale a
gradient as they would a tangent; views, contractions and other linear rows apply to tangents as they are;
composites go through their rows. For all others the gradient is differentiated: u -> vjp(u) is linear, and
its own gradient is the derivative in forward direction. That holds wherever second gradients do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any, Self

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.in_place import View, check_writable, remember
from rushlight._engine.core.dtype import FLOATING
from rushlight._engine.dispatch.nodes.formula_nodes import INCOMING, ZERO, fit
from rushlight._engine.dispatch.runners.array_bodies import by_keyword
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.tensor import Tensor, storage
from rushlight._engine.transforms import policies
from rushlight._engine.transforms.levels import (
    FORWARD,
    Level,
    Wrapped,
    active,
    mapped,
    operands,
    stand_in,
    with_views,
    wrapper,
)


class Dual(Wrapped):
    """A primal, `value`, with its tangent."""

    __slots__ = ()
    tangent: Any

    def _again(self, value: Any) -> Any:
        return value

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Track the primal, where make_dual made this; refused inside of torch.func's transforms."""
        if not self.level.by_hand:
            return super().requires_grad_(requires_grad)
        self.value.requires_grad_(requires_grad)
        return self

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        if not self.level.alive:  # a primal from now on
            return repr(self.value)
        return f"{repr(self.value)[:-1]}, tangent={self.tangent!r})"

    def _view_dtype(self, dtype: Any) -> Any:
        return self.value.view(dtype)  # it has no tangent


def dual(value: Any, tangent: Any, level: Any) -> Any:
    """A primal with a tangent; just the primal where there is none."""
    if tangent is None:
        return value
    made = wrapper(Dual, value, level)
    made.tangent = tangent
    return made


# Linear in all their tensors: what is no tangent is zero. (Of products, in each.)
_LINEAR = policies.SETS["linear"]
_PRODUCTS = frozenset("_convolution _convolution_input _convolution_weight".split())
# No gradient, no tangent.
_FLAT = frozenset("zeros_like ones_like full_like empty_like new_zeros new_ones new_full new_empty".split())
# Composites whose bodies are not the op's derivative: their own gradient is.
_DECLARED = frozenset("_softmax _log_softmax _logsumexp _p_norm _euclid _length _normalize_rows".split())


# Draws whose gradient by their parameters is zero.
_STEPS = frozenset(("bernoulli", "poisson", "normal"))


def innermost() -> Any:
    """What knows whether tangents are computed: this thread's innermost derivative, or what is around all."""
    return FORWARD.levels[-1] if FORWARD.levels else FORWARD


class Forward(Level):
    """One running derivative in forward mode."""

    what = "jvp"
    by_hand = False  # whether torch.autograd.forward_ad began it
    enabled = True  # whether tangents are computed, as was said while it was the innermost

    def __enter__(self) -> Self:
        self.enabled = innermost().enabled or not self.by_hand
        FORWARD.levels.append(self)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        FORWARD.levels.remove(self)

    def concerned(self, row: Any, args: Any, kwargs: dict[str, Any]) -> bool:
        """Whether an operand is a dual tensor of this level."""
        return self.enabled and super().concerned(row, args, kwargs)

    def rule(self, row: Any, bound: dict[str, Any]) -> Any:
        """A row that is not pointwise, on arguments by name."""
        if row.name in _STEPS:
            out = row(**self._primals(bound))
            return self.join(out, ROWS["zeros_like"](out))
        if row.name in _FLAT or row.name in policies.RANDOM:
            return row(**self._primals(bound))
        if row.name == "fill":
            value = bound["value"]
            return dual(
                row(**self._primals(bound)),
                self.tangent(value).expand(bound["input"]._geometry.shape)
                if isinstance(value, Tensor)
                else None,
                self,
            )
        if row.name == "logcumsumexp" and bound["input"].numel():
            return self.join(row(**self._primals(bound)), _moved_sums(**bound))
        if row.kind == "view" or row.name in _LINEAR:
            tangents = {n: mapped(self.tangent, v) for n, v in bound.items()}
            return self.join(row(**self._primals(bound)), row(**tangents))
        if row.kind == "contract" or row.name in _PRODUCTS:
            return self._product(row, bound)
        if row.kind == "composite" and row.name not in _DECLARED:
            return self.inside(by_keyword(row, row.body), *bound.values())
        return self._transposed(*_flat(row, bound))

    def _primals(self, bound: dict[str, Any]) -> dict[str, Any]:
        return {n: mapped(self.primal, v) for n, v in bound.items()}

    def through(self, t: Any, change: Callable[[Any], Any]) -> Any:
        """A tensor and its tangent, changed in the same way."""
        return self.join(change(t.value), change(t.tangent))

    def primal(self, t: Any) -> Any:
        """A tensor without its tangent."""
        return t.value if self.holds(t) else t

    def join(self, primals: Any, tangents: Any) -> Any:
        """Results with their tangents."""
        if isinstance(primals, Tensor):
            return dual(primals, tangents, self) if primals._kind.dtype.category >= FLOATING else primals
        items = [self.join(p, t) for p, t in zip(primals, tangents, strict=True)]
        return type(primals)(*items) if hasattr(primals, "_fields") else type(primals)(items)

    # --- by kind --------------------------------------------------------------------------------------

    def formula(self, formula: Any, values: Any) -> Any:
        """A pointwise expression: the sum of its derivatives times tangents."""
        primals = [self.primal(v) for v in values]
        out = formula(*primals)
        if out._kind.dtype.category < FLOATING or not formula.smooth:
            return out
        if formula.compiled_for(primals).complex_ or any(t._kind.dtype.is_complex for t in operands(values)):
            return self._transposed(formula, values)
        env = {**dict(zip(formula.operands, primals, strict=True)), "result": out}
        parts = [_derivative(formula, i, env, v.tangent) for i, v in enumerate(values) if self.holds(v)]
        return self._with(out, [part for part in parts if part is not None])

    def _with(self, out: Any, parts: list[Any]) -> Any:
        """A result whose tangent is a sum, which may have to be broadcast; zeros, if no part moves it."""
        if not parts:
            return self.join(out, ROWS["zeros_like"](out))
        tangent = reduce(add, parts)
        if tangent._geometry.shape != out._geometry.shape:
            tangent = ROWS["expand"](tangent, out._geometry.shape)
        return self.join(out, fit(tangent, None, out._kind))

    def tangent(self, t: Any) -> Any:
        """The tangent of a tensor, zeros where it has none; what cannot have one, as it is."""
        if self.holds(t):
            return t.tangent
        return t if t._kind.dtype.category < FLOATING else ROWS["zeros_like"](t)

    def _product(self, row: Any, bound: dict[str, Any]) -> Any:
        plain, parts = self._primals(bound), []
        for name, v in bound.items():
            many, base = isinstance(v, list), plain[name]
            for i, t in enumerate(v if many else (v,)):
                if self.holds(t) and name != "bias":
                    moved = [*base[:i], t.tangent, *base[i + 1 :]] if many else t.tangent
                    parts.append(row(**{**plain, **({"bias": None} if "bias" in bound else {}), name: moved}))
        if self.holds(bound.get("bias")):
            parts.append(bound["bias"].tangent)
        return self._with(row(**plain), parts)

    def _transposed(self, call: Callable[..., Any], values: Any) -> Any:
        """call(*values) by the gradient of its gradient."""
        from rushlight._engine.transforms.pullback import left, vjp  # it imports this file

        moving = [v for v in values if self.holds(v)]

        def of_moving(*ts: Any) -> Any:
            rest = iter(ts)
            return call(*[next(rest) if self.holds(v) else v for v in values])

        outs, back = vjp(of_moving, [v.value for v in moving])
        smooth = [
            o for o in operands((outs,)) if o._kind.dtype.category >= FLOATING and o._grad_node is not None
        ]
        tangents: dict[int, Any] = {}
        if smooth:
            # Anywhere, as it is linear; not at 0, where a rule in logarithms has no gradient.
            grads, forward = vjp(lambda *us: back(smooth, us), [ROWS["full_like"](o, 1e-6) for o in smooth])
            pairs = [(g, v.tangent) for g, v in zip(grads, moving, strict=True) if g is not None]
            found = forward([g for g, _ in pairs], [t for _, t in pairs])
            tangents = {id(o): t for o, t in zip(smooth, found, strict=True)}
        each = iter([tangents.get(id(o)) for o in operands((outs,))])
        if any(level.what == "vmap" for level in active()):
            # Differentiating makes a batch of everything; primals that have none stay without.
            outs = call(*[self.primal(v) for v in values])
        return mapped(lambda o: self.join(left(o, LOCAL.enabled), left(next(each), LOCAL.enabled)), outs)

    # --- writes ---------------------------------------------------------------------------------------

    def write(self, target: Any, row: Any, bound: dict[str, Any]) -> Any:
        """An op in place; with out= it is refused."""
        if target is not bound[row.params[0].name]:
            raise RuntimeError(
                f"Trying to use forward AD with {row.name} that does not support it because it is an out= "
                "function"
            )
        if self.holds(target) and (row.kind == "view" or row.options.get("is_view")):
            found = self.apply(row, bound)
            target.value, target.tangent = found.value, found.tangent
            return target

        def kept(t: Any) -> Any:
            # What a gradient needs of an overwritten operand is a copy.
            copy = self.primal(t).clone() if t is target else t
            return dual(copy, t.tangent.clone(), self) if t is target and self.holds(t) else copy

        def tracked(t: Any) -> bool:
            parts = (t.value, t.tangent) if self.holds(t) else (t,)
            return any(part._grad_node is not None for part in parts)

        if LOCAL.enabled and any(map(tracked, operands(tuple(bound.values())))):
            bound = {n: mapped(kept, v) for n, v in bound.items()}
        check_writable(target, False)
        found = self.apply(row, bound)
        if self.holds(found) and not self.holds(target):
            _promote(target, self, found.tangent)
        if self.holds(target):
            target.tangent.copy_(self.tangent(found))
        (target.value if self.holds(target) else target).copy_(self.primal(found))
        return target


def _moved_sums(input: Any, dim: int) -> Any:
    """The tangent of logcumsumexp, whose gradient, in logarithms of gradients, has no derivative at 0."""
    x = input.value
    weights = (x - x.real.amax(dim, True)).exp()
    sums = weights.cumsum(dim)
    return (weights * input.tangent).cumsum(dim) / sums.masked_fill(sums == 0, 1)


def _flat(row: Any, bound: dict[str, Any]) -> tuple[Callable[..., Any], list[Any]]:
    """(the row as a function of all its tensors, these)."""

    def call(*given: Any) -> Any:
        rest = iter(given)
        return row(**{n: mapped(lambda t: next(rest), v) for n, v in bound.items()})

    return call, list(operands(tuple(bound.values())))


def _promote(t: Any, level: Any, coming: Any) -> None:
    """A tensor becomes dual where it stands, since a dual one is written into it.

    coming: the tangent that is written; where that is a batch, of jacfwd's directions, so are the zeros that
    it is written into.
    """

    def zeros(t: Any) -> Any:
        tangent = ROWS["zeros_like"](t)
        if isinstance(coming, Wrapped):
            tangent = tangent + ROWS["zeros_like"](coming).sum().to(tangent.dtype)
        return tangent

    def become(t: Any, taken: View | None) -> None:
        seen = taken is not None and taken.again is not None
        tangent = taken.again(taken.base.tangent, *taken.rest) if seen else zeros(t)  # type: ignore[union-attr,misc]
        value = stand_in(t, Dual)
        t.value, t.tangent, t.level = value, tangent, level
        if taken is not None:
            # What it was is a view of what its base was, for levels further out.
            value._view_of = taken._replace(base=taken.base.value)
            remember(value, storage(value))

    with_views(t, level, become)


def _derivative(formula: Any, number: int, env: dict[str, Any], tangent: Any) -> Any:
    """The tangent times the derivative by one operand; None where that is zero."""
    found, uses = formula.gradient(number, False)
    if found is ZERO:
        return None
    if found is INCOMING:
        return tangent
    return found(*[tangent if u == "grad" else env[u] for u in uses])
