"""Atoms that the CPU leaves to NumPy, for a device: divisions of whole numbers, special functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rushlight._engine.devices.cuda.kernels.formulas import FORMULAS
from rushlight._engine.kernels.emit.atom_code import unsigned
from rushlight._engine.kernels.emit.lanes import Lane, is_float
from rushlight._engine.kernels.emit.llvm_ir import BITS
from rushlight._engine.numerics.orthogonal_polynomials import PLAIN

# Gives None where the CPU's emitter serves.
Emitter = Callable[..., Lane | None]


# --- whole numbers --------------------------------------------------------------------------------


def _quotient(d: str, a: Lane, b: Lane) -> Lane:
    """a / b, truncated. By 0, where PyTorch's kernels give anything, it is -1."""
    if unsigned(d):
        none = b.equal(0)
        return none.where(-1, a.bits("udiv", none.where(1, b)))
    none, minus = b.equal(0), b.equal(-1)
    plain = a.bits("sdiv", (none | minus).where(1, b))  # the least number by -1 traps, or is nothing
    return none.where(-1, minus.where(0 - a, plain))


def _rest(d: str, a: Lane, b: Lane) -> Lane:
    return a - _quotient(d, a, b) * b


def _opposed(d: str, rest: Lane, b: Lane) -> Lane | None:
    if unsigned(d):
        return None
    return rest.compare("ne", 0) & ((rest < 0) ^ (b < 0))


def _floor_divide(d: str, a: Lane, b: Lane) -> Lane:
    quotient = _quotient(d, a, b)
    opposed = _opposed(d, a - quotient * b, b)
    return quotient if opposed is None else opposed.where(quotient - 1, quotient)


def _remainder(d: str, a: Lane, b: Lane) -> Lane:
    rest = _rest(d, a, b)
    opposed = _opposed(d, rest, b)
    return rest if opposed is None else opposed.where(rest + b, rest)


def _of_whole(name: str) -> Callable[[str, Lane, Lane], Lane]:
    """A function of device_math's of 64-bit numbers."""

    def emit(d: str, a: Lane, b: Lane) -> Lane:
        kind, extend = a.kind, "zext" if unsigned(d) else "sext"
        given = [x if kind == "i64" else x.cast(extend, "i64") for x in (a, b)]
        full = f"u{name}" if unsigned(d) and name == "whole_pow" else name
        found = a.function.scalars(full, *given)
        return found if kind == "i64" else found.cast("trunc", kind)

    return emit


def _whole(emit: Callable[..., Lane]) -> Emitter:
    """Of whole numbers, of which only the device's code knows."""
    return lambda d, arg, *x: None if is_float(x[0].kind) or x[0].kind == "i1" else emit(d, *x)


# --- special functions ----------------------------------------------------------------------------


def _wide(name: str, *x: Lane) -> Lane:
    """A function of device_math's of doubles; of floats, rounded once."""
    if x[0].kind == "double":
        return x[0].function.scalars(name, *x)
    return x[0].function.scalars(name, *[o.cast("fpext", "double") for o in x]).cast("fptrunc", "float")


def _special(name: str) -> Emitter:
    def emit(d: str, arg: Any, *x: Lane) -> Lane | None:
        if not is_float(x[0].kind):
            return None
        found = _wide(name, *x)
        most = PLAIN[name][2] if name in PLAIN else math.inf
        if most < math.inf:  # higher degrees overflow
            found = (x[1] > most * (1 if x[0].kind == "float" else 4)).where(math.nan, found)
        return found

    return emit


def _polygamma(d: str, arg: Any, x: Lane) -> Lane | None:
    if not is_float(x.kind) or arg < 0:
        return None
    if arg < 2:
        return _wide("trigamma" if arg else "digamma", x)
    wide = x if x.kind == "double" else x.cast("fpext", "double")
    sign = -1.0 if arg % 2 == 0 else 1.0
    found = wide.function.scalars("zeta", wide.other(float(arg + 1)), wide) * (sign * math.factorial(arg))
    return found if x.kind == "double" else found.cast("fptrunc", "float")


def _angle(d: str, arg: Any, x: Lane) -> Lane | None:
    if not is_float(x.kind):
        return None
    negative = x.cast("bitcast", f"i{BITS[x.kind]}") < 0
    return x.is_nan().where(x, negative.where(x.other(math.pi), 0.0))


def _lcm(d: str, a: Lane, b: Lane) -> Lane:
    common = _of_whole("gcd")(d, a, b)
    found = _quotient(d, a, common.equal(0).where(1, common)) * b
    return found if unsigned(d) or BITS[a.kind] < 32 else (found < 0).where(0 - found, found)


ATOMS: dict[str, Emitter] = {
    **{name: _special(name) for name in FORMULAS},
    "polygamma": _polygamma,
    "angle": _angle,
    "floor_divide": _whole(_floor_divide),
    "trunc_divide": _whole(_quotient),
    "remainder": _whole(_remainder),
    "fmod": _whole(_rest),
    "pow": _whole(_of_whole("whole_pow")),
    "power": _whole(_of_whole("whole_pow")),
    "gcd": _whole(_of_whole("gcd")),
    "lcm": _whole(_lcm),
}
