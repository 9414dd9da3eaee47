"""Special functions of vectors of doubles: NumPy's formulas, run once on numbers that write what is done.

The formulas (numerics/bessel.py, error_gamma.py and their like) are NumPy's arithmetic on float64; a `Number`
answers NumPy's functions with instructions. Where a formula asks whether any element needs a way, its
code has that way always.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.kernels.emit.atom_code import EMITTERS, Emitter, mostly, through_double
from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.target import Unsupported
from rushlight._engine.kernels.emit.vector_math import exp, log
from rushlight._engine.numerics.float64_formulas import Symbolic
from rushlight._engine.ops.atoms import ATOMS

_Mixin: Any = np.lib.mixins.NDArrayOperatorsMixin
_UFUNCS: dict[Any, str] = {
    np.floor: "floor",
    np.ceil: "ceil",
    np.trunc: "trunc",
    np.rint: "round",
    np.fmod: "fmod",
    np.power: "pow",
    np.sign: "sgn",
    np.isnan: "isnan",
    np.isinf: "isinf",
    np.isfinite: "isfinite",
    np.invert: "logical_not",
    np.bitwise_and: "logical_and",
    np.bitwise_or: "logical_or",
    np.reciprocal: "reciprocal",
    np.log1p: "log1p",
}


@cache
def _emitters() -> dict[Any, str]:
    found = {atom.numpy: name for name, atom in ATOMS.items() if isinstance(atom.numpy, np.ufunc)}
    return {**found, **_UFUNCS}


class Number(_Mixin, Symbolic):  # type: ignore[misc]
    """A double, or a truth, that a function being written has in a Lane."""

    __slots__ = ("lane",)
    dtype = np.dtype(np.float64)

    def __init__(self, lane: Lane) -> None:
        self.lane = lane

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Number:
        name = _emitters()[ufunc]
        if name == "pow" and inputs[1].__class__ is int:
            return self.of(_product(self.lane, inputs[1]))
        return self.of(self.emitted(name, *[self.same(x) for x in inputs]))

    def __array_function__(self, function: Any, types: Any, args: Any, named: Any) -> Any:
        return _FUNCTIONS[function](self, *args, **named)

    def of(self, lane: Lane) -> Number:
        """Another one of its class."""
        return type(self)(lane)

    def emitted(self, name: str, *operands: Lane) -> Lane:
        """An atom's code."""
        return EMITTERS[name]("float64", *operands)

    def same(self, x: Any) -> Lane:
        """An operand beside this one, as a Lane."""
        if isinstance(x, Number):
            return x.lane
        return (
            self.lane.function.const("i1", x)
            if isinstance(x, bool)
            else self.lane.function.const("double", float(x))
        )

    def called(self, name: str) -> Number:
        return self.of(self.emitted(name, self.lane))

    def astype(self, *_: Any, **__: Any) -> Number:
        """Itself: formulas are computed in doubles."""
        return self

    def any(self) -> bool:
        """Code has every way."""
        return True


def _product(x: Lane, times: int) -> Lane:
    found = x if times else x.other(1.0)
    for _ in range(times - 1):
        found = found * x
    return found


def _where(self: Number, condition: Any, a: Any, b: Any) -> Any:
    if not isinstance(condition, Number):
        return a if condition else b
    return self.of(condition.lane.where(self.same(a), self.same(b)))


def _clip(self: Number, x: Any, low: float, high: float) -> Any:
    return np.minimum(np.maximum(x, low), high)


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.clip: _clip,
    np.zeros_like: lambda self, x: self.of(self.same(0.0)),
    np.ones_like: lambda self, x: self.of(self.same(1.0)),
}


class Rough(Number):
    """A double that becomes a float: powers are exponentials of logarithms."""

    __slots__ = ()

    def emitted(self, name: str, *operands: Lane) -> Lane:
        if name != "pow":
            return super().emitted(name, *operands)
        base, exponent = operands
        return base.equal(1).where(base.other(1.0), exp(exponent * log(base)))


class Usual(Rough):
    """One for which no formula needs an unusual way."""

    __slots__ = ()

    def any(self) -> bool:
        return False


def written(formula: Callable[..., Any], of: type[Number] = Number) -> Callable[..., Lane]:
    """A formula as what writes its code, of Lanes."""

    def write(*given: Lane) -> Lane:
        found: Lane = formula(*map(of, given)).lane
        return found

    return write


def _zeta(d: str, s: Lane, q: Lane) -> Lane:
    """Of floats; sums through 0 of doubles are NumPy's, in more digits."""
    if s.kind != "float":
        raise Unsupported(f"zeta of {d}")
    formula, (s, q) = ATOMS["zeta"].numpy, (x.cast("fpext", "double") for x in (s, q))
    found = mostly(~(q < 0), written(formula, Usual)(s, q), lambda: written(formula, Rough)(s, q))
    return found.cast("fptrunc", "float")


# Atoms whose formula is their code, beside those of atom_code.
SPECIAL: dict[str, Emitter] = {
    **{
        name: through_double(written(ATOMS[name].numpy))
        for name in (
            "trigamma ndtri erfcx log_ndtr entr i0 i1 i0e i1e bessel_i0 bessel_i1 bessel_j0 bessel_j1 "
            "bessel_y0 bessel_y1 bessel_k0 bessel_k1 bessel_k0e bessel_k1e spherical_bessel_j0 airy_ai"
        ).split()
    },
    "zeta": _zeta,
}
