# Written by `python tools/stubs.py`.
"""Linear maps: Identity, Linear, Bilinear, LazyLinear."""
from rushlight._engine.core.device import device as _device
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight.nn.modules.function_module import FunctionModule
from rushlight.nn.modules.lazy import LazyLayer
from rushlight.nn.modules.module import Module
from rushlight.nn.parameter import Parameter
from rushlight._engine.tensors.tensor import Tensor
from typing import Any

class Bilinear(FunctionModule):
    """x1 @ A @ x2 + bias: (*, in1_features), (*, in2_features) -> (*, out_features).

    weight: (out_features, in1_features, in2_features) and bias: (out_features,), both from
    U(-k, k), k = 1 / sqrt(in1_features).
    """

    in1_features: int
    in2_features: int
    out_features: int
    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: str | int | _device | None = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
    def forward(self, input1: Tensor, input2: Tensor) -> Tensor: ...
    def reset_parameters(self) -> None: ...
    def __call__(self, input1: Tensor, input2: Tensor) -> Tensor: ...
class Identity(Module):
    """Returns its input; all constructor arguments are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class LazyLinear(LazyLayer, Linear):
    """Linear that finds `in_features` at its first call, and is a Linear from then on."""

    out_features: int
    def __init__(self, out_features: int, bias: bool = True, device: str | int | _device | None = None, dtype: _dtype | None = None) -> None: ...
    cls_to_become: type[Any]
    def initialize_parameters(self, input: Tensor) -> None:
        """Give the parameters their shapes, from the first input."""
class Linear(FunctionModule):
    """x @ weight.T + bias: (*, in_features) -> (*, out_features).

    weight: (out_features, in_features) and bias: (out_features,), both from
    U(-k, k), k = 1 / sqrt(in_features).
    """

    bias: Parameter
    in_features: int
    out_features: int
    weight: Parameter
    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: str | int | _device | None = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor) -> Tensor: ...
    def reset_parameters(self) -> None: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class NonDynamicallyQuantizableLinear(Linear):
    """Linear under the name that attention's output projection has in PyTorch."""

def _init_bias(bias: Tensor, weight: Tensor) -> None:
    """U(-k, k), k = 1 / sqrt(fan_in)."""
