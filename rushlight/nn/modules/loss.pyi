# Written by `python tools/stubs.py`.
"""Losses. `reduction` is "mean" (default), "sum" or "none": one value for each element.

The arguments size_average and reduce are deprecated spellings of `reduction`.
"""
from collections.abc import Callable
from rushlight._engine.core.device import device as _device
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight.nn.modules.function_module import FunctionModule
from rushlight.nn.modules.linear import Linear
from rushlight.nn.modules.module import Module
from rushlight._engine.tensors.tensor import Tensor
from typing import Any

class BCELoss(_WeightedLoss):
    """-(target * log(input) + (1 - target) * log(1 - input)), for probabilities."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
class BCEWithLogitsLoss(_Loss):
    """BCELoss of sigmoid(input), in one stable formula; `pos_weight` weighs positive targets."""

    pos_weight: Tensor
    weight: Tensor
    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', pos_weight: Any = None) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
class CTCLoss(_Loss):
    """Connectionist temporal classification: log_probs (T, N, C), targets (N, S) or joined.

    `blank`: the class of the blank. `zero_infinity`: impossible alignments count as 0.
    """

    blank: int
    zero_infinity: bool
    def __init__(self, blank: int = 0, reduction: str = 'mean', zero_infinity: bool = False) -> None: ...
    __constants__: list[Any]
    def forward(self, log_probs: Tensor, targets: Any, input_lengths: Any, target_lengths: Any) -> Tensor: ...
    def __call__(self, log_probs: Tensor, targets: Any, input_lengths: Any, target_lengths: Any) -> Tensor: ...
class CosineEmbeddingLoss(_Loss):
    """1 - cos(x1, x2) where target is 1; max(0, cos(x1, x2) - margin) where it is -1."""

    margin: float
    def __init__(self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor: ...
class CrossEntropyLoss(_WeightedLoss):
    """-log_softmax(input)[target]: (N, C, *) and classes (N, *), or probabilities (N, C, *).

    `weight` (C,): of each class. `ignore_index`: targets that do not count. `label_smoothing`:
    mixes the target with the uniform distribution.
    """

    ignore_index: int
    label_smoothing: float
    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean', label_smoothing: float = 0.0) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
class GaussianNLLLoss(_Loss):
    """(log(var) + (input - target)^2 / var) / 2, var at least eps; `full` adds log(2 pi) / 2."""

    eps: float
    full: bool
    def __init__(self, *, full: bool = False, eps: float = 1e-06, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor, target: Tensor, var: Any) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor, var: Any) -> Tensor: ...
class HingeEmbeddingLoss(_Loss):
    """input where target is 1; max(0, margin - input) where it is -1."""

    margin: float
    def __init__(self, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
class HuberLoss(_Loss):
    """d^2 / 2 where |d| = |input - target| < delta, else delta * (|d| - delta / 2)."""

    delta: float
    def __init__(self, reduction: str = 'mean', delta: float = 1.0) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
class KLDivLoss(_Loss):
    """target * (log(target) - input), for log-probabilities; reduction "batchmean" too.

    `log_target`: the target is in log-space as well.
    """

    log_target: bool
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', log_target: bool = False) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
class L1Loss(_Loss):
    """|input - target|."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
class LinearCrossEntropyLoss(Module):
    """cross_entropy(linear(input), target): (N, in_features) and (N, *out_features) -> a scalar.

    `linear.weight`: (num_classes * prod(out_features), in_features). See CrossEntropyLoss.
    """

    ignore_index: int | None
    label_smoothing: float
    linear: Linear
    num_classes: int
    options: Any
    out_features: Any
    reduction: str
    weight: Tensor
    def __init__(self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (), bias: bool = False, device: str | int | _device | None = None, dtype: _dtype | None = None, reduction: str = 'mean', weight: Tensor | None = None, ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
class LinearCrossEntropyOptions:
    """How PyTorch cuts the batch into chunks. The result is the same; here nothing is cut."""

    acc_dtype: Any
    acc_policy: str
    allow_retain_graph: bool
    batch_chunk_size: int | None
    chunking_method: str | None
    def __init__(self, allow_retain_graph: bool = False, batch_chunk_size: int | None = None, chunking_method: str | None = 'auto', acc_policy: str = 'auto', acc_dtype: Any = None) -> None: ...
    __dataclass_fields__: dict[Any, Any]
    __dataclass_params__: Any
    def __eq__(self, other: object) -> Any: ...
    __hash__: Any
    def __repr__(self) -> Any: ...
class MSELoss(_Loss):
    """(input - target)^2."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
class MarginRankingLoss(_Loss):
    """max(0, -target * (input1 - input2) + margin)."""

    margin: float
    def __init__(self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor: ...
class MultiLabelMarginLoss(_Loss):
    """Hinge loss of several classes for each sample: (N, C); the target lists classes, then -1."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
class MultiLabelSoftMarginLoss(_WeightedLoss):
    """BCE with logits, averaged over the classes: (N, C) and 0/1 targets (N, C)."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
class MultiMarginLoss(_WeightedLoss):
    """Sum over the other classes of max(0, margin - input[target] + input[i])^p, over C."""

    margin: float
    p: int
    def __init__(self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
class NLLLoss(_WeightedLoss):
    """-input[target], for log-probabilities (N, C, *) and classes (N, *).

    `weight` (C,): of each class. `ignore_index`: targets that do not count.
    """

    ignore_index: int
    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
class NLLLoss2d(NLLLoss):
    """Deprecated: NLLLoss takes images as well."""

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
class PoissonNLLLoss(_Loss):
    """exp(input) - target * input; without `log_input`, input - target * log(input + eps).

    `full` adds Stirling's approximation of log(target!).
    """

    eps: float
    full: bool
    log_input: bool
    def __init__(self, log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-08, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
    def forward(self, log_input: Any, target: Tensor) -> Tensor: ...
    def __call__(self, log_input: Any, target: Tensor) -> Tensor: ...
class SmoothL1Loss(_Loss):
    """d^2 / (2 * beta) where |d| = |input - target| < beta, else |d| - beta / 2."""

    beta: float
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', beta: float = 1.0) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)), targets 1 and -1."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
class TripletMarginLoss(_Loss):
    """max(0, ||anchor - positive|| - ||anchor - negative|| + margin), in the p-norm.

    `swap`: takes the negative's distance from the positive where that is smaller.
    """

    eps: float
    margin: float
    p: float
    swap: bool
    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-06, swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor: ...
    def __call__(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor: ...
class TripletMarginWithDistanceLoss(_Loss):
    """TripletMarginLoss with a distance of one's own (default: PairwiseDistance)."""

    distance_function: Any
    margin: float
    swap: bool
    def __init__(self, *, distance_function: Callable[[Any, Any], Any] | None = None, margin: float = 1.0, swap: bool = False, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor: ...
    def __call__(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor: ...
class _Loss(FunctionModule):
    reduction: str
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    __constants__: list[Any]
class _WeightedLoss(_Loss):
    weight: Tensor
    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
def _check_margin(loss: Any) -> None: ...
