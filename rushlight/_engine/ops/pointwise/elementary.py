"""Elementary functions: exponentials, logarithms, trigonometry, error and gamma functions."""

from __future__ import annotations

from rushlight._engine.ops.creation.copying import view_as_complex, view_as_real
from rushlight._engine.ops.declared import atoms, formulas
from rushlight._engine.ops.expressions import Expr, const, m, stored
from rushlight._engine.ops.table import composite, pointwise

formulas("pointwise.elementary")


atoms("pointwise.elementary", dtypes="float")


@pointwise(dtypes="float", aliases=("special.logit",))
def logit(input, eps: "float | None" = None) -> Expr:
    """log(x / (1 - x)); with eps, x is first clamped to [eps, 1 - eps]."""
    x = input
    if eps is not None:
        low = stored(const(eps))
        x = m.clamp_max(m.clamp_min(x, low), stored(1 - low))
    return m.log(stored(x / stored(1 - x)))


@pointwise(dtypes="float", inplace=False)
def logaddexp(input, other) -> Expr:
    """log(exp(input) + exp(other)) without overflow."""
    same = m.eq(input, other) & m.isinf(input)
    high = m.maximum(input, other)
    # The lower less the higher: of complex numbers that is not -|input - other|.
    return m.where(same, input, high + m.log1p(m.exp(m.minimum(input, other) - high)))


@pointwise(dtypes="float", inplace=False)
def logaddexp2(input, other) -> Expr:
    """log2(2 ** input + 2 ** other) without overflow."""
    same = m.eq(input, other) & m.isinf(input)
    high = m.maximum(input, other)
    return m.where(same, input, m.fma(m.log1p(m.exp2(-m.abs(input - other))), 1.4426950408889634, high))


@pointwise(dtypes="float", aliases=("special.sinc",))
def sinc(input) -> Expr:
    """sin(pi x) / (pi x), 1 at 0."""
    x = input * 3.141592653589793
    zero = m.eq(input, 0)
    safe = m.where(zero, 1, x)
    return m.where(zero, 1, m.sin(safe) / safe)


@composite(inplace=True, out=True)
def nan_to_num(
    input, nan: "float | None" = None, posinf: "float | None" = None, neginf: "float | None" = None
):
    """nan and infinities as finite numbers (0, the largest and the smallest by default)."""
    if input.is_complex() and input.numel():
        parts = view_as_real(input.resolve_conj())
        return view_as_complex(nan_to_num(parts, nan, posinf, neginf))
    return _nan_to_num(input, nan, posinf, neginf) if input.is_floating_point() else input.clone()


@pointwise(name="_nan_to_num", where=("aten",), node="nan_to_num")
def _nan_to_num(
    input, nan: "float | None" = None, posinf: "float | None" = None, neginf: "float | None" = None
) -> Expr:
    """nan and infinities as finite numbers (0, the largest and the smallest by default)."""
    high = m.largest(input) if posinf is None else const(posinf)
    low = -m.largest(input) if neginf is None else const(neginf)
    found = m.where(m.isinf(input), m.where(m.gt(input, 0), high, low), input)
    return m.where(m.isnan(input), const(0 if nan is None else nan), found)
