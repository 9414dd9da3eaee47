# Written by `python tools/stubs.py`.
"""Linear maps: Identity, Linear, Bilinear, LazyLinear."""
from builtins import bool as _bool, int as _int, type as _type
from rushlight import Tensor
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight.nn.modules.lazy import LazyLayer
from rushlight.nn.modules.module import Module, _Forward, _P, _R
from rushlight.nn.parameter import Parameter
from rushlight.types import Device
from typing import Any

class Bilinear(Module):
    """x1 @ A @ x2 + bias: (*, in1_features), (*, in2_features) -> (*, out_features).

    weight: (out_features, in1_features, in2_features) and bias: (out_features,), both from
    U(-k, k), k = 1 / sqrt(in1_features).
    """

    bias: Parameter
    in1_features: _int
    in2_features: _int
    out_features: _int
    weight: Parameter
    def __init__(self, in1_features: _int, in2_features: _int, out_features: _int, bias: _bool = True, device: Device = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: in1_features, in2_features, out_features, bias."""
    def forward(self, input1: Any, input2: Any) -> Tensor:
        """(*, in1_features) and (*, in2_features), * alike -> (*, out_features)."""
    def reset_parameters(self) -> None:
        """Draw weight and bias anew, both from U(-k, k), k = 1 / sqrt(in1_features)."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Identity(Module):
    """Returns its input; all constructor arguments are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def forward(self, input: Any) -> Tensor:
        """The input itself, whatever it is."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class LazyLinear(LazyLayer, Linear):
    """Linear that finds `in_features` at its first call, and is a Linear from then on."""

    out_features: _int
    def __init__(self, out_features: _int, bias: _bool = True, device: Device = None, dtype: _dtype | None = None) -> None: ...
    cls_to_become: _type[Any]
    def initialize_parameters(self, input: Tensor) -> None:
        """Give the parameters their shapes, from the first input."""
class Linear(Module):
    """x @ weight.T + bias: (*, in_features) -> (*, out_features).

    weight: (out_features, in_features) and bias: (out_features,), both from U(-k, k), k = 1 /
    sqrt(in_features).
    """

    bias: Parameter
    in_features: _int
    out_features: _int
    weight: Parameter
    def __init__(self, in_features: _int, out_features: _int, bias: _bool = True, device: Device = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: in_features, out_features, bias."""
    def forward(self, input: Any) -> Tensor:
        """(*, in_features) -> (*, out_features), of the weight's dtype; RuntimeError for other sizes or
        dtypes.
        """
    def reset_parameters(self) -> None:
        """Draw weight and bias anew, both from U(-k, k), k = 1 / sqrt(in_features)."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class NonDynamicallyQuantizableLinear(Linear):
    """Linear under the name that attention's output projection has in PyTorch."""

def _init_bias(bias: Tensor | None, weight: Tensor) -> None:
    """U(-k, k), k = 1 / sqrt(fan_in)."""
__all__ = ['Bilinear', 'Identity', 'LazyLinear', 'Linear']
