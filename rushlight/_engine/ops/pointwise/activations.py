"""Activation functions: torch.nn.functional's pointwise ones."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes

from rushlight._engine.ops.expressions import Expr, const, m, stored
from rushlight._engine.ops.table import composite, pointwise


@pointwise(where=("nn.functional",))
def relu6(input: Expr) -> Expr:
    """input clamped to [0, 6]."""
    return m.hardtanh(input, const(0.0), const(6.0))


@pointwise(where=("nn.functional",))
def silu(input: Expr) -> Expr:
    """x * sigmoid(x)."""
    return input * m.sigmoid(input)


@pointwise(where=("nn.functional",))
def mish(input: Expr) -> Expr:
    """x * tanh(softplus(x))."""
    return input * m.tanh(m.maximum(input, 0) + m.log1p(m.exp(-m.abs(input))))


def _logsigmoid_gradients(grad: Expr, result: Expr, input: Expr) -> dict[str, Expr]:
    """Smooth at 0, which the lower of x and 0 is not."""
    return {"input": grad * m.sigmoid(-input)}


@pointwise(where=(), inplace=False, node="logsigmoid", gradients=_logsigmoid_gradients)
def _logsigmoid(input: Expr) -> Expr:
    return m.minimum(input, 0) - m.log1p(m.exp(-m.abs(input)))


@pointwise(where=("nn.functional",), inplace=False, dtypes="float")
def softsign(input: Expr) -> Expr:
    """x / (1 + |x|)."""
    return input / stored(1 + m.abs(input))


@pointwise(where=("nn.functional",))
def leaky_relu(input: Expr, negative_slope: Number = 0.01) -> Expr:
    """x, times negative_slope below 0."""
    return m.where(m.gt(input, 0), input, input * negative_slope)


@pointwise(where=("nn.functional",))
def elu(input: Expr, alpha: Number = 1.0) -> Expr:
    """x above 0, else alpha (exp(x) - 1)."""
    # At 0 the slope is alpha, and there is no curvature.
    return m.where(m.lt(input, 0), alpha * m.expm1(input), m.where(m.eq(input, 0), input * alpha, input))


@pointwise(where=("torch", "nn.functional"), out=False)
def celu(input: Expr, alpha: Number = 1.0) -> Expr:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1))."""
    return m.where(m.lt(input, 0), alpha * m.expm1(input / alpha), input)


@pointwise(where=("nn.functional",))
def hardsigmoid(input: Expr) -> Expr:
    """clamp(x / 6 + 1 / 2, 0, 1)."""
    return m.hardtanh(input + 3, const(0.0), const(6.0)) / 6


@pointwise(where=("nn.functional",))
def hardswish(input: Expr) -> Expr:
    """x * hardsigmoid(x)."""
    return input * m.hardtanh(input + 3, const(0.0), const(6.0)) / 6


@pointwise(where=("nn.functional",))
def threshold(input: Expr, threshold: Number, value: Number) -> Expr:
    """x above threshold, else value."""
    return m.where(m.le(input, threshold), value, input)


@pointwise(where=("aten",), inplace=False, out=False, node="glu")
def _gated(first: Expr, gate: Expr) -> Expr:
    """first * sigmoid(gate)."""
    return first * m.sigmoid(gate)


@pointwise(where=("aten",), inplace=False, out=False)
def _prelu_kernel(input: Expr, weight: Expr) -> Expr:
    """x above 0, else weight * x."""
    return m.where(m.gt(input, 0), input, weight * input)


@composite(where=("nn.functional",), out=True)
def logsigmoid(input):
    """log(sigmoid(x)) without overflow; PyTorch's result is contiguous."""
    return _logsigmoid(input.contiguous())


@pointwise(where=("nn.functional",), out=True, inplace=False)
def softplus(input: Expr, beta: Number = 1, threshold: Number = 20) -> Expr:
    """log(1 + exp(beta x)) / beta; x itself where beta x > threshold."""
    return m.where(m.gt(input * beta, threshold), input, m.log1p(m.exp(input * beta)) / beta)


@pointwise(where=("torch", "Tensor", "nn.functional"), inplace=False, out=True, narrow=("lambd",))
def hardshrink(input: Expr, lambd: Number = 0.5) -> Expr:
    """x, 0 where |x| <= lambd."""
    return m.where(m.ge(input, -lambd) & m.le(input, lambd), 0, input)


_F = ("nn.functional",)
_BOTH = ("torch", "Tensor", "nn.functional")


@pointwise(
    where=("torch", "Tensor", "nn.functional"),
    out=False,
    refuse={
        "bool": "Boolean inputs not supported for relu",
        "complex": "clamp is not supported for complex types",
    },
)
def relu(input: Expr) -> Expr:
    """max(input, 0), nan kept; its gradient at 0 is 0."""
    return m.relu(input)


def _check_bounds(bound: dict[str, Any]) -> None:
    if bound["min_val"] > bound["max_val"]:
        raise ValueError("min_val cannot be greater than max_val")
    if int(bound["min_val"]) < 0 and bound["input"].dtype.name == "uint8":
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")


def _check_shrink(bound: dict[str, Any]) -> None:
    kind, lambd = bound["input"].dtype, bound["lambd"]
    if not kind.is_floating_point:
        return
    if 0 <= lambd <= 1:  # as a rule
        return
    most = float(ml_dtypes.finfo(kind.np).max)
    if not 0 <= lambd <= most:
        raise RuntimeError(
            f"lambda must be in range [0, {most:g}] for input dtype {kind.legacy}, but found {lambd:g}"
        )


@pointwise(where=_F, check=_check_bounds)
def hardtanh(input: Expr, min_val: Number = -1.0, max_val: Number = 1.0) -> Expr:
    """input clamped to [min_val, max_val]."""
    return m.hardtanh(input, min_val, max_val)


@pointwise(where=_F, out=True, inplace=False)
def gelu(input: Expr, *, approximate: str = "none") -> Expr:
    """x * Phi(x), Phi the normal distribution; or its tanh approximation (arXiv:1606.08415)."""
    if approximate == "none":
        return input * 0.5 * (1 + m.erf(input * math.sqrt(0.5)))
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (input + 0.044715 * input * input * input)
        return 0.5 * input * (1 + m.tanh(inner))
    raise RuntimeError(f"approximate argument must be either none or tanh, got {approximate!r}")


@pointwise(where=_F, inplace=False, dtypes="float")
def tanhshrink(input: Expr) -> Expr:
    """x - tanh(x); near 0 by the continued fraction of tanh, without the difference."""
    square, rest = input * input, const(0.0)
    for k in range(17, 1, -2):
        rest = square / (k + rest)
    near = m.lt(m.abs(input), 1) & m.ne(input, 0)  # PyTorch's of -0 is 0
    return m.where(near, input * rest / (1 + rest), input - m.tanh(input))


@pointwise(where=_F, inplace=False, out=True, check=_check_shrink)
def softshrink(input: Expr, lambd: Number = 0.5) -> Expr:
    """x moved towards 0 by lambd."""
    small = m.where(m.lt(input, -lambd), input + lambd, m.where(m.isnan(input), input, 0))
    return m.where(m.gt(input, lambd), input - lambd, small)


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@pointwise(where=_BOTH, out=False)
def selu(input: Expr) -> Expr:
    """elu scaled so that unit variance is kept (arXiv:1706.02515)."""
    below = m.expm1(input) * (_SELU_ALPHA * _SELU_SCALE)
    above = input * m.where(m.eq(input, 0), _SELU_ALPHA * _SELU_SCALE, _SELU_SCALE)
    return m.where(m.lt(input, 0), below, above)


@composite(where=("nn.functional",), planned=True)
def glu(input, dim: int = -1):
    """The first half along dim times the sigmoid of the second (arXiv:1612.08083)."""
    if not input.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    if input.shape[dim] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim % input.ndim} is size {input.shape[dim]}"
        )
    return _gated(*input.chunk(2, dim))


@composite(where=("torch", "Tensor", "nn.functional"), planned=True)
def prelu(input, weight):
    """x above 0, else weight * x, with one weight, or one a channel (arXiv:1502.01852)."""
    if weight.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}"
        )
    if input.dtype is not weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype.legacy} and {weight.dtype.legacy}"
        )
    if weight.numel() != 1:
        if not input.ndim:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim >= 2 else 1
        if channels != weight.numel():
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter "
                f"numbers = {weight.numel()} and channel size = {channels}."
            )
        if input.ndim > 2:
            weight = weight.reshape(-1, *[1] * (input.ndim - 2))
    return _prelu_kernel(input, weight if input.ndim else weight.reshape(()))
