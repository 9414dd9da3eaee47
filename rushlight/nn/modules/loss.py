"""Losses. `reduction` is "mean" (default), "sum" or "none": one value for each element.

The arguments size_average and reduce are deprecated spellings of `reduction`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rushlight._engine.core.callers import warn
from rushlight.nn import _reduction, functional as F
from rushlight.nn.modules.distance import PairwiseDistance
from rushlight.nn.modules.function_module import FunctionModule, declared
from rushlight.nn.modules.linear import Linear
from rushlight.nn.modules.module import Module


class _Loss(FunctionModule, function=None, inputs="input, target"):
    __constants__ = ["reduction"]
    _by_name = True
    _shown = ""

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = _reduction.legacy_get_string(size_average, reduce)
        self.reduction = reduction


class _WeightedLoss(_Loss, function=None):
    def __init__(
        self,
        weight: Any = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


globals().update(declared(__name__, _Loss, _WeightedLoss))


class NLLLoss(
    _WeightedLoss,
    function="nll_loss",
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
):
    """-input[target], for log-probabilities (N, C, *) and classes (N, *).

    `weight` (C,): of each class. `ignore_index`: targets that do not count.
    """

    __constants__ = ["ignore_index", "reduction"]


class NLLLoss2d(NLLLoss):
    """Deprecated: NLLLoss takes images as well."""

    def __init__(
        self,
        weight: Any = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warn(
            "NLLLoss2d has been deprecated. Please use NLLLoss instead as a drop-in "
            "replacement and see https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss "
            "for more details.",
            FutureWarning,
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class BCEWithLogitsLoss(_Loss, function="binary_cross_entropy_with_logits"):
    """BCELoss of sigmoid(input), in one stable formula; `pos_weight` weighs positive targets."""

    def __init__(
        self,
        weight: Any = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Any = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)


class MultiMarginLoss(
    _WeightedLoss,
    function="multi_margin_loss",
    p=1,
    margin=1.0,
    weight=None,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """Sum over the other classes of max(0, margin - input[target] + input[i])^p, over C."""

    __constants__ = ["p", "margin", "reduction"]

    def _post_init(self) -> None:
        if self.p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if self.weight is not None and self.weight.dim() != 1:
            raise ValueError(
                f"MultiMarginLoss: expected weight to be None or 1D tensor, got {self.weight.dim()}D instead"
            )


def _check_margin(loss: Any) -> None:
    if loss.margin <= 0:
        raise ValueError(
            f"{type(loss).__name__}: expected margin to be greater than 0, got {loss.margin} instead"
        )


class TripletMarginLoss(
    _Loss,
    function="triplet_margin_loss",
    inputs="anchor, positive, negative",
    margin=1.0,
    p=2.0,
    eps=1e-6,
    swap=False,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """max(0, ||anchor - positive|| - ||anchor - negative|| + margin), in the p-norm.

    `swap`: takes the negative's distance from the positive where that is smaller.
    """

    _post_init = _check_margin


class TripletMarginWithDistanceLoss(
    _Loss, function="triplet_margin_with_distance_loss", inputs="anchor, positive, negative"
):
    """TripletMarginLoss with a distance of one's own (default: PairwiseDistance)."""

    __constants__ = ["margin", "swap", "reduction"]

    def __init__(
        self,
        *,
        distance_function: Callable[[Any, Any], Any] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(None, None, reduction)
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap = margin, swap
        _check_margin(self)


@dataclass
class LinearCrossEntropyOptions:
    """How PyTorch cuts the batch into chunks. The result is the same; here nothing is cut."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None


class LinearCrossEntropyLoss(Module):
    """cross_entropy(linear(input), target): (N, in_features) and (N, *out_features) -> a scalar.

    `linear.weight`: (num_classes * prod(out_features), in_features). See CrossEntropyLoss.
    """

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Any = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        super().__init__()
        self.reduction = reduction
        self.register_buffer("weight", weight)
        self.linear = Linear(
            in_features, num_classes * math.prod(out_features), bias=bias, device=device, dtype=dtype
        )
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self.options = options

    def forward(self, input: Any, target: Any) -> Any:
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.view(*shape, -1),
            target,
            linear_bias=None if bias is None else bias.view(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
