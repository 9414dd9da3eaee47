"""Losses of torch.nn.functional."""
from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from rushlight.base.layout import broadcast_shapes
from rushlight.ops.activations import logsigmoid
from rushlight.ops.arithmetic import where
from rushlight.ops.rowexpr import at, iota, reduce_
from rushlight.ops.rowkernels import RowKernel
from rushlight.ops.scalar import Expr, m, symbol
from rushlight.ops.softmax import _log_softmax
from rushlight.ops.table import composite, opaque, pointwise

Array = np.ndarray[Any, Any]
_F = ("nn.functional",)


def reduction_of(reduction: str, size_average: Any, reduce: Any) -> str:
    """The reduction, with the legacy flags size_average and reduce taken into account."""
    if size_average is None and reduce is None:
        return reduction
    average = True if size_average is None else size_average
    kept = True if reduce is None else reduce
    found = ("mean" if average else "sum") if kept else "none"
    warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{found}' "
                  "instead.", stacklevel=4)
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


def _warn_sizes(input: Any, target: Any) -> None:
    if input.shape != target.shape:
        warnings.warn(f"Using a target size ({target.size()}) that is different to the input size "
                      f"({input.size()}). This will likely lead to incorrect results due to "
                      "broadcasting. Please ensure they have the same size.", stacklevel=4)


def _elementwise(name: str, doc: str, formula: Any, extra: str = "") -> Any:
    """A loss of one pointwise formula: (input, target) with the usual reduction arguments."""
    inner = pointwise(formula, name=f"_{name}_terms", where=("aten",), inplace=False, out=False)

    def body(input, target, size_average: "bool | None" = None, reduce: "bool | None" = None,
             reduction: "str" = "mean", weight: "Tensor | None" = None):
        reduction = reduction_of(reduction, size_average, reduce)
        _warn_sizes(input, target)
        loss = inner(input, target)
        if weight is not None:
            loss = loss * weight
            if reduction == "mean":
                return loss.sum() / weight.expand(loss.shape).sum()
        return reduced(loss, reduction)
    body.__name__, body.__doc__ = name, doc
    return composite(body, where=_F, autocast="float32")


def _square(input, target) -> Expr:
    """(input - target) ** 2."""
    apart = input - target
    return apart * apart


def _distance(input, target) -> Expr:
    """|input - target|."""
    return m.abs(input - target)


mse_loss = _elementwise("mse_loss", "The mean of (input - target) ** 2.", _square)
l1_loss = _elementwise("l1_loss", "The mean of |input - target|.", _distance)


@pointwise(name="_smooth_l1_terms", where=("aten",), inplace=False, out=False)
def _smooth_l1(input, target, beta: "Number" = 1.0) -> Expr:
    """Quadratic below beta, linear above."""
    apart = m.abs(input - target)
    return m.where(m.lt(apart, beta), 0.5 * apart * apart / beta, apart - 0.5 * beta)


@composite(where=_F, autocast="float32")
def smooth_l1_loss(input, target, size_average: "bool | None" = None, reduce: "bool | None" = None,
                   reduction: "str" = "mean", beta: "float" = 1.0):
    """Quadratic where |input - target| < beta, linear beyond."""
    reduction = reduction_of(reduction, size_average, reduce)
    _warn_sizes(input, target)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0.0:
        return l1_loss(input, target, reduction=reduction)
    return reduced(_smooth_l1(input, target, beta), reduction)


@pointwise(name="_huber_terms", where=("aten",), inplace=False, out=False)
def _huber(input, target, delta: "Number" = 1.0) -> Expr:
    """Quadratic up to delta, linear above."""
    apart = m.abs(input - target)
    return m.where(m.le(apart, delta), 0.5 * apart * apart, delta * (apart - 0.5 * delta))


@composite(where=_F, autocast="float32")
def huber_loss(input, target, reduction: "str" = "mean", delta: "float" = 1.0,
               weight: "Tensor | None" = None):
    """0.5 d ** 2 for |d| <= delta, else delta (|d| - 0.5 delta)."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    _warn_sizes(input, target)
    loss = _huber(input, target, delta)
    if weight is None:
        return reduced(loss, reduction)
    loss = loss * weight
    return loss.sum() / weight.expand(loss.shape).sum() if reduction == "mean" else reduced(
        loss, reduction)


@pointwise(name="_bce_terms", where=("aten",), inplace=False, out=False)
def _bce(input, target) -> Expr:
    """-(t log x + (1 - t) log(1 - x)), each log at least -100."""
    low = m.clamp_min(m.log(input), -100)
    high = m.clamp_min(m.log1p(-input), -100)
    return (target - 1) * high - target * low


@_bce.gradient
def _(s: Any, grad: Any) -> Any:
    x, t = s.input, s.target
    safe = ((1 - x) * x).clamp(min=1e-12)
    back = grad * ((x.clamp(min=1e-44).log().clamp(min=-100) * -1)
                   + (1 - x).log().clamp(min=-100)) if s.needs("target") else None
    return grad * (x - t) / safe, back


@composite(where=_F, autocast="refuse")
def binary_cross_entropy(input, target, weight: "Tensor | None" = None,
                         size_average: "bool | None" = None, reduce: "bool | None" = None,
                         reduction: "str" = "mean"):
    """-(t log x + (1 - t) log(1 - x)) of probabilities x; logs are cut off at -100."""
    reduction = reduction_of(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(f"Using a target size ({target.size()}) that is different to the input size "
                         f"({input.size()}) is deprecated. Please ensure they have the same size.")
    a = input._a
    if a.size and not bool(((a >= 0) & (a <= 1)).all()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    loss = _bce(input, target)
    return reduced(loss if weight is None else loss * weight, reduction)


@composite(where=_F, autocast="float32")
def binary_cross_entropy_with_logits(input, target, weight: "Tensor | None" = None,
                                     size_average: "bool | None" = None,
                                     reduce: "bool | None" = None, reduction: "str" = "mean",
                                     pos_weight: "Tensor | None" = None):
    """binary_cross_entropy(sigmoid(input), target) without overflow."""
    reduction = reduction_of(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.size()}) must be the same as input size "
                         f"({input.size()})")
    if pos_weight is None:
        loss = (1 - target) * input - logsigmoid(input)
    else:
        loss = (1 - target) * input - ((pos_weight - 1) * target + 1) * logsigmoid(input)
    return reduced(loss if weight is None else loss * weight, reduction)


# --- classification -------------------------------------------------------------------------------

def _check_classes(input: Any, target: Any, weight: Any) -> None:
    classes = input.shape[1] if input.ndim > 1 else input.shape[0]
    if target.dtype.name not in ("int64", "uint8", "int32"):
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.legacy}")
    if input.ndim == 1 and target.ndim > 1 or input.ndim == 0:
        raise RuntimeError("input tensor should be 1D or 2D")
    if input.ndim == 1:
        if target.numel() != 1:
            raise RuntimeError("For 1D input, 1D target must have the same batch size as the input")
    elif input.shape[0] != target.shape[0] if target.ndim else True:
        raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size "
                         f"({target.shape[0] if target.ndim else 0}).")
    if input.ndim > 1 and tuple(target.shape) != (input.shape[0], *input.shape[2:]):
        raise RuntimeError(f"Expected target size {[input.shape[0], *input.shape[2:]]}, got "
                           f"{list(target.shape)}")
    if weight is not None and weight.numel() != classes:
        raise RuntimeError(f"weight tensor should be defined either for all {classes} classes or no "
                           f"classes but got weight tensor of shape: {list(weight.shape)}")


def _in_range(target: Array, classes: int, ignore_index: int) -> Array:
    """Which targets count; IndexError for one that is no class."""
    counted = target != ignore_index
    wrong = counted & ((target < 0) | (target >= classes))
    if wrong.any():
        raise IndexError(f"Target {int(target[wrong].reshape(-1)[0])} is out of bounds.")
    return counted


@opaque(name="_nll", where=("aten",), node="nll_loss")
def _nll(input, target, weight: "Tensor | None", ignore_index: "int") -> tuple[Array, Array]:
    """-(log-probability of the target) * its class weight, and that weight; 0 where ignored."""
    rows = input[None] if input.ndim == 1 else input
    places = target.reshape(1) if input.ndim == 1 else target
    counted = _in_range(places, rows.shape[1], ignore_index)
    safe = np.where(counted, places, 0)
    picked = np.take_along_axis(rows, safe[:, None].astype(np.int64), 1)[:, 0]
    share = counted.astype(input.dtype) if weight is None else np.where(
        counted, weight[safe], np.zeros((), input.dtype))
    loss = np.where(counted, -picked * share, np.zeros((), input.dtype)).astype(input.dtype)
    shape = target.shape
    return loss.reshape(shape), np.asarray(share, input.dtype).reshape(shape)


@_nll.gradient
def _(s: Any, grad: Any, unused: Any = None) -> Any:
    shape, target = s.shape("input"), s.target
    if grad is None:
        return None
    share = s.result[1].detach()
    places = target.long()
    if len(shape) > 1:
        places, value = places.unsqueeze(1), -(grad * share).unsqueeze(1)
    else:
        places, value = places.reshape(1), -(grad * share).reshape(1)
    places = places.masked_fill(places == s.ignore_index, 0)
    return grad.new_zeros(shape).scatter(1 if len(shape) > 1 else 0, places, value), None, None


@composite(where=_F, autocast="float32")
def nll_loss(input, target, weight: "Tensor | None" = None, size_average: "bool | None" = None,
             ignore_index: "int" = -100, reduce: "bool | None" = None, reduction: "str" = "mean"):
    """-input[target] of log-probabilities (N, C, *), weighted by class; the mean is over weights."""
    reduction = reduction_of(reduction, size_average, reduce)
    _check_classes(input, target, weight)
    loss, share = _nll(input, target, weight, ignore_index)
    if reduction == "mean":
        return loss.sum() / share.sum()
    return reduced(loss, reduction)


_X, _T, _IGNORE, _LSE = symbol("x"), symbol("t"), symbol("ignore"), symbol("lse")
_G = symbol("g")


def _loss_of_row() -> tuple[Expr, ...]:
    high = reduce_("max", _X)
    lse = high + m.log(reduce_("add", m.exp(_X - high)))
    counted = m.ne(_T, _IGNORE)
    safe = m.where(counted, _T, 0)
    return m.where(counted, lse - at(_X, safe), 0), lse


def _gradient_of_row() -> tuple[Expr, ...]:
    p = m.exp(_X - _LSE)
    return (m.where(m.eq(iota(), _T), (p - 1) * _G, p * _G),)


_cross_entropy_rows = RowKernel(_loss_of_row, ("x", "t", "ignore"), ("t", "ignore"))
_cross_entropy_back = RowKernel(_gradient_of_row, ("x", "t", "lse", "g"), ("t", "lse", "g"))


@composite(name="_cross_entropy_rows", where=("aten",), node="nll_loss")
def _rows_loss(input, target, ignore_index: "int", reduction: "str"):
    """logsumexp(x) - x[target] of rows (N, C), 0 where ignored, reduced; and the logsumexp."""
    lse = input.logsumexp(1)
    counted = target != ignore_index
    picked = input.gather(1, where(counted, target, 0).unsqueeze(1)).squeeze(1)
    loss = where(counted, lse - picked, 0.0)
    return loss.sum() / counted.sum() if reduction == "mean" else reduced(loss, reduction), lse


@_rows_loss.kernel
def _(x: Array, t: Array, ignore_index: int, reduction: str) -> Any:
    counted = _in_range(t, x.shape[1], ignore_index)
    ignore = np.broadcast_to(np.asarray(ignore_index, np.int64), (x.shape[0], 1))
    found = _cross_entropy_rows(1, x, t[:, None], ignore)
    if found is NotImplemented or reduction == "none":
        return found
    total = np.add.reduce(found[0])
    if reduction == "mean":
        total = total / x.dtype.type(np.count_nonzero(counted))
    return np.asarray(total), found[1]


@_rows_loss.gradient
def _(s: Any, grad: Any, grad_lse: Any = None) -> Any:
    return _rows_loss_backward(s.input, s.target, s.result[1], grad, s.ignore_index,
                               s.reduction), None


@composite(name="_cross_entropy_backward", where=("aten",))
def _rows_loss_backward(input, target, lse, grad, ignore_index: "int", reduction: "str"):
    """(softmax(x) - one_hot(target)) * g, per row."""
    counted = (target != ignore_index).to(grad.dtype)
    grad = grad * (counted / counted.sum() if reduction == "mean" else counted)
    p = (input - input.logsumexp(1, True)).exp()
    hot = p.new_zeros(p.shape).scatter(1, target.clamp(0, p.shape[1] - 1).unsqueeze(1), 1.0)
    return (p - hot) * grad.unsqueeze(1)


@_rows_loss_backward.kernel
def _(x: Array, t: Array, lse: Array, g: Array, ignore_index: int, reduction: str) -> Any:
    counted = t != ignore_index
    share = g / x.dtype.type(np.count_nonzero(counted)) if reduction == "mean" else g
    return _cross_entropy_back(1, x, t[:, None], lse[:, None], (share * counted)[:, None])


@composite(where=_F, autocast="float32")
def cross_entropy(input, target, weight: "Tensor | None" = None, size_average: "bool | None" = None,
                  ignore_index: "int" = -100, reduce: "bool | None" = None,
                  reduction: "str" = "mean", label_smoothing: "float" = 0.0):
    """The cross-entropy of logits (N, C, *) and classes (N, *), or probabilities (N, C, *)."""
    reduction = reduction_of(reduction, size_average, reduce)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if target.dtype.is_floating_point:
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing)
    _check_classes(input, target, weight)
    simple = weight is None and not label_smoothing and input.ndim == 2 and input.numel()
    if simple and target.dtype.name == "int64" and input.dtype.itemsize >= 4:
        return _rows_loss(input, target, ignore_index, reduction)[0]
    logs = _log_softmax(input, 0 if input.ndim == 1 else 1)
    if not label_smoothing:
        return nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    return _smoothed(logs, target, weight, ignore_index, reduction, label_smoothing)


def _smoothed(logs: Any, target: Any, weight: Any, ignore_index: int, reduction: str,
              smoothing: float) -> Any:
    dim = 0 if logs.ndim == 1 else 1
    loss, share = _nll(logs, target, weight, ignore_index)
    shape = [1] * logs.ndim
    shape[dim] = -1
    spread = -(logs if weight is None else logs * weight.reshape(shape)).sum(dim)
    spread = spread.masked_fill(target == ignore_index, 0.0)
    if reduction == "mean":
        loss, spread = loss.sum() / share.sum(), spread.sum() / share.sum()
    else:
        loss, spread = reduced(loss, reduction), reduced(spread, reduction)
    return (1 - smoothing) * loss + smoothing / logs.shape[dim] * spread


def _soft_cross_entropy(input: Any, target: Any, weight: Any, reduction: str,
                        smoothing: float) -> Any:
    if input.shape != target.shape:
        raise RuntimeError(f"cross_entropy: expected class probabilities of size {list(input.shape)}, "
                           f"got {list(target.shape)}")
    dim = 0 if input.ndim == 1 else 1
    classes = input.shape[dim]
    if smoothing:
        target = target * (1 - smoothing) + smoothing / classes
    terms = _log_softmax(input, dim) * target
    if weight is not None:
        shape = [1] * input.ndim
        shape[dim] = -1
        terms = terms * weight.reshape(shape)
    if reduction == "mean":
        return -terms.sum() / max(input.numel() // classes, 1) if input.ndim > 1 else -terms.sum()
    return -terms.sum() if reduction == "sum" else reduced(-terms.sum(dim), reduction)


@composite(where=_F, autocast="float32")
def kl_div(input, target, size_average: "bool | None" = None, reduce: "bool | None" = None,
           reduction: "str" = "mean", log_target: "bool" = False):
    """target * (log(target) - input) of log-probabilities; the divergence is "batchmean"."""
    if reduction != "batchmean":
        reduction = reduction_of(reduction, size_average, reduce)
    terms = target.exp() * (target - input) if log_target else target.xlogy(target) - target * input
    if reduction == "batchmean":
        return terms.sum() / input.shape[0] if input.ndim else terms.sum()
    if reduction == "mean":
        warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support "
                      "size.'batchmean' divides only by the batch size, and aligns with the KL div math "
                      "definition.'mean' will be changed to behave the same as 'batchmean' in the next "
                      "major release.", stacklevel=3)
    return reduced(terms, reduction)


@composite(where=_F, autocast="float32")
def poisson_nll_loss(input, target, log_input: "bool" = True, full: "bool" = False,
                     size_average: "bool | None" = None, eps: "float" = 1e-8,
                     reduce: "bool | None" = None, reduction: "str" = "mean"):
    """exp(x) - t x (or x - t log(x + eps)), plus Stirling's term for t > 1 when full."""
    reduction = reduction_of(reduction, size_average, reduce)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduced(loss, reduction)


@composite(where=_F, autocast="float32")
def gaussian_nll_loss(input, target, var: "Tensor | Number", full: "bool" = False,
                      eps: "float" = 1e-6, reduction: "str" = "mean"):
    """0.5 (log var + (input - target) ** 2 / var), var at least eps."""
    if not hasattr(var, "_a"):
        var = input.new_full(input.shape, var)
    if var.shape != input.shape:
        if tuple(input.shape[:-1]) == tuple(var.shape):
            var = var.unsqueeze(-1)
        elif not (tuple(input.shape[:-1]) == tuple(var.shape[:-1]) and var.shape[-1] == 1):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    if bool((var._a < 0).any()):
        raise ValueError("var has negative entry/entries")
    held = var.clone()
    held = where(var.detach() < eps, (var - var.detach()) + eps, held)
    loss = 0.5 * (held.log() + (input - target) ** 2 / held)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


# --- margins and distances ------------------------------------------------------------------------

@composite(where=_F)
def hinge_embedding_loss(input, target, margin: "float" = 1.0, size_average: "bool | None" = None,
                         reduce: "bool | None" = None, reduction: "str" = "mean"):
    """x where y = 1, max(0, margin - x) where y = -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    near = where(target != 1, (margin - input).clamp(min=0), 0.0)
    far = where(target != -1, input, 0.0)
    return reduced(near + far, reduction)


@composite(where=("torch", "nn.functional"))
def margin_ranking_loss(input1, input2, target, margin: "float" = 0,
                        size_average: "bool | None" = None, reduce: "bool | None" = None,
                        reduction: "str" = "mean"):
    """max(0, -y (x1 - x2) + margin)."""
    reduction = reduction_of(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got "
                           f"sizes: input1: {input1.size()}, input2: {input2.size()}, target: "
                           f"{target.size()} ")
    return reduced((-target * (input1 - input2) + margin).clamp(min=0), reduction)


@composite(where=_F)
def soft_margin_loss(input, target, size_average: "bool | None" = None,
                     reduce: "bool | None" = None, reduction: "str" = "mean"):
    """log(1 + exp(-y x))."""
    reduction = reduction_of(reduction, size_average, reduce)
    return reduced((-target * input).exp().log1p(), reduction)


@composite(where=("torch", "nn.functional"))
def cosine_similarity(x1, x2, dim: "int" = 1, eps: "float" = 1e-08):
    """x1 . x2 / (|x1| |x2|) along dim, each norm at least eps."""
    shape = broadcast_shapes(x1.shape, x2.shape)
    x1, x2 = x1.expand(shape), x2.expand(shape)
    size1 = (x1 * x1).sum(dim, True).sqrt()
    size2 = (x2 * x2).sum(dim, True).sqrt()
    return ((x1 / size1.clamp(min=eps)) * (x2 / size2.clamp(min=eps))).sum(dim)


@composite(where=("torch", "nn.functional"))
def pairwise_distance(x1, x2, p: "float" = 2.0, eps: "float" = 1e-06, keepdim: "bool" = False):
    """The p-norm of x1 - x2 + eps along the last dim."""
    from rushlight.ops.statistics import vector_norm

    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


@composite(where=_F)
def cosine_embedding_loss(input1, input2, target, margin: "float" = 0,
                          size_average: "bool | None" = None, reduce: "bool | None" = None,
                          reduction: "str" = "mean"):
    """1 - cos where y = 1, max(0, cos - margin) where y = -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    eps = 1e-12
    dim = input1.ndim - 1 if input1.ndim else 0
    dot = (input1 * input2).sum(dim)
    cos = dot / ((((input1 * input1).sum(dim) + eps) * ((input2 * input2).sum(dim) + eps)).sqrt())
    loss = where(target == 1, 1 - cos, 0.0) + where(target == -1, (cos - margin).clamp(min=0), 0.0)
    return reduced(loss, reduction)


@composite(where=_F)
def triplet_margin_loss(anchor, positive, negative, margin: "float" = 1.0, p: "float" = 2,
                        eps: "float" = 1e-6, swap: "bool" = False,
                        size_average: "bool | None" = None, reduce: "bool | None" = None,
                        reduction: "str" = "mean"):
    """max(0, d(a, p) - d(a, n) + margin) with p-norm distances."""
    reduction = reduction_of(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return reduced((margin + near - far).clamp(min=0), reduction)


@composite(where=_F)
def multilabel_soft_margin_loss(input, target, weight: "Tensor | None" = None,
                                size_average: "bool | None" = None, reduce: "bool | None" = None,
                                reduction: "str" = "mean"):
    """The mean over classes of binary cross-entropy with logits."""
    reduction = reduction_of(reduction, size_average, reduce)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduced(loss.sum(-1) / input.shape[-1], reduction)
