"""Linear maps: Identity, Linear, Bilinear, LazyLinear."""

from __future__ import annotations

import math
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight.nn import functional as F, init
from rushlight.nn.modules.lazy import LazyLayer
from rushlight.nn.modules.module import Module
from rushlight.nn.modules.utils import register_empty
from rushlight.types import Device

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Returns its input; all constructor arguments are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """The input itself, whatever it is."""
        return input


class Linear(Module):
    """x @ weight.T + bias: (*, in_features) -> (*, out_features).

    weight: (out_features, in_features) and bias: (out_features,), both from U(-k, k), k = 1 /
    sqrt(in_features).
    """

    __constants__ = ["in_features", "out_features"]

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        register_empty(
            self, device, dtype, weight=(out_features, in_features), bias=out_features if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, both from U(-k, k), k = 1 / sqrt(in_features)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        _init_bias(self.bias, self.weight)

    def forward(self, input: Tensor) -> Tensor:
        """(*, in_features) -> (*, out_features), of the weight's dtype; RuntimeError for other sizes or
        dtypes.
        """
        try:  # two look-ups instead of two failing ones: this is the most called layer
            own: dict[str, Any] = self._parameters
            weight, bias = own["weight"], own["bias"]
        except (KeyError, AttributeError):  # parametrized, pruned, or no module but its like: attributes
            weight, bias = self.weight, self.bias
        return F.linear(input, weight, bias)

    def extra_repr(self) -> str:
        """What repr() shows: in_features, out_features, bias."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        )


def _init_bias(bias: Tensor | None, weight: Tensor) -> None:
    """U(-k, k), k = 1 / sqrt(fan_in)."""
    if bias is not None:
        fan_in, _ = init._calculate_fan_in_and_fan_out(weight)
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        init.uniform_(bias, -bound, bound)


class NonDynamicallyQuantizableLinear(Linear):
    """Linear under the name that attention's output projection has in PyTorch."""


class Bilinear(Module):
    """x1 @ A @ x2 + bias: (*, in1_features), (*, in2_features) -> (*, out_features).

    weight: (out_features, in1_features, in2_features) and bias: (out_features,), both from
    U(-k, k), k = 1 / sqrt(in1_features).
    """

    __constants__ = ["in1_features", "in2_features", "out_features"]

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        register_empty(
            self,
            device,
            dtype,
            weight=(out_features, in1_features, in2_features),
            bias=out_features if bias else None,
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, both from U(-k, k), k = 1 / sqrt(in1_features)."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """(*, in1_features) and (*, in2_features), * alike -> (*, out_features)."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """What repr() shows: in1_features, in2_features, out_features, bias."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class LazyLinear(LazyLayer, Linear):
    """Linear that finds `in_features` at its first call, and is a Linear from then on."""

    cls_to_become = Linear
    _finds = "in_features"

    def __init__(
        self, out_features: int, bias: bool = True, device: Device = None, dtype: torch.dtype | None = None
    ) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self._unsized(bias, device, dtype)

    def _find(self, input: Tensor) -> int:
        return int(input.shape[-1])

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"weight": (self.out_features, self.in_features), "bias": (self.out_features,)}

    def initialize_parameters(self, input: Tensor) -> None:
        """Give the parameters their shapes, from the first input."""
        super().initialize_parameters(input)
        if self.in_features == 0:
            self.in_features = self.weight.shape[-1]
