"""The atoms: the whole scalar vocabulary that a back end must know, one line each.

An Atom names its NumPy function, its derivative and how its result type follows from its operands.
`derivative(g, y, *x)` gives one Expr per operand: the gradient that flows into it when `g` flows into the
result `y`. For complex dtypes the rules of holomorphic atoms are fed conj(y) and conj(x), which is
PyTorch's convention (a gradient is the conjugate Wirtinger derivative); `complex_derivative` is the rule of
those that are not holomorphic. The LLVM column is kernels/emit/atom_code.py, keyed by the same names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from rushlight._engine.core.numpy_warnings import restore, strict
from rushlight._engine.numerics import (
    bessel,
    error_gamma,
    fma,
    incomplete_gamma,
    orthogonal_polynomials as orthogonal,
)
from rushlight._engine.ops.expressions import Expr, const, m

Rule = Callable[..., tuple[Expr | None, ...]]


@dataclass(frozen=True)
class Atom:
    """One scalar function.

    derivative: None where the function has no gradient: its results stay outside the graph. A rule's None
        for one operand is a derivative that PyTorch has not got either.
    result: "same" (type of the operands), "bool", "real" (complex gives its component type)
        or "arg" (the dtype name in the node's `arg`).
    """

    numpy: Callable[..., Any]
    derivative: Rule | None
    result: str = "same"
    complex_derivative: Rule | None = None


ZERO = const(0)
_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


def _none(g: Expr, y: Expr, *x: Expr) -> tuple[Expr, ...]:
    return (ZERO,) * len(x)


def _d_pow(g: Expr, y: Expr, a: Expr, b: Expr) -> tuple[Expr, Expr]:
    # 0 ** 0 has derivative 0 in the base; 0 ** b has derivative 0 in the exponent for b >= 0.
    base = m.where(m.eq(b, 0), 0, g * (b * m.pow(a, b - 1)))
    if b.op == "const":
        base = ZERO if b.arg == 0 else g * (b * m.pow(a, b - 1))
    exponent = m.where(m.eq(a, 0) & m.ge(m.real(b), 0), 0, g * (y * m.log(a)))
    return base, exponent


def _d_extreme(g: Expr, a: Expr, b: Expr, wins: Callable[..., Expr]) -> tuple[Expr, Expr]:
    # PyTorch's rule: a tie gives half to each side.
    half = m.where(m.eq(a, b), g / 2, g)
    return m.where(wins(b, a), 0, half), m.where(wins(a, b), 0, half)


def _d_chosen(g: Expr, first: Expr) -> tuple[Expr, Expr]:
    return m.where(first, g, 0), m.where(first, 0, g)


def _d_atan2(g: Expr, y: Expr, a: Expr, b: Expr) -> tuple[Expr, Expr]:
    norm = a * a + b * b
    scale = m.where(m.eq(norm, 0), 0, g / norm)
    return scale * b, scale * -a


def _d_abs(g: Expr, y: Expr, a: Expr) -> tuple[Expr]:
    return (g * m.sgn(a),)


def _d_log_ndtr(y: Expr, a: Expr) -> Expr:
    """The density over the distribution: above 0 erfcx overflows, below it the exponent cancels."""
    above = m.gt(a, 0)
    below = math.sqrt(2 / math.pi) / m.erfcx(m.where(above, 0, a) * -math.sqrt(0.5))
    return m.where(above, m.exp(a * a * -0.5 - y) * math.sqrt(0.5 / math.pi), below)


def _d_sgn_complex(g: Expr, y: Expr, a: Expr) -> tuple[Expr]:
    size = m.abs(a)
    along = m.real(m.conj(g) * y)
    return (m.where(m.eq(size, 0), 0, (g - y * along) / size),)


def _d_angle_complex(g: Expr, y: Expr, a: Expr) -> tuple[Expr]:
    norm = m.real(a) * m.real(a) + m.imag(a) * m.imag(a)
    return (m.where(m.eq(norm, 0), 0, a * const(1j) * (m.real(g) / norm)),)


def _d_gammainc(g: Expr, a: Expr, b: Expr) -> Expr:
    return g * m.exp((a - 1) * m.log(b) - b - m.lgamma(a))


def _numpy_pow(a: Any, b: Any) -> Any:
    if np.asarray(a).dtype.kind not in "iu":
        # One exponent 0.5 for many numbers is a root to NumPy, which -0 and -inf show: so one each.
        a, b = np.broadcast_arrays(a, b)
        return np.power(a[None], np.array(b[None]))[0]
    # Integers to negative powers: PyTorch gives 0, except that +-1 keep their sign; NumPy raises.
    a, b = np.asarray(a), np.asarray(b)
    if b.dtype.kind == "u" or not (b < 0).any():
        return np.power(a, b)
    sign = np.where(b % 2 == 0, 1, -1).astype(a.dtype)
    tiny = np.where(a == 1, 1, np.where(a == -1, sign, 0)).astype(a.dtype)
    return np.where(b < 0, tiny, np.power(a, np.maximum(b, 0)))


# What powers to these numbers are: PyTorch's choice, nan for (-inf) ** 0.5, where C's pow gives inf.
POWERS: dict[float, Callable[[Any, Callable[[Any], Any]], Any]] = {
    1.0: lambda a, root: a,
    2.0: lambda a, root: a * a,
    3.0: lambda a, root: a * a * a,
    -1.0: lambda a, root: 1 / a,
    -2.0: lambda a, root: 1 / (a * a),
    0.5: lambda a, root: root(a),
    -0.5: lambda a, root: 1 / root(a),
}


def _numpy_power(a: Any, b: Any) -> Any:
    if a.dtype.kind == "c" and not b.ndim and b.item() == -1:
        return _numpy_reciprocal(a)
    cheap = POWERS.get(b.item()) if a.dtype.kind == "f" and not b.ndim else None
    return _numpy_pow(a, b) if cheap is None else cheap(a, np.sqrt)


def _numpy_sgn(a: Any) -> Any:
    if np.iscomplexobj(a):
        size = np.abs(a)
        return np.where(size == 0, 0, a / np.where(size == 0, 1, size)).astype(a.dtype)
    if np.asarray(a).dtype.kind == "b":
        return a
    # NumPy's sign of nan is nan; PyTorch's is 0.
    return np.where(np.isnan(a), np.zeros_like(a), np.sign(a)) if a.dtype.kind == "f" else np.sign(a)


def _numpy_reciprocal(a: Any) -> Any:
    # As a quotient complex numbers have the signs of zeros, and infinities, of PyTorch's algorithm (Smith's).
    return np.true_divide(a.dtype.type(1), a) if a.dtype.kind == "c" else np.reciprocal(a)


def _numpy_log1p(a: Any) -> Any:
    if a.dtype.kind != "c":
        return np.log1p(a)
    # Near 0 the modulus of 1 + a is 1 and a little, which NumPy rounds away: its log is half the log of its
    # square, which is x (2 + x) + y^2 above 1; where that vanishes, x.
    x, y = a.real, a.imag
    square, far = x * (x + 2) + y * y, np.log(a + a.dtype.type(1))
    near, found = np.abs(a) < 0.5, np.empty(a.shape, a.dtype)
    found.real = np.where(near, np.where(square == 0, x, np.log1p(square) / 2), far.real)
    found.imag = np.where(near, np.arctan2(y, x + 1), far.imag)
    return found


def _numpy_sigmoid(a: Any) -> Any:
    # exp of a negative number only: no overflow, and full precision in both tails.
    if np.iscomplexobj(a):
        return 1 / (1 + np.exp(-a))
    e = np.exp(-np.abs(a))
    return np.where(a >= 0, 1, e) / (1 + e)


def _numpy_largest(a: Any) -> Any:
    dtype = np.asarray(a).dtype
    if dtype.kind in "iub":
        return np.array(np.iinfo(dtype).max if dtype.kind != "b" else True, dtype)
    finfo: Any = ml_dtypes.finfo if dtype.kind == "V" else np.finfo
    return np.array(finfo(dtype).max, dtype) if dtype.kind == "V" else finfo(dtype).max


def _lcm(a: Any, b: Any) -> Any:
    # Too large a one is positive still, except of small integers, which C computes in wider ones.
    found = np.lcm(a, b)
    return np.abs(found) if found.dtype.itemsize >= 4 else found


def _whole(divide: Callable[..., Any]) -> Callable[..., Any]:
    """A division that refuses integers by 0, as PyTorch's kernels do."""

    def checked(a: Any, b: Any, **arg: Any) -> Any:
        if b.dtype.kind not in "iu" or a.dtype.kind not in "iub":
            return divide(a, b, **arg)
        token = strict()
        try:
            return divide(a, b, **arg)
        except FloatingPointError:
            raise RuntimeError("ZeroDivisionError") from None
        finally:
            restore(token)

    return checked


def _remainder(a: Any, b: Any) -> Any:
    if a.dtype.kind not in "f":
        return np.remainder(a, b)
    rest = np.fmod(a, b)  # a zero keeps the dividend's sign, as PyTorch's does and Python's does not
    return np.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


def _nextafter(a: Any, b: Any, arg: str | None = None) -> Any:
    found = np.nextafter(a.astype(arg or a.dtype), b.astype(arg or a.dtype)).astype(a.dtype)
    return np.where(a == b, b, found)  # of two zeros the second, as C's; NumPy's float16 takes the first


def _numpy_trunc_divide(a: Any, b: Any, arg: str | None = None) -> Any:
    dtype = np.result_type(a, b)
    if dtype.kind not in "iu":
        return np.trunc(np.true_divide(a, b).astype(arg or dtype)).astype(dtype)
    quotient = np.floor_divide(a, b)
    # Floor and truncation differ by one where the signs differ and the division is not exact.
    return quotient + ((quotient < 0) & (quotient * b != a)).astype(dtype)


def _integral(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda a: function(a) if np.asarray(a).dtype.kind in "fc" else a


def _numpy_shift(function: Callable[..., Any]) -> Callable[..., Any]:
    def shift(a: Any, b: Any) -> Any:
        a, b = np.asarray(a), np.asarray(b)
        bits = a.dtype.itemsize * 8
        outside = (b < 0) | (b >= bits) if b.dtype.kind == "i" else b >= bits
        inside = function(a, np.where(outside, 0, b).astype(b.dtype))
        if function is np.left_shift or a.dtype.kind == "u":
            return np.where(outside, np.zeros_like(a), inside)
        # Shifting right by too much leaves the sign, which is what a shift by bits - 1 leaves.
        return np.where(outside, np.right_shift(a, np.array(bits - 1, a.dtype)), inside)

    return shift


def _bool(numpy: Callable[..., Any]) -> Atom:
    return Atom(numpy, _none, "bool")


def _flat(numpy: Callable[..., Any]) -> Atom:
    return Atom(numpy, _none)


ATOMS: dict[str, Atom] = {
    # arithmetic
    "add": Atom(np.add, lambda g, y, a, b: (g, g)),
    "sub": Atom(np.subtract, lambda g, y, a, b: (g, -g)),
    "mul": Atom(np.multiply, lambda g, y, a, b: (g * b, g * a)),
    "div": Atom(np.true_divide, lambda g, y, a, b: (g / b, -g * (y / b))),
    "fma": Atom(fma.fma, lambda g, y, a, b, c: (g * b, g * a, g)),  # a * b + c, rounded once
    "neg": Atom(np.negative, lambda g, y, a: (-g,)),
    "reciprocal": Atom(_numpy_reciprocal, lambda g, y, a: (-g * y * y,)),
    "pow": Atom(_numpy_pow, _d_pow),
    "power": Atom(_numpy_power, _d_pow),  # to a number
    "abs": Atom(np.abs, _d_abs, "real", lambda g, y, a: _d_abs(m.real(g), y, a)),
    "sgn": Atom(_numpy_sgn, _none, "same", _d_sgn_complex),
    "floor_divide": _flat(_whole(np.floor_divide)),
    "trunc_divide": _flat(_whole(_numpy_trunc_divide)),
    "remainder": Atom(_whole(_remainder), lambda g, y, a, b: (g, -g * m.floor(a / b))),
    "fmod": Atom(_whole(np.fmod), lambda g, y, a, b: (g, -g * m.trunc(a / b))),
    "copysign": Atom(np.copysign, lambda g, y, a, b: (m.where(m.eq(a, 0), 0, g * (y / a)), ZERO)),
    "nextafter": Atom(_nextafter, lambda g, y, a, b: (g, const(0))),
    "hypot": Atom(np.hypot, lambda g, y, a, b: (g * (a / y), g * (b / y))),
    "gcd": _flat(np.gcd),
    "lcm": _flat(_lcm),
    # rounding
    "floor": _flat(_integral(np.floor)),
    "ceil": _flat(_integral(np.ceil)),
    "trunc": _flat(_integral(np.trunc)),
    "round": _flat(_integral(np.rint)),
    # exponentials
    "exp": Atom(np.exp, lambda g, y, a: (g * y,)),
    "exp2": Atom(np.exp2, lambda g, y, a: (g * y * math.log(2),)),
    "expm1": Atom(np.expm1, lambda g, y, a: (g * (y + 1),)),
    "log": Atom(np.log, lambda g, y, a: (g / a,)),
    "log2": Atom(np.log2, lambda g, y, a: (g / (a * math.log(2)),)),
    "log10": Atom(np.log10, lambda g, y, a: (g / (a * math.log(10)),)),
    "log1p": Atom(_numpy_log1p, lambda g, y, a: (g / (a + 1),)),
    "sigmoid": Atom(_numpy_sigmoid, lambda g, y, a: (g * (y * (1 - y)),)),
    "sqrt": Atom(np.sqrt, lambda g, y, a: (g / (y * 2),)),
    "rsqrt": Atom(lambda a: _numpy_reciprocal(np.sqrt(a)), lambda g, y, a: (g * (y * y * y) * -0.5,)),
    # trigonometry
    "sin": Atom(np.sin, lambda g, y, a: (g * m.cos(a),)),
    "cos": Atom(np.cos, lambda g, y, a: (g * -m.sin(a),)),
    "tan": Atom(np.tan, lambda g, y, a: (g * (y * y + 1),)),
    # On a branch cut the root is taken of what was given, then conjugated: zeros have signs.
    "asin": Atom(
        np.arcsin,
        lambda g, y, a: (g * m.rsqrt(1 - a * a),),
        complex_derivative=lambda g, y, a: (g * m.conj(m.rsqrt(1 - a * a)),),
    ),
    "acos": Atom(
        np.arccos,
        lambda g, y, a: (g * -m.rsqrt(1 - a * a),),
        complex_derivative=lambda g, y, a: (g * -m.conj(m.rsqrt(1 - a * a)),),
    ),
    "atan": Atom(np.arctan, lambda g, y, a: (g / (a * a + 1),)),
    "atan2": Atom(np.arctan2, _d_atan2),
    "sinh": Atom(np.sinh, lambda g, y, a: (g * m.cosh(a),)),
    "cosh": Atom(np.cosh, lambda g, y, a: (g * m.sinh(a),)),
    "tanh": Atom(np.tanh, lambda g, y, a: (g * (1 - y * y),)),
    "asinh": Atom(
        np.arcsinh,
        lambda g, y, a: (g * m.rsqrt(a * a + 1),),
        complex_derivative=lambda g, y, a: (g * m.conj(m.rsqrt(a * a + 1)),),
    ),
    "acosh": Atom(
        np.arccosh,
        lambda g, y, a: (g * m.rsqrt(a * a - 1),),
        complex_derivative=lambda g, y, a: (g * m.conj(m.rsqrt(a + 1) * m.rsqrt(a - 1)),),
    ),
    "atanh": Atom(np.arctanh, lambda g, y, a: (g / (1 - a * a),)),
    # error and gamma functions
    "erf": Atom(error_gamma.erf, lambda g, y, a: (g * m.exp(-(a * a)) * _TWO_OVER_SQRT_PI,)),
    "erfc": Atom(error_gamma.erfc, lambda g, y, a: (g * m.exp(-(a * a)) * -_TWO_OVER_SQRT_PI,)),
    "erfinv": Atom(error_gamma.erfinv, lambda g, y, a: (g * m.exp(y * y) * (1 / _TWO_OVER_SQRT_PI),)),
    "i0": Atom(bessel.i0, lambda g, y, a: (g * m.i1(a),)),
    "i1": Atom(
        bessel.i1, lambda g, y, a: (g * m.where(m.eq(a, 0), 0.5, m.i0(a) - y / m.where(m.eq(a, 0), 1, a)),)
    ),
    "lgamma": Atom(error_gamma.lgamma, lambda g, y, a: (g * m.digamma(a),)),
    "digamma": Atom(error_gamma.digamma, lambda g, y, a: (g * m.trigamma(a),)),
    "trigamma": Atom(error_gamma.trigamma, lambda g, y, a: (g * m.polygamma(a, arg=2),)),
    "polygamma": Atom(error_gamma.polygamma, lambda g, y, a: (g * m.polygamma(a, arg=y.arg + 1),)),
    "zeta": Atom(error_gamma.zeta, lambda g, y, a, b: (None, g * -a * m.zeta(a + 1, b))),
    "gammainc": Atom(incomplete_gamma.gammainc, lambda g, y, a, b: (None, _d_gammainc(g, a, b))),
    "gammaincc": Atom(incomplete_gamma.gammaincc, lambda g, y, a, b: (None, -_d_gammainc(g, a, b))),
    "erfcx": Atom(error_gamma.erfcx, lambda g, y, a: (g * (a * y * 2 - _TWO_OVER_SQRT_PI),)),
    "ndtri": Atom(error_gamma.ndtri, lambda g, y, a: (g * m.exp(y * y / 2) * math.sqrt(2 * math.pi),)),
    "log_ndtr": Atom(error_gamma.log_ndtr, lambda g, y, a: (g * _d_log_ndtr(y, a),)),
    "entr": Atom(error_gamma.entr, lambda g, y, a: (g * (-m.log(a) - 1),)),
    # Bessel's functions, Airy's, orthogonal polynomials
    "i0e": Atom(bessel.i0e, lambda g, y, a: (g * (m.i1e(a) - m.sgn(a) * y),)),
    "i1e": Atom(
        bessel.i1e,
        lambda g, y, a: (
            g * m.where(m.eq(a, 0), 0.5, m.i0e(a) - y * (m.sgn(a) + 1 / m.where(m.eq(a, 0), 1, a))),
        ),
    ),
    # PyTorch differentiates i0 and i1, but not these other names of them.
    "bessel_i0": Atom(bessel.i0, None),
    "bessel_i1": Atom(bessel.i1, None),
    **{
        name: Atom(getattr(bessel, name), None)
        for name in (
            "bessel_j0",
            "bessel_j1",
            "bessel_y0",
            "bessel_y1",
            "bessel_k0",
            "bessel_k1",
            "bessel_k0e",
            "bessel_k1e",
            "spherical_bessel_j0",
            "airy_ai",
        )
    },
    **{f"chebyshev_{kind}": Atom(orthogonal.chebyshev(kind), None) for kind in "tuvw"},
    **{f"shifted_chebyshev_{kind}": Atom(orthogonal.chebyshev(kind, True), None) for kind in "tuvw"},
    "hermite_h": Atom(orthogonal.hermite_h, None),
    "hermite_he": Atom(orthogonal.hermite_he, None),
    "laguerre_l": Atom(orthogonal.laguerre_l, None),
    "legendre_p": Atom(orthogonal.legendre_p, None),
    # choice
    "maximum": Atom(np.maximum, lambda g, y, a, b: _d_extreme(g, a, b, m.gt)),
    "minimum": Atom(np.minimum, lambda g, y, a, b: _d_extreme(g, a, b, m.lt)),
    "fmax": Atom(
        lambda a, b: np.where((a >= b) | np.isnan(b), a, b),
        lambda g, y, a, b: _d_chosen(g, m.ge(a, b) | m.isnan(b)),
    ),
    "fmin": Atom(
        lambda a, b: np.where((a <= b) | np.isnan(b), a, b),
        lambda g, y, a, b: _d_chosen(g, m.le(a, b) | m.isnan(b)),
    ),
    # bounds: the operand keeps its sign of zero and the gradient where it meets the bound (NumPy's extremes
    # take the second of two zeros)
    "clamp_min": Atom(
        lambda a, b: np.maximum(b, a),
        lambda g, y, a, b: (m.where(m.ge(a, b), g, 0), m.where(m.lt(a, b), g, 0)),
    ),
    "clamp_max": Atom(
        lambda a, b: np.minimum(b, a),
        lambda g, y, a, b: (m.where(m.le(a, b), g, 0), m.where(m.gt(a, b), g, 0)),
    ),
    # strict bounds: at a bound the gradient is 0 (relu's and hardtanh's convention), at nan it goes through
    "relu": Atom(
        lambda a: np.maximum(np.zeros((), a.dtype), a), lambda g, y, a: (m.where(m.le(y, 0), 0, g),)
    ),
    "hardtanh": Atom(
        lambda a, low, high: np.minimum(high, np.maximum(low, a)),
        lambda g, y, a, low, high: (m.where(m.le(a, low) | m.ge(a, high), 0, g), ZERO, ZERO),
    ),
    "largest": _flat(_numpy_largest),  # the largest finite number of the operand's dtype
    "where": Atom(np.where, lambda g, y, c, a, b: (ZERO, m.where(c, g, 0), m.where(c, 0, g))),
    # comparison, logic, bits
    "eq": _bool(np.equal),
    "ne": _bool(np.not_equal),
    "lt": _bool(np.less),
    "le": _bool(np.less_equal),
    "gt": _bool(np.greater),
    "ge": _bool(np.greater_equal),
    "logical_and": _bool(np.logical_and),
    "logical_or": _bool(np.logical_or),
    "logical_xor": _bool(np.logical_xor),
    "logical_not": _bool(np.logical_not),
    "isnan": _bool(np.isnan),
    "isinf": _bool(np.isinf),
    "isfinite": _bool(np.isfinite),
    "signbit": _bool(lambda a: np.signbit(a) if np.asarray(a).dtype.kind == "f" else a < 0),
    "bitwise_and": _flat(np.bitwise_and),
    "bitwise_or": _flat(np.bitwise_or),
    "bitwise_xor": _flat(np.bitwise_xor),
    "bitwise_not": _flat(np.bitwise_not),
    "shift_left": _flat(_numpy_shift(np.left_shift)),
    "shift_right": _flat(_numpy_shift(np.right_shift)),
    # complex parts; conj of a real number is itself
    "conj": Atom(np.conjugate, lambda g, y, a: (g,), "same", lambda g, y, a: (m.conj(g),)),
    "real": Atom(np.real, lambda g, y, a: (g,), "real", lambda g, y, a: (m.real(g),)),
    "imag": Atom(np.imag, _none, "real", lambda g, y, a: (m.real(g) * const(1j),)),
    "angle": Atom(np.angle, _none, "real", _d_angle_complex),
    # conversion: arg is the NumPy dtype name
    "cast": Atom(lambda a, arg: np.asarray(a).astype(arg, copy=False), lambda g, y, a: (g,), "arg"),
}
