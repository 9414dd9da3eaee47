"""Templates of real and complex numbers. Where Python raises an error C has an answer: log(0.) is -inf."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight.jit.templates.table import plain

# NumPy's names of math's functions where they are others.
_NAMES = {"pow": "power", "acos": "arccos", "asin": "arcsin", "acosh": "arccosh", "atanh": "arctanh"}
_REAL = (
    "fmod log log2 log10 log1p sqrt exp expm1 sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh "
    "atanh ldexp"
).split()
_COMPLEX = "acos acosh asin asinh atan atanh cos cosh exp log log10 sin sinh sqrt tan tanh".split()
_MIXED = ("complex_complex", "int_complex", "complex_int", "float_complex", "complex_float")


def _limit(name: str, x: tuple[float, ...]) -> float:
    """What C gives where Python raises: an infinity, or no number."""
    with np.errstate(all="ignore"):
        if name == "log" and len(x) > 1:
            return float(np.log(x[0]) / np.log(x[1]))
        given = (float(x[0]), *(x[1:] if name == "ldexp" else map(float, x[1:])))
        return float(getattr(np, _NAMES.get(name, name))(*given))


def _as_in_c(name: str) -> Callable[..., float]:
    function = getattr(math, name)

    def of_numbers(*x: float) -> float:
        try:
            return float(function(*x))
        except (ValueError, OverflowError):
            return _limit(name, x)

    of_numbers.__name__ = name
    return of_numbers


for _name in _REAL:
    plain(_name)(_as_in_c(_name))
for _name in _COMPLEX:
    plain(f"{_name}.complex")(getattr(cmath, _name))
for _name in ("isnan", "isinf", "isfinite"):
    plain(f"{_name}.complex")(getattr(cmath, _name))
plain(*(f"log.{_kinds}" for _kinds in _MIXED))(cmath.log)
_power = _as_in_c("pow")


@plain("pow.float", "pow.int_float", "pow.float_int", "pow.int", "pow.Scalar_Scalar")
def power(x: Any, y: Any) -> Any:
    if isinstance(x, complex) or isinstance(y, complex):
        return x**y
    if x == 0 and y < 0:
        raise RuntimeError("0.0 cannot be raised to a negative power")
    return _power(x, y)


@plain("mathremainder")
def remainder(x: float, y: float) -> float:
    try:
        return math.remainder(x, y)
    except ValueError:
        return math.nan


def _over_zero(x: float, y: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(x) / np.float64(y))


@plain("div.float", "div.int")
def quotient(x: float, y: float) -> float:
    try:
        return x / y
    except ZeroDivisionError:
        return _over_zero(x, y)


@plain("floordiv.float", "floordiv.int_float", "floordiv.float_int")
def whole_quotient(x: float, y: float) -> float:
    try:
        return x // y
    except ZeroDivisionError:
        return _over_zero(x, y)


@plain("floordiv.int")
def whole_quotient_of_ints(x: int, y: int) -> int:
    try:
        return x // y
    except ZeroDivisionError:
        raise RuntimeError("division by 0") from None


@plain("remainder.float", "remainder.int_float", "remainder.float_int")
def modulo(x: float, y: float) -> float:
    try:
        return x % y
    except ZeroDivisionError:
        return math.nan


@plain("gamma")
def gamma(x: float) -> float:
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf
    except ValueError:  # at a pole
        return math.copysign(math.inf, x) if x == 0 else math.nan


@plain("lgamma")
def lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf


@plain("angle.complex", "angle.int", "angle.float", "angle.Scalar")
def angle(x: Any) -> float:
    return cmath.phase(x)


@plain("polar.int", "polar.float", "polar.int_float", "polar.float_int", "polar.Scalar_Scalar")
def polar(length: Any, angle: Any) -> complex:
    return cmath.rect(length, angle)
