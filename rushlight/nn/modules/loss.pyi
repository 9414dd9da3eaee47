# Written by `python tools/stubs.py`.
"""Losses. `reduction` is "mean" (default), "sum" or "none": one value for each element.

The arguments size_average and reduce are deprecated spellings of `reduction`. "Any shape": input and target
have the same; the loss is a scalar, or with reduction="none" of that shape.
"""
from builtins import bool as _bool, float as _float, int as _int
from collections.abc import Callable
from rushlight import Tensor
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight.nn.modules.linear import Linear
from rushlight.nn.modules.module import Module, _Forward, _P, _R
from rushlight.types import Device
from typing import Any

class BCELoss(_WeightedLoss):
    """-(target * log(input) + (1 - target) * log(1 - input)), for probabilities. Any shape.

    `weight`: of each element, or what can be expanded to that.
    """

    def forward(self, input: Any, target: Any) -> Tensor:
        """Numbers of [0, 1] and targets of one shape -> a scalar, or that shape with reduction="none"."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class BCEWithLogitsLoss(_Loss):
    """BCELoss of sigmoid(input), in one stable formula; `pos_weight` weighs positive targets. Any shape."""

    pos_weight: Tensor | None
    weight: Tensor | None
    def __init__(self, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean', pos_weight: Tensor | None = None) -> None: ...
    def forward(self, input: Any, target: Any) -> Tensor:
        """Logits and targets in [0, 1] of one shape -> a scalar, or that shape with reduction="none"."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class CTCLoss(_Loss):
    """Connectionist temporal classification: log_probs (T, N, C), targets (N, S) or joined.

    `blank`: the class of the blank. `zero_infinity`: impossible alignments count as 0. forward's
    `input_lengths` and `target_lengths` (N,): how much of each sample is in use.
    """

    blank: _int
    zero_infinity: _bool
    def __init__(self, blank: _int = 0, reduction: str = 'mean', zero_infinity: _bool = False) -> None: ...
    __constants__: list[Any]
    def forward(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> Tensor:
        """(T, N, C), targets (N, S) or (sum of target_lengths,), lengths (N,) twice -> a scalar, or (N,).

        Without N: (T, C), (S,) and two scalars. "mean" divides each loss by its target's length first.
        """
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class CosineEmbeddingLoss(_Loss):
    """1 - cos(x1, x2) where target is 1; max(0, cos(x1, x2) - margin) where it is -1.

    x1, x2: (N, D) or (D); target: (N) or a scalar.
    """

    margin: _float
    def __init__(self, margin: _float = 0.0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
    def forward(self, input1: Any, input2: Any, target: Any) -> Tensor:
        """(N, D), (N, D) and targets 1 and -1 (N,) -> a scalar, or (N,) with reduction="none"."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class CrossEntropyLoss(_WeightedLoss):
    """-log_softmax(input)[target]: (N, C, *) and classes (N, *), or probabilities (N, C, *).

    `weight` (C,): of each class. `ignore_index`: targets that do not count. `label_smoothing`:
    mixes the target with the uniform distribution.
    """

    ignore_index: _int
    label_smoothing: _float
    def __init__(self, weight: Tensor | None = None, size_average: _bool | None = None, ignore_index: _int = -100, reduce: _bool | None = None, reduction: str = 'mean', label_smoothing: _float = 0.0) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Any, target: Any) -> Tensor:
        """Logits (N, C, *) and int64 classes (N, *), or probabilities (N, C, *) -> a scalar, or (N, *).

        Without N: (C,) and a scalar. IndexError for a class outside [0, C) that is not `ignore_index`; "mean"
        divides by the sum of the weights of the targets that count.
        """
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class GaussianNLLLoss(_Loss):
    """(log(var) + (input - target)^2 / var) / 2, var at least eps; `full` adds log(2 pi) / 2.

    input (*, D), target the same; var the same, or with 1 in place of D or without it; a number for all.
    """

    eps: _float
    full: _bool
    def __init__(self, *, full: _bool = False, eps: _float = 1e-06, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
    def forward(self, input: Any, target: Any, var: Any | _float) -> Tensor:
        """input, target and variance -> a scalar, or its shape; ValueError for negative variances."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class HingeEmbeddingLoss(_Loss):
    """input where target is 1; max(0, margin - input) where it is -1. Any shape."""

    margin: _float
    def __init__(self, margin: _float = 1.0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
    def forward(self, input: Any, target: Any) -> Tensor:
        """input and targets 1 and -1 of one shape -> a scalar, or that shape with reduction="none"."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class HuberLoss(_Loss):
    """d^2 / 2 where |d| = |input - target| < delta, else delta * (|d| - delta / 2). Any shape."""

    delta: _float
    def __init__(self, reduction: str = 'mean', delta: _float = 1.0) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Any, target: Any) -> Tensor:
        """input and target of one shape -> a scalar, or that shape with reduction="none"."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class KLDivLoss(_Loss):
    """target * (log(target) - input), for log-probabilities; reduction "batchmean" too. Any shape.

    `log_target`: the target is in log-space as well.
    """

    log_target: _bool
    def __init__(self, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean', log_target: _bool = False) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Any, target: Any) -> Tensor:
        """Log-probabilities and target of one shape -> a scalar, or that shape with reduction="none".

        "mean" divides by the number of elements, with a warning; "batchmean" by the first size.
        """
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class L1Loss(_Loss):
    """|input - target|. Any shape."""

    def forward(self, input: Any, target: Any) -> Tensor:
        """input and target of one shape -> a scalar, or that shape with reduction="none"."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class LinearCrossEntropyLoss(Module):
    """cross_entropy(linear(input), target): (N, in_features) and (N, *out_features) -> a scalar.

    `linear.weight`: (num_classes * prod(out_features), in_features). See CrossEntropyLoss.
    """

    ignore_index: _int | None
    label_smoothing: _float
    linear: Linear
    num_classes: _int
    options: LinearCrossEntropyOptions | None
    out_features: Any
    reduction: str
    weight: Tensor
    def __init__(self, in_features: _int, num_classes: _int, *, out_features: tuple[_int, ...] = (), bias: _bool = False, device: Device = None, dtype: _dtype | None = None, reduction: str = 'mean', weight: Tensor | None = None, ignore_index: _int | None = None, label_smoothing: _float = 0.0, options: LinearCrossEntropyOptions | None = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: the sizes, whether there is a bias, and the options."""
    def forward(self, input: Any, target: Any) -> Tensor:
        """(N, in_features) and classes (N, *out_features) -> a scalar, or the targets' shape."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class LinearCrossEntropyOptions:
    """How PyTorch cuts the batch into chunks. The result is the same; here nothing is cut."""

    acc_dtype: _dtype | None
    acc_policy: str
    allow_retain_graph: _bool
    batch_chunk_size: _int | None
    chunking_method: str | None
    def __init__(self, allow_retain_graph: _bool = False, batch_chunk_size: _int | None = None, chunking_method: str | None = 'auto', acc_policy: str = 'auto', acc_dtype: _dtype | None = None) -> None: ...
    __dataclass_fields__: dict[Any, Any]
    __dataclass_params__: Any
    def __eq__(self, other: object) -> Any: ...
    __hash__: Any
    __match_args__: tuple[Any, ...]
    def __repr__(self) -> Any: ...
class MSELoss(_Loss):
    """(input - target)^2. Any shape."""

    def forward(self, input: Any, target: Any) -> Tensor:
        """input and target of one shape -> a scalar, or that shape with reduction="none"."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class MarginRankingLoss(_Loss):
    """max(0, -target * (input1 - input2) + margin), targets 1 and -1. All three of one shape, (N) or ()."""

    margin: _float
    def __init__(self, margin: _float = 0.0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
    def forward(self, input1: Any, input2: Any, target: Any) -> Tensor:
        """Inputs and targets 1 and -1, all (N,) or () -> a scalar, or that shape with reduction="none"."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class MultiLabelMarginLoss(_Loss):
    """Hinge loss of several classes for each sample: (N, C) or (C); the target lists classes, then -1."""

    def forward(self, input: Any, target: Any) -> Tensor:
        """(N, C) and int64 (N, C) -> a scalar, or (N,) with reduction="none"."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class MultiLabelSoftMarginLoss(_WeightedLoss):
    """BCE with logits, averaged over the classes: (N, C) and 0/1 targets (N, C).

    `weight` (C,): of each class.
    """

    def forward(self, input: Any, target: Any) -> Tensor:
        """Logits (N, C) and 0/1 targets (N, C) -> a scalar, or (N,) with reduction="none"."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class MultiMarginLoss(_WeightedLoss):
    """Sum over the other classes of max(0, margin - input[target] + input[i])^p, over C: (N, C) and (N).

    `p` is 1 or 2. `weight` (C,): of each class.
    """

    margin: _float
    p: _int
    def __init__(self, p: _int = 1, margin: _float = 1.0, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
    def forward(self, input: Any, target: Any) -> Tensor:
        """(N, C) and int64 classes (N,) -> a scalar, or (N,) with reduction="none"."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class NLLLoss(_WeightedLoss):
    """-input[target], for log-probabilities (N, C, *) and classes (N, *).

    `weight` (C,): of each class. `ignore_index`: targets that do not count.
    """

    ignore_index: _int
    def __init__(self, weight: Tensor | None = None, size_average: _bool | None = None, ignore_index: _int = -100, reduce: _bool | None = None, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
    def forward(self, input: Any, target: Any) -> Tensor:
        """Log-probabilities (N, C, *) and int64 classes (N, *) -> a scalar, or (N, *) for "none"."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class NLLLoss2d(NLLLoss):
    """Deprecated: NLLLoss takes images as well."""

    def __init__(self, weight: Tensor | None = None, size_average: _bool | None = None, ignore_index: _int = -100, reduce: _bool | None = None, reduction: str = 'mean') -> None: ...
class PoissonNLLLoss(_Loss):
    """exp(input) - target * input; without `log_input`, input - target * log(input + eps). Any shape.

    `full` adds Stirling's approximation of log(target!).
    """

    eps: _float
    full: _bool
    log_input: _bool
    def __init__(self, log_input: _bool = True, full: _bool = False, size_average: _bool | None = None, eps: _float = 1e-08, reduce: _bool | None = None, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
    def forward(self, log_input: Any, target: Any) -> Tensor:
        """log_input and target of one shape -> a scalar, or that shape with reduction="none"."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class SmoothL1Loss(_Loss):
    """d^2 / (2 * beta) where |d| = |input - target| < beta, else |d| - beta / 2. Any shape."""

    beta: _float
    def __init__(self, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean', beta: _float = 1.0) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Any, target: Any) -> Tensor:
        """input and target of one shape -> a scalar, or that shape with reduction="none"."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)), targets 1 and -1. Any shape."""

    def forward(self, input: Any, target: Any) -> Tensor:
        """input and targets 1 and -1 of one shape -> a scalar, or that shape with reduction="none"."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class TripletMarginLoss(_Loss):
    """max(0, ||anchor - positive|| - ||anchor - negative|| + margin), in the p-norm: (N, D) or (D) each.

    `swap`: takes the negative's distance from the positive where that is smaller.
    """

    eps: _float
    margin: _float
    p: _float
    swap: _bool
    def __init__(self, margin: _float = 1.0, p: _float = 2.0, eps: _float = 1e-06, swap: _bool = False, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
    def forward(self, anchor: Any, positive: Any, negative: Any) -> Tensor:
        """Three of (N, D) or (D,) -> a scalar, or (N,) with reduction="none"."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class TripletMarginWithDistanceLoss(_Loss):
    """TripletMarginLoss with a distance of one's own, by default PairwiseDistance: (N, D), (N, D) -> (N)."""

    distance_function: Any
    margin: _float
    swap: _bool
    def __init__(self, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: _float = 1.0, swap: _bool = False, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
    def forward(self, anchor: Any, positive: Any, negative: Any) -> Tensor:
        """Three of what the distance takes -> a scalar, or the distance's shape with reduction="none"."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class _Loss(Module):
    """The base of all losses, which keeps `reduction`."""

    reduction: str
    def __init__(self, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
class _WeightedLoss(_Loss):
    """The base of losses with a weight for each class; it is a buffer."""

    weight: Tensor | None
    def __init__(self, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> None: ...
def _check_margin(name: str, margin: _float) -> None: ...
__all__ = ['BCELoss', 'BCEWithLogitsLoss', 'CTCLoss', 'CosineEmbeddingLoss', 'CrossEntropyLoss',
    'GaussianNLLLoss', 'HingeEmbeddingLoss', 'HuberLoss', 'KLDivLoss', 'L1Loss', 'LinearCrossEntropyLoss',
    'MSELoss', 'MarginRankingLoss', 'MultiLabelMarginLoss', 'MultiLabelSoftMarginLoss', 'MultiMarginLoss',
    'NLLLoss', 'NLLLoss2d', 'PoissonNLLLoss', 'SmoothL1Loss', 'SoftMarginLoss', 'TripletMarginLoss',
    'TripletMarginWithDistanceLoss']
