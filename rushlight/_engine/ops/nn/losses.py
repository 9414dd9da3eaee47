"""Losses of numbers: how losses are reduced, and those that compare element with element."""

from __future__ import annotations

import math
from functools import wraps
from typing import Any

import numpy as np

from rushlight._engine.core.callers import warn
from rushlight._engine.core.recording import checked
from rushlight._engine.ops.constant_operands import refuse_gradient
from rushlight._engine.ops.expressions import Expr, m, stored
from rushlight._engine.ops.pointwise.arithmetic import where
from rushlight._engine.ops.signature import Param
from rushlight._engine.ops.table import ROWS, Array, composite, pointwise


def _smooth_l1_gradients(grad: Expr, result: Expr, input: Expr, target: Expr, beta: Expr) -> dict[str, Expr]:
    """Linear through 0, which |x| is not."""
    apart = input - target
    slope = m.where(m.ge(m.abs(apart), beta), m.sgn(apart), apart / beta)
    return {"input": grad * slope, "target": -(grad * slope)}


@pointwise(where=("aten",), inplace=False, out=False, gradients=_smooth_l1_gradients)
def _smooth_l1_terms(input: Expr, target: Expr, beta: Number = 1.0) -> Expr:
    """Quadratic below beta, linear above."""
    return m.where(
        m.lt(m.abs(input - target), beta),
        0.5 * m.abs(input - target) * m.abs(input - target) / beta,
        m.abs(input - target) - 0.5 * beta,
    )


def _huber_gradients(grad: Expr, result: Expr, input: Expr, target: Expr, delta: Expr) -> dict[str, Expr]:
    """Linear through 0, which |x| is not."""
    apart = input - target
    slope = m.where(m.ge(m.abs(apart), delta), delta * m.sgn(apart), apart)
    return {"input": grad * slope, "target": -(grad * slope)}


@pointwise(where=("aten",), inplace=False, out=False, gradients=_huber_gradients)
def _huber_terms(input: Expr, target: Expr, delta: Number = 1.0) -> Expr:
    """Quadratic up to delta, linear above."""
    return m.where(
        m.le(m.abs(input - target), delta),
        0.5 * m.abs(input - target) * m.abs(input - target),
        delta * (m.abs(input - target) - 0.5 * delta),
    )


def _bce_gradients(grad: Expr, result: Expr, input: Expr, target: Expr) -> dict[str, Expr]:
    """Those of the logarithms themselves, up to 1e12 where the input is at the wrong end."""
    slope = (input - target) / m.clamp_min((1 - input) * input, 1e-12)
    return {"input": grad * slope, "target": grad * (m.log1p(-input) - m.log(input))}


@pointwise(where=("aten",), inplace=False, out=False, gradients=_bce_gradients)
def _bce_terms(input: Expr, target: Expr) -> Expr:
    """-(t log x + (1 - t) log(1 - x)), each log at least -100."""
    return (target - 1) * m.clamp_min(m.log1p(-input), -100) - target * m.clamp_min(m.log(input), -100)


_F = ("nn.functional",)


def reduction_of(reduction: str, size_average: Any, reduce: Any) -> str:
    """The reduction, with the legacy flags size_average and reduce taken into account."""
    if size_average is None and reduce is None:
        if reduction not in ("mean", "sum", "none", "batchmean"):
            raise ValueError(f"{reduction} is not a valid value for reduction")
        return reduction
    return from_flags(size_average, reduce)


def from_flags(size_average: bool | None, reduce: bool | None, warns: bool = True) -> str:
    """What the flags size_average and reduce stand for: "mean", "sum" or "none"."""
    found = "none" if reduce is False else "sum" if size_average is False else "mean"
    if warns:
        warn(f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.")
    return found


def reduced(loss: Any, reduction: str) -> Any:
    """The mean, the sum, or the losses as they are."""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction")


def loss(*where: str) -> Any:
    """Decorator for a row whose body answers with the losses one by one: the row takes what says how they are
    reduced behind the body's own parameters.
    """

    def declare(terms: Any) -> Any:
        @wraps(terms)
        def body(*values: Any) -> Any:
            reduction = reduction_of(values[-1], *values[-3:-1])
            return reduced(terms(*values[:-3]), reduction)

        return composite(body, where=where or _F, tail=_TAIL, planned=True)

    return declare


_TAIL = (
    Param("size_average", "bool | None", None),
    Param("reduce", "bool | None", None),
    Param("reduction", "str", "mean"),
)


def _warn_sizes(input: Any, target: Any) -> None:
    if input.shape != target.shape:
        warn(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}). This will likely lead to incorrect results due to "
            "broadcasting. Please ensure they have the same size."
        )


def _reduced_by_weight(loss: Any, weight: Any, reduction: str) -> Any:
    """The losses times their weights, whose mean is over the weights."""
    if weight is None:
        return reduced(loss, reduction)
    loss = loss * weight
    if reduction == "mean":
        return loss.sum() / weight.expand(loss.shape).sum()
    return reduced(loss, reduction)


def _elementwise(name: str, doc: str, formula: Any, **facts: Any) -> Any:
    """A loss of one pointwise formula: (input, target) with the usual reduction arguments."""
    inner = pointwise(formula, name=f"_{name}_terms", where=("aten",), inplace=False, out=False, **facts)

    def body(
        input,
        target,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
    ):
        reduction = reduction_of(reduction, size_average, reduce)
        _warn_sizes(input, target)
        return _reduced_by_weight(inner(input, target), weight, reduction)

    return composite(body, name=name, doc=doc, where=_F, planned=True)


def _square(input: Expr, target: Expr) -> Expr:
    """(input - target) ** 2."""
    apart = stored(input - target)
    return apart * apart


mse_loss = _elementwise(
    "mse_loss",
    "(input - target) ** 2: its mean (over weights), sum, or each; shapes broadcast, with a warning.",
    _square,
)
l1_loss = _elementwise(
    "l1_loss",
    "|input - target|: its mean (over weights), sum, or each; shapes broadcast, with a warning.",
    lambda input, target: m.abs(input - target),
    result="real",
)


@composite(where=_F, planned=True)
def smooth_l1_loss(
    input,
    target,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
):
    """d^2 / (2 beta) where |d| = |input - target| < beta, else |d| - beta / 2; its mean, sum, or each.

    RuntimeError for a negative beta; 0 is l1_loss. A warning where the shapes differ, which then broadcast.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    _warn_sizes(input, target)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0.0:
        return l1_loss(input, target, reduction=reduction)
    return reduced(_smooth_l1_terms(input, target, beta), reduction)


@composite(where=_F, planned=True)
def huber_loss(input, target, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None):
    """0.5 d ** 2 for |d| <= delta, else delta (|d| - 0.5 delta), of d = input - target; its mean, sum, or
    each.

    RuntimeError for a delta that is not positive. weight: of each element; the mean is over weights.
    """
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    _warn_sizes(input, target)
    return _reduced_by_weight(_huber_terms(input, target, delta), weight, reduction)


def _check_probabilities(input: Array, target: Array) -> None:
    for name, a in (("input", input), ("target", target)):
        seen = a if a.dtype.kind == "f" else a.astype(np.float32)  # bfloat16's own comparisons warn of nan
        # The positions of the extremes, which a nan is, are found sooner than the extremes.
        if a.size and not (seen.item(seen.argmin()) >= 0 and seen.item(seen.argmax()) <= 1):
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")


@_bce_terms.gradient
def _bce_terms_gradient(s: Any, grad: Any) -> Any:
    x, t = s.input, s.target
    safe = ((1 - x) * x).clamp(min=1e-12)
    back = (
        grad * ((x.clamp(min=1e-44).log().clamp(min=-100) * -1) + (1 - x).log().clamp(min=-100))
        if s.needs("target")
        else None
    )
    return grad * (x - t) / safe, back


@composite(where=_F)
def binary_cross_entropy(
    input,
    target,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
):
    """-(t log x + (1 - t) log(1 - x)) of probabilities x and targets t, logs cut off at -100; its mean, sum,
    or each.

    ValueError where the shapes differ, RuntimeError for numbers outside [0, 1] and where the dtypes differ.
    weight: expands to the input.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) is deprecated. Please ensure they have the same size."
        )
    if target.dtype is not input.dtype:
        raise RuntimeError(f"Found dtype {target.dtype.legacy} but expected {input.dtype.legacy}")
    refuse_gradient("binary_cross_entropy", "weight", weight)
    checked(_check_probabilities, input._array, target._array)
    loss = _bce_terms(input, target)
    return reduced(loss if weight is None else loss.mul_(weight), reduction)


def _as(t: Tensor, dtype: Any) -> Tensor:
    return t if t.dtype is dtype else t.to(dtype)


@composite(where=_F, planned=True)
def binary_cross_entropy_with_logits(
    input,
    target,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
):
    """binary_cross_entropy(sigmoid(input), target) without overflow; its mean, sum, or each.

    pos_weight multiplies the terms of positive targets, weight all. The result has the target's dtype where
    that is a lower one. ValueError where the shapes differ, RuntimeError for integer targets.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    refuse_gradient("binary_cross_entropy_with_logits", "weight", weight)
    refuse_gradient("binary_cross_entropy_with_logits", "pos_weight", pos_weight)
    negative = 1 - target
    of = negative.dtype
    if not (of.is_floating_point or of.is_complex):
        raise RuntimeError(
            f"result type {input.dtype.legacy} can't be cast to the desired output type {of.legacy}"
        )
    term = ROWS["logsigmoid"](input)
    if pos_weight is not None:  # these are written in place in PyTorch: the dtypes stay
        term = _as(((pos_weight - 1) * target + 1) * term, input.dtype)
    loss = _as(negative * input - term, of)
    return reduced(loss if weight is None else loss.mul_(weight), reduction)


@composite(where=_F, planned=True)
def kl_div(
    input,
    target,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
):
    """target * (log(target) - input) of log-probabilities; its mean, sum, or each, "batchmean" over the first
    size.

    log_target: the target is in log-space, too. Only "batchmean" is the divergence: "mean" warns.
    """
    if reduction != "batchmean":
        reduction = reduction_of(reduction, size_average, reduce)
    if not (target.is_floating_point() or target.is_complex()):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    terms = target.exp() * (target - input) if log_target else target.xlogy(target) - target * input
    if reduction == "batchmean":
        return terms.sum() / input.shape[0] if input.ndim else terms.sum()
    if reduction == "mean":
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support "
            "size.'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next major release."
        )
    return reduced(terms, reduction)


@composite(where=_F, planned=True)
def poisson_nll_loss(
    input,
    target,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
):
    """exp(x) - t x (or x - t log(x + eps)), plus Stirling's term for t > 1 when full."""
    reduction = reduction_of(reduction, size_average, reduce)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)


@composite(where=_F)
def gaussian_nll_loss(
    input,
    target,
    var: Tensor | Number,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
):
    """0.5 (log var + (input - target) ** 2 / var), var at least eps."""
    negative = (var < 0).any() if hasattr(var, "_kind") else var < 0
    if not hasattr(var, "_kind"):
        var = input.new_full(input.shape, var)
    if var.shape != input.shape:
        if tuple(input.shape[:-1]) == tuple(var.shape):
            var = var.unsqueeze(-1)
        elif (
            input.ndim != var.ndim
            or sum(v for n, v in zip(input.shape, var.shape, strict=True) if n != v) != 1
        ):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    if negative:
        raise ValueError("var has negative entry/entries")
    held = var.clone()
    held = where(var.detach() < eps, (var - var.detach()) + eps, held)
    loss = 0.5 * (held.log() + (input - target) ** 2 / held)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)
