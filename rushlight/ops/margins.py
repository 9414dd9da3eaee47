"""Losses of distances and margins, the distances themselves, and of sequences (CTC)."""
from __future__ import annotations

from functools import partial, reduce as fold
from math import inf
from typing import Any

import numpy as np

from rushlight.base.layout import broadcast_shapes
from rushlight.ops.activations import logsigmoid
from rushlight.ops.arithmetic import where
from rushlight.ops.copying import tensor_of
from rushlight.ops.losses import reduced, reduction_of
from rushlight.ops.statistics import vector_norm
from rushlight.ops.table import ROWS, composite

_F = ("nn.functional",)


@composite(where=_F)
def hinge_embedding_loss(input, target, margin: "float" = 1.0, size_average: "bool | None" = None,
                         reduce: "bool | None" = None, reduction: "str" = "mean"):
    """x where y = 1, max(0, margin - x) where y = -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    near = where(target != 1, (margin - input).clamp(min=0), 0.0)
    far = where(target != -1, input, 0.0)
    return reduced(near + far, reduction)


@composite(where=("torch", "nn.functional"))
def margin_ranking_loss(input1, input2, target, margin: "float" = 0, size_average: "bool | None" = None,
                        reduce: "bool | None" = None, reduction: "str" = "mean"):
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


@composite(where=("torch", "nn.functional"), planned=True)
def cosine_similarity(x1, x2, dim: "int" = 1, eps: "float" = 1e-08):
    """x1 . x2 / (|x1| |x2|) along dim, each norm at least eps."""
    shape = broadcast_shapes(x1.shape, x2.shape)
    x1, x2 = x1.expand(shape), x2.expand(shape)
    size1, size2 = ((x.float() if x.dtype.itemsize == 2 else x).square().sum(dim, True).sqrt().to(x.dtype)
                    for x in (x1, x2))
    return ((x1 / size1.clamp(min=eps)) * (x2 / size2.clamp(min=eps))).sum(dim)


@composite(where=("torch", "nn.functional"))
def pairwise_distance(x1, x2, p: "float" = 2.0, eps: "float" = 1e-06, keepdim: "bool" = False):
    """The p-norm of x1 - x2 + eps along the last dim."""
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


@composite(where=_F)
def cosine_embedding_loss(input1, input2, target, margin: "float" = 0, size_average: "bool | None" = None,
                          reduce: "bool | None" = None, reduction: "str" = "mean"):
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
                        eps: "float" = 1e-6, swap: "bool" = False, size_average: "bool | None" = None,
                        reduce: "bool | None" = None, reduction: "str" = "mean"):
    """max(0, d(a, p) - d(a, n) + margin) with p-norm distances."""
    reduction = reduction_of(reduction, size_average, reduce)
    distance = partial(pairwise_distance, p=p, eps=eps)
    return reduced(_triplet(distance, anchor, positive, negative, margin, swap), reduction)


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


@composite(where=_F)
def multi_margin_loss(input, target, p: "Number" = 1, margin: "float" = 1.0,
                      weight: "Tensor | None" = None, size_average: "bool | None" = None,
                      reduce: "bool | None" = None, reduction: "str" = "mean"):
    """The sum over other classes of max(0, margin - x[y] + x[i]) ** p, over C."""
    reduction = reduction_of(reduction, size_average, reduce)
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
    return reduced(found if input.ndim == 2 else found.reshape(()), reduction)


@composite(where=_F)
def multilabel_margin_loss(input, target, size_average: "bool | None" = None,
                           reduce: "bool | None" = None, reduction: "str" = "mean"):
    """Over labels j (up to the first -1) and other classes i: max(0, 1 - x[j] + x[i]), over C."""
    reduction = reduction_of(reduction, size_average, reduce)
    rows, labels = _rows(input, target, 1)
    listed = (labels >= 0).to(rows.dtype).cumprod(1)
    places = labels.clamp(min=0)
    member = rows.detach().new_zeros(rows.shape).scatter_add(1, places, listed).clamp(max=1)
    # (N, label, class): each listed label against each class that is no label.
    apart = (1 - rows.gather(1, places).unsqueeze(2) + rows.unsqueeze(1)).clamp(min=0)
    found = (apart * listed.unsqueeze(2) * (1 - member).unsqueeze(1)).sum((1, 2)) / rows.shape[1]
    return reduced(found if input.ndim == 2 else found.reshape(()), reduction)


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
    extended, counts = _with_blanks(targets, labels, blank)
    losses = -_alignments(logs, *map(tensor_of, (extended, counts, times)))
    if losses.requires_grad:
        # PyTorch's gradient assumes that log_probs are log_softmax's: it has exp(log_probs) besides the
        # derivative of the alignments. This term of value 0 adds that.
        part, counted = logs.exp(), np.arange(logs.shape[0])[:, None] < times[None, :]
        losses = losses + ((part - part.detach()).sum(2) * tensor_of(counted.astype(logs._a.dtype))).sum(0)
    if zero_infinity:
        losses = where(losses == inf, 0.0, losses)
    if reduction == "mean":
        return (losses / tensor_of(np.maximum(labels, 1).astype(logs._a.dtype))).mean()
    found = losses.sum() if reduction == "sum" else losses
    return found.squeeze(0) if single and reduction == "none" else found


def _lengths(value: Any) -> np.ndarray[Any, Any]:
    value = value.tolist() if hasattr(value, "tolist") else value
    return np.atleast_1d(np.asarray(value, np.int64))


def _with_blanks(targets: Any, lengths: Any, blank: int) -> tuple[Any, Any]:
    """(N, 2 S + 1) labels with blanks between and around, and how many of each row count."""
    flat, ends = targets._a, np.cumsum(lengths)
    longest = int(lengths.max(initial=0))
    rows = np.full((len(lengths), 2 * longest + 1), blank, np.int64)
    for i, n in enumerate(lengths):
        row = flat[i] if flat.ndim == 2 else flat[ends[i] - n:ends[i]]
        rows[i, 1:2 * n:2] = row[:n]
    return rows, 2 * lengths + 1


@composite(name="_ctc_alignments", where=("aten",))
def _alignments(logs, labels, counts, times):
    """log of the sum over alignments."""
    return _forward(logs, logs._a.dtype, labels._a, counts._a, times._a, tensor_of, ROWS["cat"],
                    lambda ways: ROWS["logsumexp"](ROWS["stack"](ways, 0), 0))


@_alignments.kernel
def _(logs: Any, labels: Any, counts: Any, times: Any) -> Any:
    return _forward(logs, logs.dtype, labels, counts, times, np.asarray, np.concatenate,
                    lambda ways: fold(np.logaddexp, ways))


def _forward(logs: Any, of: Any, labels: Any, counts: Any, times: Any, lift: Any, cat: Any, merge: Any):
    """The forward variables, one time step after the other, on tensors or arrays; what they end with."""
    (n, width), batch = labels.shape, np.arange(len(labels))[:, None]
    emitted = logs[:, lift(batch), lift(labels)]
    # A label may be reached from two before it unless that is the same label (or a blank).
    skip, start = np.full((2, n, width), -inf, of)
    skip[:, 2:][(labels[:, 2:] != labels[:, :-2]) & (np.arange(2, width) % 2 == 1)] = 0
    start[:, :2] = 0
    gone, barred, alpha = lift(np.full((n, 2), -inf, of)), lift(skip), lift(start) + emitted[0]
    kept = [alpha[None]]
    for t in range(1, len(logs)):
        wide = cat([gone, alpha], 1)
        alpha = merge([alpha, wide[:, 1:-1], wide[:, :-2] + barred]) + emitted[t]
        kept.append(alpha[None])
    ends = np.stack([counts - 1, np.maximum(counts - 2, 0)], 1)
    final = cat(kept, 0)[lift(times[:, None] - 1), lift(batch), lift(ends)]
    only = lift(np.where(np.stack([counts > 0, counts > 1], 1), 0.0, -inf).astype(of))
    return merge(list((final + only).T))
