"""Cross entropy of a linear layer's result, as one module."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rushlight.nn import functional as F
from rushlight.nn.modules.linear import Linear
from rushlight.nn.modules.module import Module


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

    __module__ = "rushlight.nn.modules.loss"  # as in PyTorch: pickles say so

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]
    weight: Any

    def __init__(self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (),
                 bias: bool = False, device: Any = None, dtype: Any = None,
                 reduction: str = "mean", weight: Any = None, ignore_index: int | None = None,
                 label_smoothing: float = 0.0, options: Any = None) -> None:
        super().__init__()
        self.reduction = reduction
        self.register_buffer("weight", weight)
        self.linear = Linear(in_features, num_classes * math.prod(out_features), bias=bias,
                             device=device, dtype=dtype)
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self.options = options

    def forward(self, input: Any, target: Any) -> Any:
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input, self.linear.weight.view(*shape, -1), target,
            linear_bias=None if bias is None else bias.view(shape), weight=self.weight,
            reduction=self.reduction, ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing, options=self.options)

    def extra_repr(self) -> str:
        return (f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
                f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
                f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
                f"label_smoothing={self.label_smoothing}, options={self.options}")
