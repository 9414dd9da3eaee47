"""Losses of distances and margins, the distances themselves, and of sequences (CTC)."""

from __future__ import annotations

from functools import cache, lru_cache, partial, reduce
from math import inf, prod
from operator import add, index
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.layout import Ints, broadcast_shapes
from rushlight._engine.core.promotion import promote_types
from rushlight._engine.core.services import service
from rushlight._engine.ops.constant_operands import refuse_gradient
from rushlight._engine.ops.creation.copying import tensor_of
from rushlight._engine.ops.expressions import Expr, m, symbol
from rushlight._engine.ops.indexing.scattering import scatter_add
from rushlight._engine.ops.nn.losses import loss, reduced, reduction_of
from rushlight._engine.ops.pointwise.arithmetic import where
from rushlight._engine.ops.resolved import resolved
from rushlight._engine.ops.row_expressions import at, extent, iota, reduce_
from rushlight._engine.ops.row_kernels import RowKernel, launch
from rushlight._engine.ops.table import ROWS, Array, composite, opaque

_F = ("nn.functional",)


@loss()
def hinge_embedding_loss(input, target, margin: float = 1.0):
    """x where y = 1, max(0, margin - x) where y = -1."""
    near = where(target != 1, (margin - input).clamp(min=0).to(input.dtype), 0)
    return near + where(target != -1, input, 0)


@loss()
def margin_ranking_loss(input1, input2, target, margin: float = 0):
    """max(0, -y (x1 - x2) + margin)."""
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return (-target * (input1 - input2) + float(margin)).clamp(min=0)


@composite(name="_margin_ranking_loss", where=("aten",), aliases=("torch.margin_ranking_loss",), planned=True)
def broadcast_margin_ranking_loss(input1, input2, target, margin: float = 0.0, reduction: int | str = 1):
    """The same of tensors that are broadcast; reduction also as 0 for none, 1 for the mean, 2 for the sum."""
    terms = (-target * (input1 - input2) + float(margin)).clamp(min=0)
    names: dict[int | str, str] = {0: "none", 1: "mean", 2: "sum"}
    named = names.get(reduction, str(reduction))
    return reduced(terms, reduction_of(named, None, None))


@loss()
def soft_margin_loss(input, target):
    """log(1 + exp(-y x))."""
    refuse_gradient("soft_margin_loss", "target", target)
    return (-target * input).exp().log1p()


def _size(x: Any, dim: int) -> Any:
    """The length along dim, whose gradient at 0 is 0."""
    squares = x.square().sum(dim, True)
    none = squares == 0
    return where(none, 0.0, where(none, 1.0, squares).sqrt()).to(x.dtype)


@composite(where=("torch", "nn.functional"), planned=True)
def cosine_similarity(x1, x2, dim: int = 1, eps: float = 1e-08):
    """x1 . x2 / (|x1| |x2|) along dim, each norm at least eps."""
    shape = broadcast_shapes(x1.shape, x2.shape)
    of = promote_types(x1.dtype, x2.dtype)
    if not of.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {of.legacy}")
    x1, x2 = ((x if x.is_floating_point() else x.to(of)).expand(shape) for x in (x1, x2))
    if eps < 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    size1, size2 = (_size(x.float() if x.dtype.itemsize == 2 else x, dim).to(x.dtype) for x in (x1, x2))
    return ((x1 / size1.clamp(min=eps)) * (x2 / size2.clamp(min=eps))).sum(dim)


@loss()
def cosine_embedding_loss(input1, input2, target, margin: float = 0):
    """1 - cos where y = 1, max(0, cos - margin) where y = -1."""
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with "
            f"sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    eps = 1e-12
    dim = input1.ndim - 1
    dot = (input1 * input2).sum(dim)
    cos = dot / ((((input1 * input1).sum(dim) + eps) * ((input2 * input2).sum(dim) + eps)).sqrt())
    return where(target == 1, 1 - cos, 0.0) + where(target == -1, (cos - margin).clamp(min=0), 0.0)


@loss()
def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
):
    """max(0, d(a, p) - d(a, n) + margin) with p-norm distances."""
    distance = partial(ROWS["pairwise_distance"], p=p, eps=eps)
    return _triplet(distance, anchor, positive, negative, margin, swap)


@loss()
def multilabel_soft_margin_loss(input, target, weight: Tensor | None = None):
    """The mean over classes of binary cross-entropy with logits."""
    terms = -(target * ROWS["logsigmoid"](input) + (1 - target) * ROWS["logsigmoid"](-input))
    terms = terms if weight is None else terms * weight
    return terms.sum(-1) / input.shape[-1]


def _rows(input: Any, target: Any, labels: int) -> tuple[Any, Any]:
    """Input as (N, C) and target as (N,) or (N, C)."""
    if labels and input.ndim < 2 and target.ndim < 2 and input.numel() == target.numel() == 1:
        target = target.reshape(1)
    sizes = list(input.shape)
    input = input if input.ndim else input.reshape(1)
    if input.ndim not in (1, 2) or not input.shape[-1]:
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(input.shape)}"
        )
    batch = input.shape[0] if input.ndim == 2 else 1
    wanted = (
        (batch, input.shape[-1])[: 1 + labels] if input.ndim == 2 else ((input.shape[-1],) if labels else ())
    )
    one = not labels and batch == target.numel() == 1 and target.ndim < 2
    if tuple(target.shape) != wanted and not one:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {sizes}"
            if labels
            else "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{batch}], but got {list(target.shape)}. Input has "
            f"shape {sizes}."
        )
    return input.reshape(batch, n := input.shape[-1]), target.reshape((batch, n) if labels else (batch,))


@loss()
def multi_margin_loss(input, target, p: Number = 1, margin: float = 1.0, weight: Tensor | None = None):
    """The sum over other classes of max(0, margin - x[y] + x[i]) ** p, over C."""
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    if weight is not None and weight.numel() != input.shape[-1]:
        raise RuntimeError(
            f"inconsistent weight size, expected {input.shape[-1]} but got {list(weight.shape)}"
        )
    refuse_gradient("multi_margin_loss", "weight", weight)
    rows, places = _rows(input, target, 0)
    found = _margins(rows, places, int(p), margin, weight)
    return found.reshape(target.shape)


@composite(name="_margins", where=("aten",), node="multi_margin_loss")
def _margins(rows, places, p: int, margin: float, weight: Tensor | None):
    """multi_margin_loss of rows (N, C) and their classes (N,), each."""
    places = places.unsqueeze(1)
    apart = (margin - rows.gather(1, places) + rows).clamp(min=0)
    apart = apart if p == 1 else apart * apart
    if weight is not None:
        apart = apart * weight[places]
    return apart.scatter(1, places, 0.0).sum(1) / rows.shape[1]


def _margin_of_row(p: int) -> tuple[Expr, ...]:
    x, t = symbol("x"), symbol("t")
    apart = m.maximum(symbol("margin") - at(x, t) + x, 0)
    others = m.where(m.eq(iota(), t), 0, apart if p == 1 else apart * apart)
    return (reduce_("add", others) / extent(),)


_margin_rows = {
    p: RowKernel(partial(_margin_of_row, p), ("x", "t", "margin"), ("t", "margin")) for p in (1, 2)
}


@_margins.kernel
@resolved
def _margins_kernel(x: Array, t: Array, p: int, margin: float, weight: Any) -> Any:
    given, classes = np.array([margin], x.dtype), x.shape[1]
    kernel = _margin_rows[p].compiled(x, t, given)
    plain = x.flags.c_contiguous and t.flags.c_contiguous and t.dtype == np.int64 and x.size
    if weight is not None or kernel is NotImplemented or not plain:
        return NotImplemented
    number = given.reshape(())

    def run(x: Array, t: Array) -> Array:
        # As numbers without a sign, those below 0 are too large.
        if np.maximum.reduce(t.view(np.uint64)) >= classes:
            raise RuntimeError("target out of range")
        found: Array = launch(kernel, (x, t, number))
        return found

    return run


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
def triplet_margin_with_distance_loss(
    anchor,
    positive,
    negative,
    *,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
):
    """max(0, d(a, p) - d(a, n) + margin) with any distance."""
    dims = {anchor.ndim, positive.ndim, negative.ndim}
    if len(dims) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, "
            f"but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    distance = ROWS["pairwise_distance"] if distance_function is None else distance_function
    return reduced(_triplet(distance, anchor, positive, negative, margin, swap), reduction)


def _triplet(distance: Any, anchor: Any, positive: Any, negative: Any, margin: float, swap: bool) -> Any:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return (margin + near - far).clamp(min=0)


@composite(where=("torch", "nn.functional"))
def ctc_loss(
    log_probs,
    targets,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
):
    """The negative log-likelihood of label sequences, over all alignments (Graves et al., ICML 2006).

    log_probs (T, N, C) or (T, C); targets (N, S) or all labels in one row. The gradient takes log_probs for
    log_softmax's, as PyTorch's does, and cannot be differentiated again.
    """
    reduction_of(reduction, None, None)
    single = log_probs.ndim == 2
    logs = log_probs.unsqueeze(1) if single else log_probs
    # PyTorch has a form for two tensors, and one for two tuples.
    wrong = (
        RuntimeError if hasattr(input_lengths, "_kind") and hasattr(target_lengths, "_kind") else TypeError
    )
    times = _lengths("input_lengths", input_lengths, wrong)
    labels = _lengths("target_lengths", target_lengths, wrong)
    _check_alignments(logs, targets, times, labels, blank)
    if targets.device != logs.device:  # labels may lie on the host, as cuDNN wants them
        targets = targets.to(logs.device)
    losses = _ctc_loss(logs, targets.long(), times, labels, blank, zero_infinity)[0]
    if zero_infinity:
        losses = where(losses == inf, 0.0, losses)
    if reduction == "mean":
        return _mean_of_each(losses, labels)
    found = losses.sum() if reduction == "sum" else losses
    return found.squeeze(0) if single and reduction == "none" else found


def _lengths(name: str, value: Any, wrong: type[Exception]) -> Ints:
    try:
        if hasattr(value, "_kind"):
            value = (value if value.ndim == 1 else value.ravel()).tolist()
        return tuple(map(index, value))
    except TypeError:
        raise wrong(f"ctc_loss(): {name} must be a tensor or tuple of ints, not {value!r}") from None


def _check_alignments(logs: Any, targets: Any, times: Ints, labels: Ints, blank: int) -> None:
    shape, given = logs._geometry.shape, targets._geometry.shape
    if 0 in shape:
        raise RuntimeError("log_probs tensor must not be empty")
    if len(shape) != 3 or len(given) not in (1, 2):
        raise RuntimeError(
            "Expected 3-dimensional tensor for argument #1 'log_probs' and 1 to 2 dimensions "
            f"for argument #2 'targets', but got {len(shape)} and {len(given)} dimensions"
        )
    if not 0 <= blank < shape[2]:
        raise RuntimeError("blank must be in label range")
    for name, lengths, most in (("input_lengths", times, shape[0]), ("target_lengths", labels, inf)):
        if len(lengths) != shape[1]:
            raise RuntimeError(f"{name} must be of size batch_size, {shape[1]}, not {len(lengths)}")
        if min(lengths) < 0 or max(lengths) > most:
            wrong = next(n for n in lengths if not 0 <= n <= most)
            raise RuntimeError(
                f"Expected {name} to have value at least 0 and at most {most}, but got value {wrong}"
            )
    size = sum(labels) if len(given) == 1 else max(labels)
    if len(given) == 2 and size > given[1]:
        raise RuntimeError(
            f"Expected tensor to have size at least {size} at dimension 1, but got size "
            f"{given[1]} for argument #2 'targets'"
        )
    if given[0] != (wanted := size if len(given) == 1 else len(labels)):
        raise RuntimeError(
            f"Expected tensor to have size {wanted} at dimension 0, but got size "
            f"{given[0]} for argument #2 'targets'"
        )


@composite(name="_ctc_mean", where=("aten",), planned=True)
def _mean_of_each(losses, lengths: Ints):
    """The mean of losses over their lengths."""
    return (
        losses / tensor_of(np.maximum(lengths, 1).astype(losses._geometry.dtype)).to(losses.device)
    ).mean()


@opaque(where=("aten",), node="ctc_loss")
def _ctc_loss(
    logs, targets, times: Ints, lengths: Ints, blank: int, zero_infinity: bool
) -> tuple[Array, Array]:
    """-log of the sum over alignments; log of the sum over ways to each state (label or blank) at a time."""
    labels, row, _ = _trellis(targets, lengths, blank)
    found = _ways(logs[:, row, labels], labels)
    final, label = found[_ends(times, lengths)]
    losses = _loss(dt.from_numpy_dtype(final.dtype).name)(final, label)
    if 0 in lengths or 0 in times:
        none, never = (np.array(given) == 0 for given in (lengths, times))
        losses = np.where(never, np.where(none, 0, inf), np.where(none, -final, losses))
    return losses.astype(logs.dtype, copy=False), found


@_ctc_loss.shape_rule
def _ctc_loss_shape(
    logs: Any, targets: Any, times: Ints, lengths: Ints, blank: int, zero_infinity: bool
) -> Any:
    return logs.new_empty(logs.shape[1:2]), logs.new_empty((*logs.shape[:2], 2 * max(lengths) + 1))


@_ctc_loss.gradient
def _ctc_loss_gradient(s: Any, grad: Any, *_: Any) -> Any:
    return _ctc_loss_backward(
        grad, s.logs, s.targets, *s.result, s.times, s.lengths, s.blank, s.zero_infinity
    ), None


@opaque(where=("aten",))
def _ctc_loss_backward(
    grad, logs, targets, losses, ways, times: Ints, lengths: Ints, blank: int, zero_infinity: bool
) -> Array:
    """grad * (exp(logs) - the share of alignments that are there), in PyTorch's steps: nan where its is."""
    labels, row, last = _trellis(targets, lengths, blank)
    steps, states = np.array(times)[:, None], np.arange(labels.shape[1])
    time = np.arange(len(logs))[:, None, None]
    turned = steps - 1 - time, row, last - states  # the ways from each state to the end, backwards
    emitted = logs[:, row, labels]
    back = _ways(emitted[turned], labels[turned[1:]])[turned]
    shares = np.exp(ways + back + losses[:, None] - emitted) * (states <= last)
    none = np.exp(losses[:, None] - logs - inf)
    places = np.ascontiguousarray(np.broadcast_to(labels, shares.shape))
    found = (np.exp(logs) - scatter_add.body(none, 2, places, shares)) * grad[:, None]
    return np.where((time < steps) & ~(zero_infinity & (losses == inf))[:, None], found, 0)


@_ctc_loss_backward.gradient
def _ctc_loss_backward_gradient(s: Any, *grads: Any) -> Any:
    raise RuntimeError("derivative for aten::_ctc_loss_backward is not implemented")


_CELLS = 2048  # pairs of a step and a sequence that one call goes through


def _ways(emitted: Array, labels: Array) -> Array:
    """log of the sum over ways to each state (last axis) at each time (first), from one of the first two."""
    padded = np.empty((len(labels), labels.shape[1] + 2), labels.dtype)
    padded[:, 2:] = labels
    wide = np.empty((*emitted.shape[:2], labels.shape[1] + 2), emitted.dtype)
    wide[:, :, :2] = wide[0] = -inf
    found = wide[:, :, 2:]
    if labels.shape[1] == 1:
        found = np.cumsum(emitted, 0, emitted.dtype)
        found[1:][found[:-1] == inf] = np.nan  # as of several states
        return found
    found[0, :, :2] = emitted[0, :, :2]
    emitted = np.ascontiguousarray(emitted)
    at_once = max(_CELLS // max(len(labels), 1), 1)
    for first in range(0, len(emitted) - 1, at_once):
        part = slice(first, first + at_once + 1)
        run = _steps(len(wide[part]), *labels.shape, emitted.dtype)
        (_one_by_one if run is None else run)(wide[part], padded, emitted[part])
    return found


def _one_by_one(wide: Array, labels: Array, emitted: Array) -> None:
    """All steps but the first, with NumPy's functions."""
    for time in range(1, len(emitted)):
        stay, step, leap = (wide[time - 1, :, k : wide.shape[2] - 2 + k] for k in (2, 1, 0))
        leap = np.where(labels[:, 2:] != labels[:, :-2], leap, -inf)
        most = np.maximum(np.maximum(stay, step), leap)
        base = np.where(most == -inf, 0, most).astype(wide.dtype, copy=False)
        total = np.exp(stay - base) + np.exp(step - base) + np.exp(leap - base)
        wide[time, :, 2:] = np.log(total) + base + emitted[time]


@lru_cache(maxsize=64)
def _steps(steps: int, n: int, states: int, of: Any) -> Any:
    """All steps in one call, for arrays of these sizes; None where there is no machine code."""
    if steps < 2:
        return None
    wide, labels = np.empty((steps, n, states + 2), of), np.empty((n, states + 2), np.int64)
    emitted = np.empty((steps, n, states), of)
    operands = (
        wide[:-1, :, 2:],
        wide[:-1, :, 1:-1],
        wide[:-1, :, :-2],
        labels[:, 2:],
        labels[:, :-2],
        emitted[1:],
        wide[1:, :, 2:],
    )
    return service("loop over few elements")(
        _step(dt.from_numpy_dtype(of).name), operands, (wide, labels, emitted)
    )


@cache
def _step(of: str) -> Any:
    """The kernel of a state: by the three that lead to it, its label, the last of these, what is emitted."""
    stay, step, leap, label, other, now = map(symbol, "stay step leap label other now".split())
    allowed = m.where(m.ne(label, other), leap, -inf)  # over a blank to another label
    kinds = [(n.arg, of) for n in (stay, step, leap)], [(n.arg, "int64") for n in (label, other)]
    return _kernel(_log_sum(stay, step, allowed) + now, (*kinds[0], *kinds[1], ("now", of)), of)


@cache
def _loss(of: str) -> Any:
    """The kernel of a loss: by both states that may be the last."""
    return _kernel(-_log_sum(symbol("final"), symbol("label")), (("final", of), ("label", of)), of)


def _kernel(root: Any, operands: Any, of: str) -> Any:
    kernel = service("pointwise kernel")((root,), operands, (of,))
    kernel.compile_now()
    return kernel


def _log_sum(*ways: Any) -> Any:
    """log of the sum of exp, in PyTorch's steps."""
    most = reduce(m.maximum, ways)
    base = m.where(m.eq(most, -inf), 0.0, most)  # nothing leads to some
    return m.log(reduce(add, [m.exp(way - base) for way in ways])) + base


@lru_cache(maxsize=32)
def _ends(times: Ints, lengths: Ints) -> tuple[Array, Array, Array]:
    """Where the last blanks are among all states, and where the labels before them."""
    steps, last = (np.array(given, np.int64) for given in (times, lengths))
    return steps - 1, np.arange(len(steps)), np.stack([2 * last, 2 * last - 1])


def _trellis(targets: Array, lengths: Ints, blank: int) -> tuple[Array, Array, Array]:
    """Labels with blanks around, the numbers of their rows, and where each row ends."""
    places, rows, ends = _layout(lengths, targets.shape)
    return np.concatenate((targets.reshape(-1), (blank,))).take(places), rows, ends


@lru_cache(maxsize=32)
def _layout(lengths: Ints, shape: Ints) -> tuple[Array, Array, Array]:
    """Where labels are among targets of a shape, after which comes the blank; and the rest of `_trellis`."""
    n, ends = len(lengths), np.cumsum(lengths)
    places = np.full((n, 2 * max(lengths) + 1), prod(shape), np.int64)
    for i, k in enumerate(lengths):
        places[i, 1 : 2 * k : 2] = np.arange(k) + (i * shape[1] if len(shape) == 2 else ends[i] - k)
    return places, np.arange(n)[:, None], 2 * np.array(lengths)[:, None]
