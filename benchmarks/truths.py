"""The true values of pointwise rows: their scalar expressions, evaluated with mpmath's numbers.

`rows()` finds what benchmarks/ulps.py does not list by hand, `true(row, ...)` says what a row should give.
An atom without a line here is a KeyError: a new one wants its reference. Losses are composites and said here.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import mpmath as mp

Interval = tuple[float, float]
ALL, DEGREES = (-math.inf, math.inf), (-0.5, 7.5)
# Doubles that stand for numbers which are no doubles.
_MEANT: dict[float, Callable[[], Any]] = {
    math.pi: lambda: +mp.pi,
    math.sqrt(0.5): lambda: 1 / mp.sqrt(2),
    -math.sqrt(0.5): lambda: -1 / mp.sqrt(2),
    math.pi / 180: lambda: mp.pi / 180,
    180 / math.pi: lambda: 180 / mp.pi,
    1 / math.log(2): lambda: 1 / mp.log(2),
    math.log(2): lambda: mp.log(2),
    math.sqrt(2 / math.pi): lambda: mp.sqrt(2 / mp.pi),
}


def _exactly(function: Callable[[Fraction, Fraction], Any]) -> Callable[[Any, Any], Any]:
    """Of rational numbers: quotients may have more digits than anybody keeps."""

    def exact(a: Any, b: Any) -> Any:
        found = Fraction(function(*(Fraction(*map(int, mp.libmp.to_rational(v._mpf_))) for v in (a, b))))
        return mp.mpf(found.numerator) / found.denominator

    return exact


def _sign(a: Any) -> Any:
    return mp.sign(a)


def _bound(a: Any, low: Any, high: Any) -> Any:
    return min(max(a, low), high)


def _rounded(a: Any, arg: int | None = None) -> Any:
    return mp.nint(a)


def _trunc(a: Any) -> Any:
    return mp.floor(a) if a > 0 else mp.ceil(a)


def _shifted(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, n: function(2 * x - 1, n)


def _polynomial(first: Callable[[Any], Any], again: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """P(0) = 1, P(1) = first(x), P(n + 1) = again(n, x, P(n), P(n - 1))."""

    def value(x: Any, n: Any) -> Any:
        if int(n) < 0:
            return mp.mpf(0)
        before, found = mp.mpf(1), first(x)
        for i in range(1, int(n)):
            before, found = found, again(i, x, found, before)
        return found if int(n) else mp.mpf(1)

    return value


_CHEBYSHEV = {
    kind: _polynomial(first, lambda i, x, a, b: 2 * x * a - b)
    for kind, first in {
        "t": lambda x: x,
        "u": lambda x: 2 * x,
        "v": lambda x: 2 * x - 1,
        "w": lambda x: 2 * x + 1,
    }.items()
}
_EXACT: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in "add sub mul neg eq ne lt le gt ge".split()},
    "div": operator.truediv,
    "fma": lambda a, b, c: a * b + c,
    "reciprocal": lambda a: 1 / a,
    "pow": mp.power,
    "abs": abs,
    "sgn": _sign,
    "hypot": mp.hypot,
    "floor_divide": _exactly(operator.floordiv),
    "remainder": _exactly(operator.mod),
    "fmod": lambda a, b: _sign(a) * _exactly(operator.mod)(abs(a), abs(b)),
    "copysign": lambda a, b: abs(a) if b >= 0 else -abs(a),
    "floor": mp.floor,
    "ceil": mp.ceil,
    "trunc": _trunc,
    "round": _rounded,
    "exp2": lambda a: mp.power(2, a),
    "log2": lambda a: mp.log(a) / mp.log(2),
    "rsqrt": lambda a: 1 / mp.sqrt(a),
    "sigmoid": lambda a: 1 / (1 + mp.exp(-a)),
    **{
        name: getattr(mp, name)
        for name in (
            "exp expm1 log log10 log1p sqrt sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh "
            "atanh erf erfc erfinv digamma zeta"
        ).split()
    },
    "lgamma": lambda a: mp.re(mp.loggamma(a)),
    "trigamma": lambda a: mp.psi(1, a),
    "polygamma": lambda a, arg: mp.psi(arg, a),
    "erfcx": lambda a: mp.erfc(a) * mp.exp(a * a),
    "gammainc": lambda a, x: mp.gammainc(a, 0, x, regularized=True),
    "gammaincc": lambda a, x: mp.gammainc(a, x, regularized=True),
    **{
        f"bessel_{kind}{n}": lambda a, n=n, f=f: f(n, a)
        for n in (0, 1)
        for kind, f in (("j", mp.besselj), ("y", mp.bessely), ("i", mp.besseli), ("k", mp.besselk))
    },
    **{f"bessel_k{n}e": lambda a, n=n: mp.besselk(n, a) * mp.exp(a) for n in (0, 1)},
    "spherical_bessel_j0": mp.sinc,
    **{f"chebyshev_{kind}": f for kind, f in _CHEBYSHEV.items()},
    **{f"shifted_chebyshev_{kind}": _shifted(f) for kind, f in _CHEBYSHEV.items()},
    "hermite_h": _polynomial(lambda x: 2 * x, lambda i, x, a, b: 2 * x * a - 2 * i * b),
    "hermite_he": _polynomial(lambda x: x, lambda i, x, a, b: x * a - i * b),
    "laguerre_l": _polynomial(lambda x: 1 - x, lambda i, x, a, b: ((2 * i + 1 - x) * a - i * b) / (i + 1)),
    "legendre_p": _polynomial(lambda x: x, lambda i, x, a, b: ((2 * i + 1) * x * a - i * b) / (i + 1)),
    **dict.fromkeys(("maximum", "fmax", "clamp_min"), max),
    **dict.fromkeys(("minimum", "fmin", "clamp_max"), min),
    "relu": lambda a: max(a, mp.mpf(0)),
    "hardtanh": _bound,
    "where": lambda c, a, b: a if c else b,
    "isnan": mp.isnan,
    "isinf": mp.isinf,
    "real": mp.re,
    "imag": mp.im,
    "conj": lambda a: a,
    "logical_and": lambda a, b: bool(a and b),
    "logical_or": lambda a, b: bool(a or b),
    "logical_not": operator.not_,
}
# Where mpmath's answers take no time: domains of the operands of rows by an atom of theirs.
_REACH: tuple[tuple[str, tuple[Interval, ...]], ...] = (
    ("bessel_i", ((-700, 700),)),
    ("bessel_k", ((0, 600),)),
    ("bessel_y", ((0, 50),)),
    ("bessel_", ((-50, 50),)),
    ("spherical", ((-1e6, 1e6),)),
    ("chebyshev", ((-3, 3), DEGREES)),
    ("hermite", ((-8, 8), DEGREES)),
    ("laguerre", ((-20, 20), DEGREES)),
    ("legendre", ((-3, 3), DEGREES)),
    ("zeta", ((1, 60), (0, 100))),
    ("gammainc", ((0, 60), (0, 120))),
    ("polygamma", ((-20, 1e6),)),
    ("trigamma", ((-20, 1e6),)),
    ("lgamma", ((-20, 1e6),)),
    ("pow", ((-1e4, 1e4), (-30, 30))),
    ("exp2", ((-1000, 1000), (-1000, 1000))),
)
# What required attributes are tried with.
_REQUIRED = {"n": 2, "p": 3, "threshold": 0.3, "value": -1.5}
# Nothing but choices of an operand's bits, integers, and what is no function of real numbers.
_LEFT_OUT = frozenset(
    "nextafter gcd lcm bitwise_and bitwise_or bitwise_xor bitwise_not shift_left shift_right".split()
)
UNIT = (0.0, 1.0)
# Losses, without a reduction: what they mean, and the domains of input and target.
_LOSSES: dict[str, tuple[Callable[..., Any], tuple[Interval, Interval]]] = {
    "mse_loss": (lambda x, y: (x - y) ** 2, (ALL, ALL)),
    "l1_loss": (lambda x, y: abs(x - y), (ALL, ALL)),
    "smooth_l1_loss": (lambda x, y: (x - y) ** 2 / 2 if abs(x - y) < 1 else abs(x - y) - 0.5, (ALL, ALL)),
    "huber_loss": (lambda x, y: (x - y) ** 2 / 2 if abs(x - y) < 1 else abs(x - y) - 0.5, (ALL, ALL)),
    "binary_cross_entropy": (
        lambda x, y: -y * max(mp.log(x), -100) - (1 - y) * max(mp.log1p(-x), -100),
        (UNIT, UNIT),
    ),
    "binary_cross_entropy_with_logits": (
        lambda x, y: (1 - y) * x + mp.log1p(mp.exp(-x)),
        ((-700, 700), UNIT),
    ),
    "poisson_nll_loss": (lambda x, y: mp.exp(x) - y * x, ((-80, 80), (0, 100))),
    "soft_margin_loss": (lambda x, y: mp.log1p(mp.exp(-y * x)), ((-80, 80), (-1, 1))),
    "kl_div": (lambda x, y: y * (mp.log(y) - x), ((-80, 0), (0, math.inf))),
}


class Subject(NamedTuple):
    """What to try: path, attributes to give it, its formula (of a loss, a function), domains of operands."""

    path: str
    given: dict[str, Any]
    formula: Any
    domains: tuple[Interval, ...]


def rows(known: set[str]) -> Iterator[Subject]:
    """Every pointwise row with floating results of real numbers, but those in `known`."""
    from rushlight._engine.dispatch.runners import pointwise
    from rushlight._engine.ops import signature
    from rushlight._engine.ops.expressions import toposort
    from rushlight._engine.ops.table import NAMES

    done = {NAMES[key(path)][0].name for path in known if key(path) in NAMES}
    for space, name in sorted(NAMES, key=lambda k: (k[0] != "torch", k[1][0] == "_", k)):
        row, variant = NAMES[space, name]
        # clamp's bounds are optional tensors: clamp_min and clamp_max are there for it.
        if (
            name in ("clamp", "clip")
            or row.kind != "pointwise"
            or variant != "function"
            or row.name in done
            or space in ("Tensor", "aten")
            or row.result == "bool"
        ):
            continue
        done.add(row.name)
        given = {
            p.name: _REQUIRED[p.name]
            for p in row.params
            if not p.is_tensor and p.default is signature.REQUIRED
        }
        defaults = {p.name: given.get(p.name, p.default) for p in row.params if not p.is_tensor}
        formula = pointwise.variant(row, defaults)
        atoms = [e.op for e in toposort([formula.root])]
        if _LEFT_OUT.isdisjoint(atoms):
            reach = next((r for name, r in _REACH if any(name in a for a in atoms)), (ALL,))
            count = len([name for name in formula.operands if name not in given])
            yield Subject(
                name if space == "torch" else f"{space}.{name}",
                given,
                formula,
                (reach * count)[:count] if len(reach) == 1 else reach[:count],
            )
    for name, (loss, domains) in _LOSSES.items():
        yield Subject(f"nn.functional.{name}", {"reduction": "none"}, loss, domains)


def key(path: str) -> tuple[str, str]:
    """Where the table has a name."""
    space, _, leaf = path.rpartition(".")
    return space or "torch", leaf


def true(subject: Subject, *values: Any) -> Any:
    """The value for these numbers of mpmath's."""
    from rushlight._engine.ops.expressions import toposort

    found: dict[Any, Any] = {}
    formula, given = subject.formula, subject.given
    if not hasattr(formula, "root"):
        return formula(*values)
    named = dict(zip([name for name in formula.operands if name not in given], values, strict=True))
    named |= {name: mp.mpf(v) for name, v in given.items()}
    for e in toposort([formula.root]):
        if e.op == "in":
            found[e] = named[e.arg]
        elif e.op == "const":
            meant = _MEANT.get(e.arg)
            found[e] = e.arg if isinstance(e.arg, bool) else meant() if meant else mp.mpf(e.arg)
        elif e.op == "cast":
            found[e] = found[e.src[0]]
        else:
            found[e] = _applied(e, [found[s] for s in e.src])
    return found[formula.root]


def _applied(e: Any, operands: list[Any]) -> Any:
    extra = {} if e.arg is None else {"arg": e.arg}
    if e.op == "where":
        return _EXACT["where"](*operands)
    if any(isinstance(v, mp.mpf) and mp.isnan(v) for v in operands):
        return mp.nan
    try:
        value = _EXACT[e.op](*operands, **extra)
    except (ValueError, ZeroDivisionError, OverflowError, mp.mp.NoConvergence):
        return mp.nan
    return (mp.nan if value.imag else value.real) if isinstance(value, mp.mpc) else value
