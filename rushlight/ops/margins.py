"""Losses of distances and margins, the distances themselves, and of sequences (CTC)."""
from __future__ import annotations

from functools import lru_cache, partial
from math import inf, prod
from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.base.layout import Ints, broadcast_shapes
from rushlight.base.promotion import promote_types
from rushlight.ops.activations import logsigmoid
from rushlight.ops.arithmetic import where
from rushlight.ops.copying import tensor_of
from rushlight.ops.losses import loss, reduced
from rushlight.ops.machine import machine
from rushlight.ops.scalar import m, symbol
from rushlight.ops.statistics import vector_norm
from rushlight.ops.table import ROWS, composite
from rushlight.ops.ways import Way, resolved

_F = ("nn.functional",)


@loss()
def hinge_embedding_loss(input, target, margin: "float" = 1.0):
    """x where y = 1, max(0, margin - x) where y = -1."""
    near = where(target != 1, (margin - input).clamp(min=0), 0.0)
    return near + where(target != -1, input, 0.0)


@loss("torch", "nn.functional")
def margin_ranking_loss(input1, input2, target, margin: "float" = 0):
    """max(0, -y (x1 - x2) + margin)."""
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got "
                           f"sizes: input1: {input1.size()}, input2: {input2.size()}, target: "
                           f"{target.size()} ")
    return (-target * (input1 - input2) + margin).clamp(min=0)


@loss()
def soft_margin_loss(input, target):
    """log(1 + exp(-y x))."""
    return (-target * input).exp().log1p()


@composite(where=("torch", "nn.functional"), planned=True)
def cosine_similarity(x1, x2, dim: "int" = 1, eps: "float" = 1e-08):
    """x1 . x2 / (|x1| |x2|) along dim, each norm at least eps."""
    shape = broadcast_shapes(x1.shape, x2.shape)
    of = promote_types(x1.dtype, x2.dtype)
    if not of.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {of.legacy}")
    x1, x2 = ((x if x.is_floating_point() else x.to(of)).expand(shape) for x in (x1, x2))
    size1, size2 = ((x.float() if x.dtype.itemsize == 2 else x).square().sum(dim, True).sqrt().to(x.dtype)
                    for x in (x1, x2))
    return ((x1 / size1.clamp(min=eps)) * (x2 / size2.clamp(min=eps))).sum(dim)


@composite(where=("torch", "nn.functional"))
def pairwise_distance(x1, x2, p: "float" = 2.0, eps: "float" = 1e-06, keepdim: "bool" = False):
    """The p-norm of x1 - x2 + eps along the last dim."""
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


@loss()
def cosine_embedding_loss(input1, input2, target, margin: "float" = 0):
    """1 - cos where y = 1, max(0, cos - margin) where y = -1."""
    eps = 1e-12
    dim = input1.ndim - 1 if input1.ndim else 0
    dot = (input1 * input2).sum(dim)
    cos = dot / ((((input1 * input1).sum(dim) + eps) * ((input2 * input2).sum(dim) + eps)).sqrt())
    return where(target == 1, 1 - cos, 0.0) + where(target == -1, (cos - margin).clamp(min=0), 0.0)


@loss()
def triplet_margin_loss(anchor, positive, negative, margin: "float" = 1.0, p: "float" = 2,
                        eps: "float" = 1e-6, swap: "bool" = False):
    """max(0, d(a, p) - d(a, n) + margin) with p-norm distances."""
    distance = partial(pairwise_distance, p=p, eps=eps)
    return _triplet(distance, anchor, positive, negative, margin, swap)


@loss()
def multilabel_soft_margin_loss(input, target, weight: "Tensor | None" = None):
    """The mean over classes of binary cross-entropy with logits."""
    terms = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    terms = terms if weight is None else terms * weight
    return terms.sum(-1) / input.shape[-1]


def _rows(input: Any, target: Any, labels: int) -> tuple[Any, Any]:
    """Input as (N, C) and target as (N,) or (N, C)."""
    if not input.ndim:
        input = input.reshape(1)
        target = target.reshape(1) if labels else target
    if input.ndim not in (1, 2) or not input.shape[-1]:
        raise RuntimeError("Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
                           f"{list(input.shape)}")
    batch = input.shape[0] if input.ndim == 2 else 1
    wanted = (batch, input.shape[-1])[:1 + labels] if input.ndim == 2 else (
        (input.shape[-1],) if labels else ())
    if tuple(target.shape) != wanted and not (not labels and input.ndim == 1 and target.numel() == 1):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: "
                           f"{list(input.shape)}")
    return input.reshape(batch, -1), target.reshape((batch, -1) if labels else (batch,))


@loss()
def multi_margin_loss(input, target, p: "Number" = 1, margin: "float" = 1.0, weight: "Tensor | None" = None):
    """The sum over other classes of max(0, margin - x[y] + x[i]) ** p, over C."""
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    if weight is not None and weight.numel() != input.shape[-1]:
        raise RuntimeError(f"inconsistent weight size, expected {input.shape[-1]} but got "
                           f"{list(weight.shape)}")
    rows, places = _rows(input, target, 0)
    places = places.unsqueeze(1)
    apart = (margin - rows.gather(1, places) + rows).clamp(min=0)
    apart = apart if p == 1 else apart * apart
    if weight is not None:
        apart = apart * weight[places]
    found = apart.scatter(1, places, 0.0).sum(1) / rows.shape[1]
    return found if input.ndim == 2 else found.reshape(())


@loss()
def multilabel_margin_loss(input, target):
    """Over labels j (up to the first -1) and other classes i: max(0, 1 - x[j] + x[i]), over C."""
    rows, labels = _rows(input, target, 1)
    listed = (labels >= 0).to(rows.dtype).cumprod(1)
    places = labels.clamp(min=0)
    member = rows.detach().new_zeros(rows.shape).scatter_add(1, places, listed).clamp(max=1)
    # (N, label, class): each listed label against each class that is no label.
    apart = (1 - rows.gather(1, places).unsqueeze(2) + rows.unsqueeze(1)).clamp(min=0)
    found = (apart * listed.unsqueeze(2) * (1 - member).unsqueeze(1)).sum((1, 2)) / rows.shape[1]
    return found if input.ndim == 2 else found.reshape(())


@composite(where=_F)
def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function: "Any" = None,
                                      margin: "float" = 1.0, swap: "bool" = False, reduction: "str" = "mean"):
    """max(0, d(a, p) - d(a, n) + margin) with any distance."""
    dims = {anchor.ndim, positive.ndim, negative.ndim}
    if len(dims) > 1:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same "
                           f"number of dimensions, but got: anchor {anchor.ndim}D, positive "
                           f"{positive.ndim}D, and negative {negative.ndim}D inputs")
    distance = pairwise_distance if distance_function is None else distance_function
    return reduced(_triplet(distance, anchor, positive, negative, margin, swap), reduction)


def _triplet(distance: Any, anchor: Any, positive: Any, negative: Any, margin: float, swap: bool) -> Any:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return (margin + near - far).clamp(min=0)


@composite(where=("torch", "nn.functional"))
def ctc_loss(log_probs, targets, input_lengths: "Any", target_lengths: "Any", blank: "int" = 0,
             reduction: "str" = "mean", zero_infinity: "bool" = False):
    """The negative log-likelihood of label sequences, over all alignments (Graves et al., ICML 2006).

    log_probs (T, N, C) or (T, C); targets (N, S) or all labels in one row.
    """
    single = log_probs.ndim == 2
    logs = log_probs.unsqueeze(1) if single else log_probs
    times, labels = _lengths(input_lengths), _lengths(target_lengths)
    if not 0 <= blank < logs.shape[2]:
        raise RuntimeError("blank must be in label range")
    if not len(times) == len(labels) == logs.shape[1]:
        raise RuntimeError(f"input_lengths and target_lengths must be of batch_size {logs.shape[1]}")
    if targets.ndim == 2 and max(labels, default=0) > targets.shape[1]:
        raise RuntimeError(f"Expected tensor to have size at least {max(labels)} at dimension 1, but got "
                           f"size {targets.shape[1]} for argument #2 'targets'")
    losses = _alignments(logs, targets, times, labels, blank)
    if losses.requires_grad:
        # PyTorch's gradient assumes that log_probs are log_softmax's: it has exp(log_probs) besides the
        # derivative of the alignments. This term of value 0 adds that.
        part, counted = logs.exp(), np.arange(logs.shape[0])[:, None] < np.array(times)
        losses = losses + ((part - part.detach()).sum(2) * tensor_of(counted.astype(logs._a.dtype))).sum(0)
    if zero_infinity:
        losses = where(losses == inf, 0.0, losses)
    if reduction == "mean":
        return _mean_of_each(losses, labels)
    found = losses.sum() if reduction == "sum" else losses
    return found.squeeze(0) if single and reduction == "none" else found


@composite(name="_ctc_mean", where=("aten",))
def _mean_of_each(losses, lengths: "Ints"):
    """The mean of losses over their lengths."""
    return (losses / tensor_of(np.maximum(lengths, 1).astype(losses._a.dtype))).mean()


@_mean_of_each.kernel
@resolved
def _(losses: Any, lengths: Ints) -> Way:
    share, count = np.maximum(lengths, 1).astype(losses.dtype), losses.dtype.type(losses.size)
    return lambda losses: np.asarray(np.add.reduce(losses / share) / count)


def _lengths(value: Any) -> tuple[int, ...]:
    value = value.tolist() if hasattr(value, "tolist") else value
    return (value,) if isinstance(value, int) else tuple(map(int, value))


@composite(name="_ctc_alignments", where=("aten",))
def _alignments(logs, targets, times: "Ints", lengths: "Ints", blank: "int"):
    """-log of the sum over alignments."""
    labels, barred, start, only, *last = map(tensor_of, _trellis(logs._a, targets._a, times, lengths, blank))
    emitted, cat = logs[:, last[1], labels], ROWS["cat"]
    alpha = start + emitted[0]
    gone, kept = alpha.detach().new_full((len(lengths), 2), -inf), [alpha[None]]
    for t in range(1, len(logs)):
        wide = cat([gone, alpha], 1)
        alpha = _merged([alpha, wide[:, 1:-1], wide[:, :-2] + barred]) + emitted[t]
        kept.append(alpha[None])
    return -_merged((cat(kept, 0)[tuple(last)] + only).unbind(1))


def _merged(ways: Any) -> Any:
    return ROWS["logsumexp"](ROWS["stack"](ways, 0), 0)


@_alignments.kernel
def _(logs: Any, targets: Any, times: Any, lengths: Any, blank: int) -> Any:
    labels, barred, start, only, *last = _trellis(logs, targets, times, lengths, blank)
    run = _steps(len(logs), *labels.shape, logs.dtype)
    if run is None:
        return NotImplemented
    wide = np.empty((len(logs), len(labels), labels.shape[1] + 2), logs.dtype)
    wide[:, :, :2] = -inf
    emitted = logs.reshape(len(logs), -1).take(labels + last[1] * logs.shape[2], 1)
    found = wide[:, :, 2:]
    np.add(start, emitted[0], found[0])
    run(1, wide, barred, emitted)
    ends = found[tuple(last)] + only
    return -np.logaddexp(ends[:, 0], ends[:, 1])


@lru_cache(maxsize=64)
def _steps(steps: int, n: int, states: int, of: Any) -> Any:
    """All steps in one call, for arrays of these sizes; None where a row is no line of several states."""
    if states == 1:
        return None
    wide, barred, emitted = [np.empty((*s, k), of) for s, k in (((steps, n), states + 2), ((n,), states), (
        (steps, n), states))]
    operands = wide[:-1, :, 2:], wide[:-1, :, 1:-1], wide[:-1, :, :-2], barred, emitted[1:], wide[1:, :, 2:]
    return machine("team", "kept")(_step(dt.from_numpy_dtype(of).name).fn, operands, (0, 0, 0, 1, 2, 0),
                                   (wide, barred, emitted))


@lru_cache(maxsize=None)
def _step(of: str) -> Any:
    """The kernel of a state: by the three that lead to it, whether the last may, and what is emitted."""
    *ways, barred, now = operands = [symbol(n) for n in ("stay", "step", "leap", "barred", "now")]
    ways[2] = ways[2] + barred
    most = m.maximum(m.maximum(*ways[:2]), ways[2])
    base = m.where(m.eq(most, -inf), 0.0, most)  # nothing leads to some
    parts = [m.exp(way - base) for way in ways]
    total = m.log(parts[0] + parts[1] + parts[2]) + base + now
    kernel = machine("pointwise", "pointwise")((total,), tuple((n.arg, of) for n in operands), (of,))
    kernel.compile_now()
    return kernel


def _trellis(logs: Any, targets: Any, times: Ints, lengths: Ints, blank: int) -> list[Any]:
    """Labels with blanks around; 0, else -inf, where one may be reached from two before it, for states to
    start in, and for those to end in (they come before it); where these are."""
    places, bars, last, *others = _layout(times, lengths, targets.shape, logs.dtype, blank)
    labels = np.concatenate((targets.reshape(-1), last)).take(places)
    barred = bars.take(labels[:, 2:] == labels[:, :-2])  # the same label, or a blank
    return [labels[:, 2:], barred, *others]


@lru_cache(maxsize=32)
def _layout(times: Ints, lengths: Ints, shape: Ints, of: Any, blank: int) -> tuple[Any, ...]:
    """Where labels are among targets of a shape, after which comes the blank (the first two come twice, as
    nothing is two before them); what bars, of two; the blank; and the rest of `_trellis`."""
    n, ends, counts = len(lengths), np.cumsum(lengths), 2 * np.array(lengths, np.int64)[:, None]
    places = np.full((n, 2 * max(lengths, default=0) + 1), prod(shape), np.int64)
    for i, k in enumerate(lengths):
        places[i, 1:2 * k:2] = np.arange(k) + (i * shape[1] if len(shape) == 2 else ends[i] - k)
    start = np.full(places.shape, -inf, of)
    start[:, :2] = 0
    last = counts - np.arange(2)
    only = np.where(last < 0, -inf, 0.0).astype(of)
    twice = np.concatenate((places[:, :2], places), 1) if places.shape[1] > 1 else places[:, [0, 0, 0]]
    return (twice, np.array((0, -inf), of), np.array([blank]), start, only,
            np.array(times)[:, None] - 1, np.arange(n)[:, None], np.maximum(last, 0))
