"""Activation functions: torch.nn.functional's pointwise ones."""

from __future__ import annotations

import math
from typing import Any

from rushlight._engine.ops.declared import atoms, formulas
from rushlight._engine.ops.expressions import Expr, const, m
from rushlight._engine.ops.table import composite, pointwise

_FORMULAS = formulas("pointwise.activations")

_F = ("nn.functional",)
_BOTH = ("torch", "Tensor", "nn.functional")


atoms("pointwise.activations")


def _check_bounds(bound: dict[str, Any]) -> None:
    if bound["min_val"] > bound["max_val"]:
        raise ValueError("min_val cannot be greater than max_val")
    if int(bound["min_val"]) < 0 and bound["input"].dtype.name == "uint8":
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")


def _check_shrink(bound: dict[str, Any]) -> None:
    if bound["lambd"] < 0:
        raise RuntimeError(
            "lambda must be in range [0, 3.40282e+38] for input dtype "
            f"{bound['input'].dtype.legacy}, but found {bound['lambd']}"
        )


@pointwise(where=_F, check=_check_bounds)
def hardtanh(input, min_val: "Number" = -1.0, max_val: "Number" = 1.0) -> Expr:
    """input clamped to [min_val, max_val]."""
    return m.hardtanh(input, min_val, max_val)


@pointwise(where=_F, out=True, inplace=False)
def gelu(input, *, approximate: "str" = "none") -> Expr:
    """x * Phi(x), Phi the normal distribution; or its tanh approximation (arXiv:1606.08415)."""
    if approximate == "none":
        return input * 0.5 * (1 + m.erf(input * math.sqrt(0.5)))
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (input + 0.044715 * input * input * input)
        return 0.5 * input * (1 + m.tanh(inner))
    raise RuntimeError(f"approximate argument must be either none or tanh, got {approximate!r}")


@pointwise(where=_F, inplace=False, dtypes="float")
def tanhshrink(input) -> Expr:
    """x - tanh(x); near 0 by the continued fraction of tanh, without the difference."""
    square, rest = input * input, const(0.0)
    for k in range(17, 1, -2):
        rest = square / (k + rest)
    near = m.lt(m.abs(input), 1) & m.ne(input, 0)  # PyTorch's of -0 is 0
    return m.where(near, input * rest / (1 + rest), input - m.tanh(input))


@pointwise(where=_F, inplace=False, out=True, check=_check_shrink)
def softshrink(input, lambd: "Number" = 0.5) -> Expr:
    """x moved towards 0 by lambd."""
    small = m.where(m.lt(input, -lambd), input + lambd, m.where(m.isnan(input), input, 0))
    return m.where(m.gt(input, lambd), input - lambd, small)


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@pointwise(where=_BOTH, out=False)
def selu(input) -> Expr:
    """elu scaled so that unit variance is kept (arXiv:1706.02515)."""
    below = m.expm1(input) * (_SELU_ALPHA * _SELU_SCALE)
    return m.where(m.gt(input, 0), input * _SELU_SCALE, below)


@composite(where=("nn.functional",), planned=True)
def glu(input, dim: "int" = -1):
    """The first half along dim times the sigmoid of the second (arXiv:1612.08083)."""
    if not input.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    if input.shape[dim] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim % input.ndim} is size {input.shape[dim]}"
        )
    return _FORMULAS["_gated"](*input.chunk(2, dim))


@composite(where=("torch", "Tensor", "nn.functional"))
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
    return _FORMULAS["_prelu_kernel"](input, weight if input.ndim else weight.reshape(()))
