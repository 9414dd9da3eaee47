"""Templates of real and complex numbers. Where Python raises an error C has an answer: log(0.) is -inf."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

from rushlight.jit.templates import limits
from rushlight.jit.templates.table import plain

# What never raises an error, and what does so only for numbers that templates below leave out.
_ALWAYS = "atan atan2 asinh tanh".split()
_OF_ONE = "log1p expm1 asin acos sinh cosh acosh atanh".split()
_OF_TWO = "fmod ldexp".split()
_COMPLEX = "acos acosh asin asinh atan atanh cos cosh exp log log10 sin sinh sqrt tan tanh".split()
_MIXED = ("complex_complex", "int_complex", "complex_int", "float_complex", "complex_float")


def _of_one(name: str) -> Callable[..., float]:
    function: Callable[..., float] = getattr(math, name)

    def of_number(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return limits.function(name, x)

    of_number.__name__ = name
    return of_number


def _of_two(name: str) -> Callable[..., float]:
    function: Callable[..., float] = getattr(math, name)

    def of_numbers(x: float, y: Any) -> float:
        try:
            return function(x, y)
        except (ValueError, OverflowError):
            return limits.function(name, x, y)

    of_numbers.__name__ = name
    return of_numbers


for _name in _ALWAYS:
    plain(_name)(getattr(math, _name))
for _name in _OF_ONE:
    plain(_name)(_of_one(_name))
for _name in _OF_TWO:
    plain(_name)(_of_two(_name))
for _name in _COMPLEX:
    plain(f"{_name}.complex")(getattr(cmath, _name))
for _name in ("isnan", "isinf", "isfinite"):
    plain(f"{_name}.complex")(getattr(cmath, _name))
plain(*(f"log.{_kinds}" for _kinds in _MIXED))(cmath.log)


@plain("sqrt")
def sqrt(x: float) -> float:
    return math.sqrt(x) if x >= 0 else limits.function("sqrt", x)


@plain("exp")
def exp(x: float) -> float:
    return math.exp(x) if x < 709 else limits.function("exp", x)


@plain("sin")
def sin(x: float) -> float:
    return math.sin(x) if x - x == 0 else math.nan


@plain("cos")
def cos(x: float) -> float:
    return math.cos(x) if x - x == 0 else math.nan


@plain("tan")
def tan(x: float) -> float:
    return math.tan(x) if x - x == 0 else math.nan


@plain("log10")
def log10(x: float) -> float:
    return math.log10(x) if x > 0 else limits.function("log10", x)


@plain("log")
def log(*x: float) -> float:
    try:
        return math.log(*x)
    except (ValueError, ZeroDivisionError):
        return limits.function("log", *x)


@plain("pow.float", "pow.int_float", "pow.float_int", "pow.int", "pow.Scalar_Scalar")
def power(x: Any, y: Any) -> Any:
    try:
        return math.pow(x, y)
    except (ValueError, OverflowError, TypeError):
        return limits.power(x, y)


@plain("mathremainder")
def remainder(x: float, y: float) -> float:
    try:
        return math.remainder(x, y)
    except ValueError:
        return math.nan


@plain("div.float", "div.int")
def quotient(x: float, y: float) -> float:
    return x / (y or limits.Zero(y))


@plain("floordiv.float", "floordiv.int_float", "floordiv.float_int")
def whole_quotient(x: float, y: float) -> float:
    found = x / (y or limits.Zero(y))
    return found // 1.0 if found - found == 0 else found


@plain("floordiv.int")
def whole_quotient_of_ints(x: int, y: int) -> int:
    return x // (y or limits.Zero(y))


@plain("remainder.float", "remainder.int_float", "remainder.float_int")
def modulo(x: float, y: float) -> float:
    return x % (y or limits.Zero(y))


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
