"""Losses of classes: nll_loss, and cross_entropy as one kernel each way where it can be."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.core.determinism import alert_on_cuda
from rushlight._engine.core.dtype import float32, float64
from rushlight._engine.core.recording import fusing
from rushlight._engine.core.services import service
from rushlight._engine.ops.constant_operands import refuse_gradient
from rushlight._engine.ops.expressions import Expr, m, symbol
from rushlight._engine.ops.indexing.along_dim import FEW, take_along
from rushlight._engine.ops.nn.losses import reduced, reduction_of
from rushlight._engine.ops.nn.softmax import _log_softmax
from rushlight._engine.ops.pointwise.arithmetic import where
from rushlight._engine.ops.reductions.reductions import amax
from rushlight._engine.ops.resolved import resolved
from rushlight._engine.ops.row_expressions import at, iota, reduce_
from rushlight._engine.ops.row_kernels import BIG, RowKernel
from rushlight._engine.ops.table import Array, composite, opaque

_F = ("nn.functional",)


def _check_classes(input: Any, target: Any, weight: Any) -> None:
    sizes, given = tuple(input.shape), tuple(target.shape)
    if not sizes:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    batch = given[0] if given else 0
    if len(sizes) > 1 and sizes[0] != batch:
        raise ValueError(f"Expected input batch_size ({sizes[0]}) to match target batch_size ({batch}).")
    if len(sizes) < 3 and len(given) > 1:
        raise RuntimeError(
            "0D or 1D target tensor expected, multi-target not supported: got a target of "
            f"shape {list(given)} for an input of shape {list(sizes)}"
        )
    if len(sizes) > 2 and given != (batch, *sizes[2:]):
        raise RuntimeError(f"Expected target size {[batch, *sizes[2:]]}, got {list(given)}")
    if target.dtype.name not in ("int64", "uint8"):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {target.dtype.legacy}: use "
            f"target.long(), or for class probabilities the input's shape {list(sizes)}"
        )
    if len(sizes) == 1 and target.numel() != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {batch}")
    refuse_gradient("nll_loss2d_forward" if len(sizes) > 2 else "nll_loss_forward", "weight", weight)
    classes = sizes[len(sizes) > 1]
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.legacy} but found {weight.dtype.legacy}")
    if weight is not None and (weight.ndim != 1 or weight.numel() != classes):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no "
            f"classes but got weight tensor of shape: {list(weight.shape)}"
        )


def in_range(target: Array, classes: int, ignore_index: int) -> Array:
    """Which targets count; IndexError for one that is no class."""
    counted: Array = target != ignore_index
    if _plain(target, classes, -1):
        return counted
    wrong = counted & ((target < 0) | (target >= classes))
    if wrong.any():
        raise IndexError(f"Target {int(target[wrong].reshape(-1)[0])} is out of bounds.")
    return counted


@opaque(name="_nll", where=("aten",), node="nll_loss")
def _nll(input, target, weight: Tensor | None, ignore_index: int) -> tuple[Array, Array]:
    """-(log-probability of the target) * its class weight, and that weight; 0 where ignored."""
    rows = input[None] if input.ndim == 1 else input
    places = target.reshape(1) if input.ndim == 1 else target
    if _plain(places, rows.shape[1], ignore_index):
        picked = take_along(rows, 1, places[:, None]).reshape(target.shape)
        if weight is None:
            return -picked, np.full(target.shape, 1, input.dtype)
        share = weight.take(target)
        return -(picked * share), share
    counted = in_range(places, rows.shape[1], ignore_index)
    safe = np.where(counted, places, 0)
    picked = np.take_along_axis(rows, safe[:, None].astype(np.int64), 1)[:, 0]
    share = (
        counted.astype(input.dtype)
        if weight is None
        else np.where(counted, weight[safe], np.zeros((), input.dtype))
    )
    loss = np.where(counted, -picked * share, np.zeros((), input.dtype)).astype(input.dtype)
    shape = target.shape
    return loss.reshape(shape), np.asarray(share, input.dtype).reshape(shape)


def _plain(target: Array, classes: int, ignore_index: int) -> bool:
    """Whether all are classes that count."""
    seen = target.view(np.uint64) if target.dtype == np.int64 else target  # a negative one is huge there
    return (
        seen is not target
        and seen.size > 0
        and not 0 <= ignore_index < classes
        and bool(seen.item(seen.argmax()) < classes)
    )


@_nll.gradient
def _nll_gradient(s: Any, grad: Any, unused: Any = None) -> Any:
    if grad is None:
        return None
    share = s.result[1].detach()
    return _nll_backward(grad, share, s.target, tuple(s.shape("input")), s.ignore_index), None, None


@composite(name="_nll_backward", where=("aten",))
def _nll_backward(grad, share, target, shape: Ints, ignore_index: int):
    """-grad * share at the targets, 0 elsewhere."""
    places = target.long()
    if len(shape) > 1:
        places, value = places.unsqueeze(1), -(grad * share).unsqueeze(1)
    else:
        places, value = places.reshape(1), -(grad * share).reshape(1)
    places = places.masked_fill(places == ignore_index, 0)
    return grad.new_zeros(shape).scatter(1 if len(shape) > 1 else 0, places, value)


@_nll_backward.kernel
def _nll_backward_kernel(g: Array, share: Array, t: Array, shape: tuple[int, ...], ignore_index: int) -> Any:
    if len(shape) != 2 or t.size > FEW or g.dtype != share.dtype:
        return NotImplemented
    out = np.zeros(shape, g.dtype)
    out[np.arange(shape[0]), np.where(t == ignore_index, 0, t)] = -(g * share)
    return out


@composite(name="_nll_mean", where=("aten",), node="nll_loss")
def _nll_mean(input, target, ignore_index: int):
    """The mean of _nll over what counts, without weights."""
    loss, share = _nll(input, target, None, ignore_index)
    return loss.sum() / share.sum()


@_nll_mean.kernel
@resolved
def _nll_mean_kernel(input: Array, target: Array, ignore_index: int) -> Any:
    n, classes = target.size, input.shape[-1]
    simple = input.ndim == 2 and n <= FEW and input.flags.c_contiguous
    lines, over = np.arange(n if simple else 0) * classes, input.dtype.type(-n)
    total = service("reduction of few elements")(np.add, np.empty(len(lines), input.dtype), (0,), False)
    total = total or np.add.reduce

    def run(x: Array, t: Array) -> Array:
        if simple and _plain(t, classes, ignore_index):
            return np.asarray(total(x.take(t + lines)) / over)
        return np.asarray(np.divide(*[np.add.reduce(a, None) for a in _nll.body(x, t, None, ignore_index)]))

    return run


def _left_to_chance(input: Any, reduction: str) -> None:
    """Say so where PyTorch sums the losses of planes in any order."""
    if reduction != "none" and input.ndim > 2:
        alert_on_cuda("nll_loss2d_forward_out_cuda_template", input)


@composite(where=_F, planned=True)
def nll_loss(
    input,
    target,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
):
    """-input[target] of log-probabilities (N, C, *) or (C,) and int64 classes (N, *) or (); its mean, sum, or
    each.

    weight (C,): of each class; the mean is over weights. Targets ignore_index (-100) do not count; IndexError
    for others outside [0, C).
    """
    reduction = reduction_of(reduction, size_average, reduce)
    _check_classes(input, target, weight)
    _left_to_chance(input, reduction)
    if reduction == "mean" and weight is None and input.dtype in (float32, float64):
        return _nll_mean(input, target, ignore_index)
    loss, share = _nll(input, target, weight, ignore_index)
    return loss.sum() / share.sum() if reduction == "mean" else reduced(loss, reduction)


@composite(where=("aten",), planned=True)
def nll_loss2d(
    input, target, weight: Tensor | None = None, reduction: str = "mean", ignore_index: int = -100
):
    """nll_loss of images (N, C, H, W), whose reduction PyTorch's signature has a number for."""
    return nll_loss(input, target, weight, None, ignore_index, None, reduction)


_X, _T, _IGNORE, _G = symbol("x"), symbol("t"), symbol("ignore"), symbol("g")
_HIGH, _TOTAL = symbol("high"), symbol("total")


def _loss_of_row() -> tuple[Expr, ...]:
    """Differences from the maximum keep digits that sums with it lose."""
    high = reduce_("max", _X)
    total = m.log(reduce_("add", m.exp(_X - high)))
    counted = m.ne(_T, _IGNORE)
    safe = m.where(counted, _T, 0)
    return m.where(counted, total - (at(_X, safe) - high), 0), high, total


def _gradient_of_row() -> tuple[Expr, ...]:
    p = m.exp(_X - _HIGH - _TOTAL)
    return (m.where(m.eq(iota(), _T), (p - 1) * _G, p * _G),)


loss_of_rows = RowKernel(_loss_of_row, ("x", "t", "ignore"), ("t", "ignore"))
gradient_of_rows = RowKernel(_gradient_of_row, ("x", "t", "high", "total", "g"), ("t", "high", "total", "g"))


@composite(name="_cross_entropy_rows", where=("aten",), node="nll_loss", planned_gradient=True)
def _rows_loss(input, target, ignore_index: int, reduction: str):
    """-log_softmax(x)[target] of rows (N, C), 0 where ignored, reduced; the rows' maxima, and the logarithms
    of the sums of exp(x - maximum).
    """
    high, counted = amax(input, 1), target != ignore_index
    apart = input - high.unsqueeze(1)
    total = apart.exp().sum(1).log()
    safe = where(counted, target, 0)
    # Here, as a device makes one kernel of it and what comes before.
    count = counted.sum() if reduction == "mean" else None
    loss = where(counted, total - apart.gather(1, safe.unsqueeze(1)).squeeze(1), 0.0)
    loss = reduced(loss, reduction) if count is None else loss.sum() / count
    return loss, high, total


@_rows_loss.kernel
@resolved
def _rows_loss_kernel(x: Array, t: Array, ignore_index: int, reduction: str) -> Any:
    many, classes, of, ignore = t.size, x.shape[1], x.dtype.type, np.array([[ignore_index]], np.int64)
    kernel, ignored = loss_of_rows.compiled(x, t, ignore), ignore.reshape(())
    if kernel is NotImplemented or not x.size:
        return NotImplemented
    losses_of, total = kernel.large if x.size >= BIG else kernel.fn, np.add.reduce
    if x.size <= FEW and kernel.decide((x,)):
        of_rows = np.empty((3, many), of)
        operands = x, t, ignored, *of_rows
        loop = service("loop over few elements")(kernel, operands, operands)
        losses_of = kernel.fn if loop is None else _by_loop(loop, many, of)
        total = service("reduction of few elements")(np.add, of_rows[0], (0,), False) or total

    def run(x: Array, t: Array) -> tuple[Array, ...]:
        count = many if _plain(t, classes, ignore_index) else in_range(t, classes, ignore_index).sum()
        if reduction == "none":
            found: tuple[Array, ...] = loss_of_rows(1, x, t[:, None], ignore)
            return found
        losses, *moments = losses_of(x, t, ignored)
        loss = total(losses)
        return np.asarray(loss / of(count) if reduction == "mean" else loss), *moments

    return run


def _by_loop(loop: Any, many: int, of: Any) -> Any:
    """The losses and moments of few rows, by a kernel's loop alone."""

    def losses_of(x: Array, t: Array, ignored: Array) -> tuple[Array, ...]:
        found = np.empty(many, of), np.empty(many, of), np.empty(many, of)
        loop(x, t, ignored, *found)
        return found

    return losses_of


@_rows_loss.gradient
def _rows_loss_gradient(s: Any, grad: Any, grad_high: Any = None, grad_total: Any = None) -> Any:
    high, total = s.result[1], s.result[2]  # the loss itself may have been written to
    return _rows_loss_backward(s.input, s.target, high, total, grad, s.ignore_index, s.reduction), None


@composite(name="_cross_entropy_backward", where=("aten",))
def _rows_loss_backward(input, target, high, total, grad, ignore_index: int, reduction: str):
    """(softmax(x) - one_hot(target)) * g, per row."""
    counted = target != ignore_index
    if reduction == "mean":
        grad = grad / counted.sum()
    grad = where(counted, grad, 0.0)  # also where nothing counts, and the mean is nan
    p = _log_softmax(input, 1).exp()
    hot = p.new_zeros(p.shape).scatter(1, target.clamp(0, p.shape[1] - 1).unsqueeze(1), 1.0)
    return (p - hot) * grad.unsqueeze(1)


@_rows_loss_backward.kernel
@resolved
def _rows_loss_backward_kernel(
    x: Array, t: Array, high: Array, total: Array, g: Array, ignore_index: int, reduction: str
) -> Any:
    of, loop, shape = x.dtype, None, x.shape
    share = np.empty(t.shape, of)
    kernel = gradient_of_rows.compiled(x, t, high, total, share)
    if kernel is NotImplemented or not x.size:
        return NotImplemented
    if x.size <= FEW and g.dtype == of and x.flags.c_contiguous and kernel.decide((x,)):
        operands = x, t, *[np.empty(t.shape, of) for _ in range(3)], np.empty(shape, of)
        loop = service("loop over few elements")(kernel, operands, operands)

    def run(x: Array, t: Array, high: Array, total: Array, g: Array) -> Any:
        counted = t != ignore_index
        share = g / of.type(np.count_nonzero(counted) or 1) if reduction == "mean" else g
        if loop is None:
            return gradient_of_rows(1, x, *[a[:, None] for a in (t, high, total, share * counted)])
        found = np.empty(shape, of)
        loop(x, t, high, total, share * counted, found)
        return found

    return run


@composite(name="_cross_entropy_planes", where=("aten",), node="nll_loss", unread=(0,), planned=True)
def _planes_loss(input, target, weight: Tensor | None, ignore_index: int, reduction: str):
    """The same of (N, C, *), weighted by class; the log-probabilities, and the weights of the targets."""
    _left_to_chance(input, reduction)
    logs = _log_softmax(input, 1)
    loss, share = _nll(logs, target, weight, ignore_index)
    return loss.sum() / share.sum() if reduction == "mean" else reduced(loss, reduction), logs, share


@_planes_loss.gradient
def _planes_loss_gradient(s: Any, grad: Any, grad_logs: Any = None, grad_share: Any = None) -> Any:
    _, logs, share = s.result
    found = None
    if grad is not None:
        found = _planes_loss_backward(logs, s.target, share.detach(), grad, s.reduction)
    if grad_logs is not None:  # of a second derivative
        more = grad_logs - logs.exp() * grad_logs.sum(1, True)
        found = more if found is None else found + more
    return found, None, None


@composite(name="_cross_entropy_planes_backward", where=("aten",), planned=True)
def _planes_loss_backward(logs, target, share, grad, reduction: str):
    """(softmax(x) - one_hot(target)) * the targets' shares of a gradient, by the log-probabilities.

    What does not count has a gradient of 0, also where nothing counts and the mean is nan.
    """
    grad = where(share != 0, grad * share / share.sum(), 0.0) if reduction == "mean" else grad * share
    p = logs.exp()
    hot = p.new_zeros(p.shape).scatter(1, target.clamp(0, p.shape[1] - 1).unsqueeze(1), 1.0)
    return (p - hot) * grad.unsqueeze(1)


@_planes_loss_backward.kernel
def _planes_loss_backward_kernel(logs: Array, t: Array, share: Array, g: Array, reduction: str) -> Any:
    if fusing() or t.dtype != np.int64:
        return NotImplemented
    g = np.where(share != 0, g * share / np.add.reduce(share, None), 0) if reduction == "mean" else g * share
    kernel = _class_slopes(logs.dtype.name)
    kernel.compile_now()
    classes = np.arange(logs.shape[1]).reshape(-1, *[1] * (logs.ndim - 2))
    run = kernel.large if logs.size >= BIG else kernel
    g = g.astype(logs.dtype, copy=False)
    return run(logs, t[:, None], classes, g[:, None], out=np.empty(logs.shape, logs.dtype))


@cache
def _class_slopes(of: str) -> Any:
    """The kernel of (exp(logs) - one_hot(target)) * g, where an element knows its class."""
    p, own = m.exp(_X), symbol("class")
    inputs = [("x", of), ("t", "int64"), ("class", "int64"), ("g", of)]
    return service("pointwise kernel")((m.where(m.eq(own, _T), p - 1, p) * _G,), tuple(inputs), (of,))


@composite(where=_F, planned=True)
def cross_entropy(
    input,
    target,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
):
    """The cross-entropy of logits (N, C, *) or (C,) and int64 classes (N, *) or (), or probabilities like the
    logits.

    Its mean (over the weights of targets that count), sum, or each (N, *). weight (C,): of each class.
    Targets ignore_index (-100) do not count; IndexError for others outside [0, C). label_smoothing in [0, 1]
    mixes targets with the uniform distribution.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if input.shape == target.shape:
        if not target.dtype.is_floating_point:
            raise RuntimeError(
                f"Expected floating point type for target with class probabilities, got {target.dtype.legacy}"
            )
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing)
    _check_classes(input, target, weight)
    simple = not label_smoothing and input.ndim > 1 and input.numel()
    if simple and target.dtype.name == "int64" and input.dtype in (float32, float64):
        if weight is None and input.ndim == 2:
            return _rows_loss(input, target, ignore_index, reduction)[0]
        return _planes_loss(input, target, weight, ignore_index, reduction)[0]
    logs = _log_softmax(input, 0 if input.ndim == 1 else 1)
    if not label_smoothing:
        return nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    return _smoothed(logs, target, weight, ignore_index, reduction, label_smoothing)


def _by_class(terms: Any, weight: Any, dim: int) -> Any:
    """Terms times the weights of their classes, which lie along dim."""
    return terms if weight is None else terms * weight.reshape(-1, *[1] * (terms.ndim - 1 - dim))


def _smoothed(
    logs: Any, target: Any, weight: Any, ignore_index: int, reduction: str, smoothing: float
) -> Any:
    dim = 0 if logs.ndim == 1 else 1
    _left_to_chance(logs, reduction)
    loss, share = _nll(logs, target, weight, ignore_index)
    spread = -_by_class(logs, weight, dim).sum(dim)
    spread = spread.masked_fill(target == ignore_index, 0.0)
    if reduction == "mean":
        loss, spread = loss.sum() / share.sum(), spread.sum() / share.sum()
    else:
        loss, spread = reduced(loss, reduction), reduced(spread, reduction)
    return (1 - smoothing) * loss + smoothing / logs.shape[dim] * spread


def _soft_cross_entropy(input: Any, target: Any, weight: Any, reduction: str, smoothing: float) -> Any:
    dim = 0 if input.ndim == 1 else 1
    classes = input.shape[dim]
    if smoothing:
        target = target * (1 - smoothing) + smoothing / classes
    terms = _by_class(_log_softmax(input, dim) * target, weight, dim)
    if reduction == "mean":
        return -terms.sum() / (input.numel() // max(classes, 1)) if input.ndim > 1 else -terms.sum()
    return -terms.sum() if reduction == "sum" else reduced(-terms.sum(dim), reduction)
