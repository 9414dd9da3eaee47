"""Templates of numbers: arithmetic, comparisons, conversions, functions of math."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rushlight.jit.program import runtime as rt
from rushlight.jit.templates.table import plain

Number = int | float


@plain("add")
def add(x: Any, y: Any) -> Any:
    return x + y


@plain("sub")
def sub(x: Any, y: Any) -> Any:
    return x - y


@plain("mul")
def mul(x: Any, y: Any) -> Any:
    return x * y


@plain("div")
def div(x: Any, y: Any) -> Any:
    return x / y


@plain("floordiv")
def floordiv(x: Any, y: Any) -> Any:
    return x // y


@plain("remainder")
def remainder(x: Any, y: Any) -> Any:
    return x % y


@plain("pow")
def power(x: Any, y: Any) -> Any:
    return x**y


@plain("neg")
def neg(x: Any) -> Any:
    return -x


@plain("eq")
def eq(x: Any, y: Any) -> Any:
    return x == y


@plain("ne")
def ne(x: Any, y: Any) -> Any:
    return x != y


@plain("lt")
def lt(x: Any, y: Any) -> Any:
    return x < y


@plain("gt")
def gt(x: Any, y: Any) -> Any:
    return x > y


@plain("le")
def le(x: Any, y: Any) -> Any:
    return x <= y


@plain("ge")
def ge(x: Any, y: Any) -> Any:
    return x >= y


@plain("__and__")
def and_(x: Any, y: Any) -> Any:
    return x & y


@plain("__or__")
def or_(x: Any, y: Any) -> Any:
    return x | y


@plain("__xor__")
def xor(x: Any, y: Any) -> Any:
    return x ^ y


@plain("__lshift__")
def lshift(x: int, y: int) -> int:
    return x << y


@plain("__rshift__")
def rshift(x: int, y: int) -> int:
    return x >> y


@plain("__not__")
def not_(x: bool) -> bool:
    return not x


@plain("__is__")
def is_(x: Any, y: Any) -> bool:
    return x is y


@plain("__isnot__")
def is_not(x: Any, y: Any) -> bool:
    return x is not y


@plain("Int")
def to_int(x: Any) -> int:
    return int(x)


@plain("Float")
def to_float(x: Any) -> float:
    return float(x)


@plain("IntImplicit")
def taken_as_int(x: Any) -> int:
    return int(rt.number(x, True))


@plain("FloatImplicit")
def taken_as_float(x: Any) -> float:
    return float(rt.number(x))


@plain("Bool")
def to_bool(x: Any) -> bool:
    return bool(x)


@plain("Complex", "ComplexImplicit")
def to_complex(*parts: Any) -> complex:
    return complex(*parts)


@plain("ScalarImplicit")
def to_scalar(x: Any) -> Any:
    return rt.number(x)


@plain("round")
def round_to_float(x: float) -> float:
    return float(round(x))


@plain("prim::is_nested")
def is_nested(x: Any) -> bool:
    return False


@plain("prim::unchecked_unwrap_optional")
def unchecked_unwrap_optional(x: Any) -> Any:
    return x


# Ops that are a function of Python's, or of this package, on the same arguments.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "divmod": divmod,
    "ceil": math.ceil,
    "floor": math.floor,
    "frexp": math.frexp,
    "erf": math.erf,
    "erfc": math.erfc,
    "factorial": math.factorial,
    "gcd": math.gcd,
    "fabs": math.fabs,
    "copysign": math.copysign,
    "isnan": math.isnan,
    "isinf": math.isinf,
    "isfinite": math.isfinite,
    "degrees": math.degrees,
    "radians": math.radians,
    "modf": math.modf,
    "abs": abs,
    "prim::abs": abs,
    "prim::max": max,
    "prim::min": min,
    **{f"prim::max.{overload}": rt.most for overload in ("", "float", "int_float", "float_int")},
    **{f"prim::min.{overload}": rt.least for overload in ("", "float", "int_float", "float_int")},
    "prim::RaiseException": rt.fail,
    "_unwrap_optional": rt.unwrapped,
}
for _op, _function in _FUNCTIONS.items():
    plain(_op)(_function)
