"""Forward mode's interpreter: an op on dual numbers as the op on primals and its derivative on tangents.

The derivative follows from the row's kind: pointwise rows have it in their gradient formulas, which scale a
gradient as they would a tangent; views, contractions and other linear rows apply to tangents as they are;
composites go through their rows. For all others the gradient is differentiated: u -> vjp(u) is linear, and its
own gradient is the derivative in forward direction. That holds wherever second gradients do.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight.autograd.inplace import replay, view_chain
from rushlight.autograd.mode import LOCAL
from rushlight.base.dtype import FLOATING
from rushlight.dispatch import pointwise
from rushlight.dispatch.kinds import by_keyword
from rushlight.dispatch.formulanodes import fit
from rushlight.ops.table import ROWS
from rushlight.tensor.tensor import WRAPPED, Tensor, wrap_view
from rushlight.transforms import policies
from rushlight.transforms.levels import Level, Wrapped, mapped, operands, wrapper


class Dual(Wrapped):
    """A primal, `value`, with its tangent."""

    __slots__ = ()
    tangent: Any

    def _again(self, value: Any) -> Any:
        return value

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"{repr(self.value)[:-1]}, tangent={self.tangent!r})"


def dual(value: Any, tangent: Any, level: Any) -> Any:
    """A primal with a tangent; just the primal where there is none."""
    if tangent is None:
        return value
    made = wrapper(Dual, value, level)
    made.tangent = tangent
    return made


# Linear in all their tensors: what is no tangent is zero. (In a product, in each: see `_products`.)
_LINEAR = frozenset("""
    clone _to_dtype _stack _cat flip roll tril triu diag_embed repeat _repeat_each cumsum index gather index_select
    take _fft_c2c _fft_r2c _fft_c2r _avg_pool _avg_pool_back im2col col2im complex sum mean embedding
    new_zeros scatter_add index_add embedding_dense_backward""".split())
_PRODUCTS = frozenset("_convolution _convolution_input _convolution_weight _einsum".split())
# No gradient, no tangent.
_FLAT = frozenset("zeros_like ones_like full_like empty_like new_zeros new_ones new_full new_empty".split())
# Composites whose bodies are not the op's derivative: their own gradient is.
_DECLARED = frozenset("_softmax _log_softmax _logsumexp _p_norm _euclid _length _normalize_rows".split())


class Forward(Level):
    """One running derivative in forward mode."""

    what = "jvp"

    def take(self, row: Any, call: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Run an op on primals and tangents."""
        if row.kind == "formula":
            return self.formula(row, args)
        if row.kind == "function":
            from rushlight.transforms.functions import dual_function

            return dual_function(self, row, args)
        bound, out = self.bound(row, args, kwargs)
        if bound.pop("inplace", False) or getattr(call, "writes", False):
            return self._write(bound[row.params[0].name], row, bound)
        return self.apply(row, bound) if out is None else self._write(out, row, bound)

    def apply(self, row: Any, bound: dict[str, Any]) -> Any:
        """A row on arguments by name."""
        if row.kind == "pointwise":
            return self.formula(*pointwise.resolve(row, bound))
        if row.name in _FLAT or row.name in policies.RANDOM:
            return row(**self._primals(bound))
        if row.name == "fill":
            value = bound["value"]
            return dual(row(**self._primals(bound)), self.tangent(value).expand(bound["input"]._a.shape)
                        if isinstance(value, Tensor) else None, self)
        if row.kind == "view" or row.name in _LINEAR:
            return self._linear(row, bound)
        if row.kind == "contract" or row.name in _PRODUCTS:
            return self._product(row, bound)
        if row.kind == "composite" and not (row.vjp and row.name in _DECLARED):
            return self.inside(by_keyword(row, row.body), *bound.values())
        return self._by_gradient(row, bound)

    def _primals(self, bound: dict[str, Any]) -> dict[str, Any]:
        return {n: mapped(self.primal, v) for n, v in bound.items()}

    def primal(self, t: Any) -> Any:
        """A tensor without its tangent."""
        return t.value if self.holds(t) else t

    def join(self, primals: Any, tangents: Any) -> Any:
        """Results with their tangents."""
        if isinstance(primals, Tensor):
            return dual(primals, tangents, self) if primals._k.dtype.category >= FLOATING else primals
        items = [self.join(p, t) for p, t in zip(primals, tangents, strict=True)]
        return type(primals)(*items) if hasattr(primals, "_fields") else type(primals)(items)

    # --- by kind --------------------------------------------------------------------------------------

    def formula(self, formula: Any, values: Any) -> Any:
        """A pointwise expression: the sum of its derivatives times tangents."""
        primals = [self.primal(v) for v in values]
        out = formula(*primals)
        entry = formula.entry(primals)
        if out._k.dtype.category < FLOATING or not formula.smooth:
            return out
        if entry.complex_ or any(v._k.dtype.is_complex for v in values if isinstance(v, Tensor)):
            return self._transposed(lambda *ts: formula(*ts), values)
        env = {**dict(zip(formula.operands, primals, strict=True)), "result": out}
        total = None
        for number, v in enumerate(values):
            if self.holds(v):
                part = _derivative(formula, number, env, v.tangent)
                total = part if total is None else total if part is None else total + part
        if total is None:
            return out
        return dual(out, _shaped(total, out), self)

    def _linear(self, row: Any, bound: dict[str, Any]) -> Any:
        tangents = {n: mapped(self.tangent, v) for n, v in bound.items()}
        return self.join(row(**self._primals(bound)), row(**tangents))

    def tangent(self, t: Any) -> Any:
        """The tangent of a tensor, zeros where it has none; what cannot have one, as it is."""
        if self.holds(t):
            return t.tangent
        return t if t._k.dtype.category < FLOATING else ROWS["zeros_like"](t)

    def _product(self, row: Any, bound: dict[str, Any]) -> Any:
        plain = self._primals(bound)
        total = None
        if row.name == "_einsum":
            for i, t in enumerate(bound["operands"]):
                if self.holds(t):
                    ts = [t.tangent if j == i else p for j, p in enumerate(plain["operands"])]
                    part = row(ts, bound["equation"])
                    total = part if total is None else total + part
            return self.join(row(**plain), total)
        for name, v in bound.items():
            if self.holds(v) and name != "bias":
                part = row(**{**plain, name: v.tangent, **({"bias": None} if "bias" in plain else {})})
                total = part if total is None else total + part
        out = row(**plain)
        if self.holds(bound.get("bias")):
            total = bound["bias"].tangent if total is None else total + bound["bias"].tangent
        return self.join(out, _shaped(total, out))

    def _by_gradient(self, row: Any, bound: dict[str, Any]) -> Any:
        names = [n for n, v in bound.items() if any(map(self.holds, operands((v,))))]
        leaves = [t for n in names for t in operands((bound[n],))]

        def call(*given: Any) -> Any:
            rest = iter(given)
            return row(**{**self._primals(bound), **{n: mapped(lambda t: next(rest), bound[n]) for n in names}})
        return self._transposed(call, leaves)

    def _transposed(self, call: Callable[..., Any], values: Any) -> Any:
        """call(*values) by the gradient of its gradient."""
        from rushlight.transforms.pullback import left, vjp

        moving = [i for i, v in enumerate(values) if self.holds(v)]
        primals = [self.primal(v) for v in values]

        def of_moving(*ts: Any) -> Any:
            given = list(primals)
            for i, t in zip(moving, ts, strict=True):
                given[i] = t
            return call(*given)
        outs, back = vjp(of_moving, [primals[i] for i in moving])
        listed = [outs] if isinstance(outs, Tensor) else list(outs)
        smooth = [o for o in listed if isinstance(o, Tensor) and o._k.dtype.category >= FLOATING and o._g is not None]
        tangents: dict[int, Any] = {}
        if smooth:
            grads, forward = vjp(lambda *us: back(smooth, us), [ROWS["zeros_like"](o) for o in smooth])
            pairs = [(g, values[i].tangent) for g, i in zip(grads, moving, strict=True) if g is not None]
            found = forward([g for g, _ in pairs], [t for _, t in pairs])
            tangents = {id(o): t for o, t in zip(smooth, found, strict=True)}
        ts = [left(tangents.get(id(o)), LOCAL.enabled) for o in listed]
        plain = mapped(lambda o: left(o, LOCAL.enabled), outs)
        return self.join(plain, ts[0] if isinstance(outs, Tensor) else ts)

    # --- writes ---------------------------------------------------------------------------------------

    def _write(self, target: Any, row: Any, bound: dict[str, Any]) -> Any:
        if self.holds(target) and (row.kind == "view" or row.options.get("is_view")):
            found = self.apply(row, bound)
            target.value, target.tangent = found.value, found.tangent
            return target
        if LOCAL.enabled and any(t._g is not None for t in operands(tuple(bound.values()))):
            bound = {n: mapped(lambda t: self._kept(t) if t is target else t, v) for n, v in bound.items()}
        found = self.apply(row, bound)
        held = self.holds(target)
        if self.holds(found):
            if not held:
                _promote(target, ROWS["zeros_like"](target), self)
            target.tangent.copy_(found.tangent)
        elif held:
            target.tangent.zero_()
        target.value.copy_(self.primal(found)) if isinstance(target, Dual) else target.copy_(self.primal(found))
        return target

    def _kept(self, t: Any) -> Any:
        return dual(t.value.clone(), t.tangent, self) if self.holds(t) else t.clone()


def _promote(t: Any, tangent: Any, level: Any) -> None:
    """A plain tensor becomes dual where it stands, since a dual one is written into it."""
    root, views = view_chain(t)
    if root is not t:
        if not level.holds(root):
            _promote(root, ROWS["zeros_like"](root), level)
        tangent = replay(root.tangent, views)
    value = wrap_view(t._a, t)
    value._g, value._i, value._b = t._g, t._i, getattr(t, "_b", None)
    t.__class__ = Dual
    t.value, t.tangent, t.level = value, tangent, level
    WRAPPED.add(Dual)


def _derivative(formula: Any, number: int, env: dict[str, Any], tangent: Any) -> Any:
    """The tangent times the derivative by one operand; None where that is zero."""
    found, uses = formula.gradient(number, False)
    if found is None:
        return None
    if found == "grad":
        return tangent
    return found(*[tangent if u == "grad" else env[u] for u in uses])


def _shaped(tangent: Any, out: Any) -> Any:
    """A tangent in the shape and dtype of its primal."""
    if tangent._a.shape != out._a.shape:
        tangent = ROWS["expand"](tangent, out._a.shape)
    return fit(tangent, None, out._k)
