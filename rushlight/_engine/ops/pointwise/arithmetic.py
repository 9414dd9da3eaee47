"""Arithmetic: sums, products, quotients, powers, remainders, rounding, choice."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core import promotion
from rushlight._engine.core.dtype import bool_, float32, uint8
from rushlight._engine.core.results import named
from rushlight._engine.names.deprecations import deprecated
from rushlight._engine.ops import forms
from rushlight._engine.ops.expressions import Expr, const, m
from rushlight._engine.ops.refusals import ONE_BOOL_SUB, not_for
from rushlight._engine.ops.table import ROWS, composite, opaque, pointwise


@pointwise(dtypes="int")
def square(input: Expr) -> Expr:
    """input squared."""
    return input * input


@pointwise
def frac(input: Expr) -> Expr:
    """input - trunc(input)."""
    return input - m.trunc(input)


@pointwise
def addcmul(input: Expr, tensor1: Expr, tensor2: Expr, *, value: Number = 1) -> Expr:
    """input + value * tensor1 * tensor2."""
    return m.fma(value * tensor1, tensor2, input)


@pointwise
def addcdiv(input: Expr, tensor1: Expr, tensor2: Expr, *, value: Number = 1) -> Expr:
    """input + value * tensor1 / tensor2."""
    return input + m.mul(value, tensor1) / tensor2


@composite
def positive(input):
    """input itself."""
    return input


@composite(where=("Tensor.where",))
def _where_method(input, condition, other: Tensor | Number):
    """input where condition, else other."""
    return where(condition, input, other)


@pointwise(not_promoting=("weight",))
def lerp(input: Expr, end: Expr, weight: Tensor | Number) -> Expr:
    """input + weight * (end - input), exact at both ends."""
    return m.fma(
        m.where(m.lt(m.abs(weight), 0.5), weight, weight - 1),
        end - input,
        m.where(m.lt(m.abs(weight), 0.5), input, end),
    )


@pointwise(aliases=("multiply",), commutative=True, wide=("input", "other"), of_numbers=True)
def mul(input: Tensor | Number, other: Tensor | Number) -> Expr:
    """input * other."""
    return m.mul(input, other)


@pointwise(where=(), dtypes="float", node="div", wide=("other",), of_numbers=True)
def _true_divide(input: Tensor | Number, other: Tensor | Number) -> Expr:
    """input / other."""
    return m.div(input, other)


@pointwise(
    where=(), node="div", wide=("other",), of_numbers=True, refuse=not_for("div_trunc_cpu", "bool", "complex")
)
def _trunc_divide(input: Tensor | Number, other: Tensor | Number) -> Expr:
    """The quotient rounded towards zero."""
    return m.trunc_divide(input, other, arg="stored")


@pointwise(wide=("other",), of_numbers=True, refuse=not_for("div_floor_cpu", "bool", "complex"))
def floor_divide(input: Tensor | Number, other: Tensor | Number) -> Expr:
    """The quotient rounded towards minus infinity."""
    return m.floor_divide(input, other)


@pointwise(refuse=not_for("remainder_cpu", "bool", "complex"))
def remainder(input: Tensor | Number, other: Tensor | Number) -> Expr:
    """The remainder with the sign of the divisor, as Python's %."""
    return m.remainder(input, other)


@pointwise(refuse=not_for("fmod_cpu", "bool", "complex"))
def fmod(input: Expr, other: Tensor | Number) -> Expr:
    """The remainder with the sign of the dividend, as C's fmod."""
    return m.fmod(input, other)


@pointwise(
    aliases=("negative",),
    refuse={
        "bool": "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert "
        "a mask, use the `~` or `logical_not()` operator instead."
    },
)
def neg(input: Expr) -> Expr:
    """-input."""
    return m.neg(input)


@pointwise(dtypes="float")
def reciprocal(input: Expr) -> Expr:
    """1 / input."""
    return m.reciprocal(input)


@pointwise(dtypes="to_float64", inplace_exact=True)
def float_power(input: Tensor | Number, exponent: Tensor | Number) -> Expr:
    """input to the power of exponent, in double precision."""
    return m.pow(input, exponent)


@pointwise(aliases=("absolute",), result="real", refuse=not_for("abs_cpu", "bool"))
def abs_(input: Expr) -> Expr:
    """The absolute value (of a complex number, its modulus)."""
    return m.abs(input)


@pointwise(
    refuse={
        "complex": "Unlike NumPy, torch.sign is not intended to support complex numbers. "
        "Please use torch.sgn instead."
    }
)
def sign(input: Expr) -> Expr:
    """-1, 0 or 1."""
    return m.sgn(input)


@pointwise
def sgn(input: Expr) -> Expr:
    """The sign; of a complex number, input / |input|."""
    return m.sgn(input)


@pointwise(refuse={"complex": "floor is not supported for complex inputs"} | not_for("floor_vml_cpu", "bool"))
def floor(input: Expr) -> Expr:
    """The greatest integer not above."""
    return m.floor(input)


@pointwise(refuse={"complex": "ceil is not supported for complex inputs"} | not_for("ceil_vml_cpu", "bool"))
def ceil(input: Expr) -> Expr:
    """The least integer not below."""
    return m.ceil(input)


@pointwise(
    aliases=("fix",),
    refuse={"complex": "trunc is not supported for complex inputs"} | not_for("trunc_vml_cpu", "bool"),
)
def trunc(input: Expr) -> Expr:
    """The integer part."""
    return m.trunc(input)


@pointwise(refuse={"complex": "maximum not implemented for complex tensors."})
def maximum(input: Expr, other: Expr) -> Expr:
    """The larger of two; nan if either is."""
    return m.maximum(input, other)


@pointwise(refuse={"complex": "minimum not implemented for complex tensors."})
def minimum(input: Expr, other: Expr) -> Expr:
    """The smaller of two; nan if either is."""
    return m.minimum(input, other)


@pointwise(inplace=False, refuse={"complex": "fmax not implemented for complex tensors."})
def fmax(input: Expr, other: Expr) -> Expr:
    """The larger of two; a nan gives way to a number."""
    return m.fmax(input, other)


@pointwise(inplace=False, refuse={"complex": "fmin not implemented for complex tensors."})
def fmin(input: Expr, other: Expr) -> Expr:
    """The smaller of two; a nan gives way to a number."""
    return m.fmin(input, other)


@pointwise(refuse={"complex": "clamp is not supported for complex types"})
def clamp_min(input: Expr, min: Tensor | Number) -> Expr:
    """input, at least min."""
    return m.clamp_min(input, min)


@pointwise(refuse={"complex": "clamp is not supported for complex types"})
def clamp_max(input: Expr, max: Tensor | Number) -> Expr:
    """input, at most max."""
    return m.clamp_max(input, max)


@pointwise(where=("aten",), inplace=False, node="where", not_promoting=("condition",))
def _where(condition: Expr, input: Tensor | Number, other: Tensor | Number) -> Expr:
    """input where condition, else other."""
    return m.where(condition, input, other)


@pointwise(dtypes="float", refuse=not_for("copysign_cpu", "complex"))
def copysign(input: Expr, other: Tensor | Number) -> Expr:
    """The size of input with the sign of other."""
    return m.copysign(input, other)


@pointwise(refuse=not_for("hypot_cpu", "bool", "int", "complex"))
def hypot(input: Expr, other: Expr) -> Expr:
    """sqrt(input ** 2 + other ** 2) without overflow."""
    return m.hypot(input, other)


@pointwise(refuse=not_for("nextafter_cpu", "bool", "int", "complex"))
def nextafter(input: Expr, other: Expr) -> Expr:
    """The next floating-point number from input towards other."""
    return m.nextafter(input, other, arg="stored")


@pointwise(refuse=not_for("gcd_cpu", "bool", "float", "complex"))
def gcd(input: Expr, other: Expr) -> Expr:
    """The greatest common divisor."""
    return m.gcd(input, other)


@pointwise(refuse=not_for("lcm_cpu", "bool", "float", "complex"))
def lcm(input: Expr, other: Expr) -> Expr:
    """The least common multiple."""
    return m.lcm(input, other)


def _check_alpha(bound: dict[str, Any]) -> None:
    alpha, first = bound["alpha"], bound["input"]
    usual = alpha.__class__ is float and hasattr(first, "dtype") and first.dtype.category >= 2
    if usual or type(alpha) is int:
        return
    operands = [bound["input"], bound["other"]]
    tensors = [v.dtype for v in operands if hasattr(v, "dtype")]
    if isinstance(alpha, bool) and any(d.name != "bool" for d in tensors):
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    floating = any(d.category >= 2 for d in tensors) or any(isinstance(v, (float, complex)) for v in operands)
    if isinstance(alpha, float) and not floating:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and not any(d.is_complex for d in tensors):
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")


def _check_sub(bound: dict[str, Any]) -> None:
    truths = [
        v is True or v is False or getattr(v, "dtype", None) is bool_
        for v in (bound["input"], bound["other"])
    ]
    if any(truths) and not all(truths):
        raise RuntimeError(ONE_BOOL_SUB)
    _check_alpha(bound)


@pointwise(commutative=True, verify=_check_alpha, narrow=("alpha",), of_numbers=True)
def add(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1) -> Expr:
    """input + alpha * other."""
    return m.fma(alpha, other, input)


@pointwise(aliases=("subtract",), verify=_check_sub, narrow=("alpha",), of_numbers=True)
def sub(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1) -> Expr:
    """input - alpha * other."""
    return m.fma(-alpha, other, input)


@pointwise(verify=_check_sub, narrow=("alpha",), inplace=False, out=False)
def rsub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Expr:
    """other - alpha * input."""
    return m.fma(-alpha, input, other)


def _check_pow(bound: dict[str, Any]) -> None:
    base, exponent = bound["input"], bound["exponent"]
    if (
        hasattr(base, "dtype")
        and base.dtype.category <= 1
        and isinstance(exponent, int)
        and not isinstance(exponent, bool)
        and exponent < 0
    ):
        raise RuntimeError(
            "Integers to negative integer powers are not allowed; convert the base with .float()"
        )
    if getattr(exponent, "dtype", None) is bool_ and getattr(base, "dtype", type(base)) in (bool, bool_):
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")


@pointwise(check=_check_pow)
def pow(input: Tensor | Number, exponent: Tensor | Number) -> Expr:
    """input to the power of exponent."""
    return m.pow(input, exponent)


def _check_decimals(bound: dict[str, Any]) -> None:
    if bound["decimals"] is not None and not bound["input"].is_floating_point():
        kernel = "round_cpu" if bound["decimals"] else "round_vml_cpu"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{bound['input'].dtype.legacy}'")


@pointwise(aliases=("special.round",), verify=_check_decimals)
def round(input: Expr, *, decimals: int | None = None) -> Expr:
    """The nearest integer, halves to even; `decimals` digits after the point."""
    if not decimals:
        return m.round(input)
    scale = const(10.0 ** (decimals if decimals > 0 else -decimals))
    return m.round(input * scale) / scale if decimals > 0 else m.round(input / scale) * scale


@pointwise(aliases=("clip",))
def clamp(input: Expr, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Expr:
    """input between min and max, numbers or tensors that broadcast; where min > max, max. RuntimeError for
    neither.
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    found = input
    if min is not None:
        found = m.clamp_min(found, min)
    if max is not None:
        found = m.clamp_max(found, max)
    return found


@composite(where=("torch",), out=True)
def where(condition, input: Tensor | Number | None = None, other: Tensor | Number | None = None):
    """input where condition (bool), else other; all three broadcast, and the two's dtypes are promoted.

    With a condition alone, nonzero(as_tuple=True).
    """
    if input is None or other is None:
        if input is other:
            return condition.nonzero(as_tuple=True)
        raise forms.refusal(ROWS["where"])
    given = condition.dtype
    if given is not bool_:
        if given is not uint8:
            raise RuntimeError(
                f"where expected condition to be a boolean tensor, but got a tensor with dtype {given.legacy}"
            )
        deprecated("where")
        condition = condition.bool()
    if not hasattr(input, "_kind") and not hasattr(other, "_kind"):
        input = condition.new_tensor(input, dtype=promotion.of_number(input))
        other = condition.new_tensor(other, dtype=promotion.of_number(other))
    return _where(condition, input, other)


def _check_step(bound: dict[str, Any]) -> None:
    if bound["input"].dtype is not bound["values"].dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


@pointwise(verify=_check_step)
def heaviside(input: Expr, values: Expr) -> Expr:
    """0 below 0, `values` at 0, 1 above."""
    return m.where(m.eq(input, 0), values, m.where(m.gt(input, 0), 1, 0))


@composite(inplace=True, out=True, shares=("all",), planned=True)
def ldexp(input, other):
    """input * 2 ** other; in three steps where other is whole, so that only the result may overflow."""
    if not input.is_floating_point() or other.dtype.category >= 2:
        plain = input.dtype.category < 2 or input.dtype is float32
        return input * pow(2.0 if plain else input.new_full((), 2.0), other)
    if other.dtype is bool_:
        raise NotImplementedError("\"ldexp_cpu_exp\" not implemented for 'Bool'")
    other = clamp(other.int(), -3000, 3000)  # C's conversion
    third = other // 3
    step = pow(2.0, third.double())
    return (input.double() * step * step * pow(2.0, (other - 2 * third).double())).to(input.dtype)


@ldexp.kernel
def _ldexp_kernel(input: Any, other: Any) -> Any:
    if input.dtype.name not in ("float32", "float64") or other.dtype.kind not in "iu":
        return NotImplemented
    return np.ldexp(input, other if other.dtype == np.int32 else other.astype(np.int32))


@opaque(out=True)
def frexp(input) -> Any:
    """(mantissa, exponent) with input = mantissa * 2 ** exponent and 0.5 <= |mantissa| < 1."""
    if input.dtype.kind not in "fV":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    wide = input if input.dtype.itemsize > 2 else input.astype(np.float32)
    mantissa, exponent = np.frexp(wide)
    return named("frexp")(mantissa.astype(input.dtype, copy=False), exponent.astype(np.int32, copy=False))


frexp.gradient(lambda s, grad, _=None: ldexp(grad, -s.result[1]))


@composite(
    aliases=("divide", "true_divide"),
    inplace=True,
    out=True,
    where=("torch", "Tensor"),
    hands_on=("rounding_mode is None", "_true_divide"),
)
def div(input: Tensor | Number, other: Tensor | Number, *, rounding_mode: str | None = None):
    """input / other; rounding_mode "trunc" or "floor" rounds the quotient."""
    if rounding_mode is None:
        return _true_divide(input, other)
    if rounding_mode == "trunc":
        return _trunc_divide(input, other)
    if rounding_mode == "floor":
        return floor_divide(input, other)
    raise RuntimeError(
        f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
    )
