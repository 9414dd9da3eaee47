"""Activation functions as modules. MultiheadAttention, which PyTorch keeps here too, has its own
file."""
from __future__ import annotations

import warnings
from typing import Any

from rushlight.nn import functional as F, init
from rushlight.nn.modules.function_module import FunctionModule
from rushlight.nn.modules.module import Module
from rushlight.nn.modules.multihead import MultiheadAttention
from rushlight.nn.modules.utils import register_empty


class Threshold(FunctionModule, function="threshold", threshold=float, value=float, inplace=False):
    """x where x > threshold, else value. Any shape."""


class ReLU(FunctionModule, function="relu", inplace=False):
    """max(0, x). Any shape."""


class RReLU(FunctionModule, function="rrelu", lower=1.0 / 8, upper=1.0 / 3, inplace=False):
    """x where x >= 0, else a * x: a is drawn from U(lower, upper) in training, else the mean."""

    _passed = ("lower", "upper", "training", "inplace")


class Hardtanh(FunctionModule, function="hardtanh"):
    """x clipped to [min_val, max_val]. Any shape."""

    __constants__ = ["min_val", "max_val", "inplace"]
    _shown = _passed = ("min_val", "max_val", "inplace")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False,
                 min_value: float | None = None, max_value: float | None = None) -> None:
        super().__init__()
        self.inplace = inplace
        for old, new, given in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if given is not None:
                warnings.warn(f"keyword argument `{old}` is deprecated and rename to `{new}`",
                              FutureWarning, stacklevel=2)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val must be larger than min_val, got {self.max_val} and "
                                 f"{self.min_val}")


class ReLU6(Hardtanh):
    """min(max(0, x), 6). Any shape."""

    _shown = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class Sigmoid(FunctionModule, function="torch.sigmoid"):
    """1 / (1 + exp(-x)). Any shape."""


class Hardsigmoid(FunctionModule, function="hardsigmoid", inplace=False):
    """clip(x / 6 + 1/2, 0, 1). Any shape."""


class Tanh(FunctionModule, function="torch.tanh"):
    """tanh(x). Any shape."""


class SiLU(FunctionModule, function="silu", inplace=False):
    """x * sigmoid(x), also called swish. Any shape."""


class Mish(FunctionModule, function="mish", inplace=False):
    """x * tanh(softplus(x)). Any shape."""


class Hardswish(FunctionModule, function="hardswish", inplace=False):
    """x * clip(x / 6 + 1/2, 0, 1). Any shape."""


class ELU(FunctionModule, function="elu", alpha=1.0, inplace=False):
    """x where x > 0, else alpha * (exp(x) - 1). Any shape."""


class CELU(FunctionModule, function="celu", alpha=1.0, inplace=False):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)). Any shape."""


class SELU(FunctionModule, function="selu", inplace=False):
    """scale * ELU(x) with the constants of self-normalising networks. Any shape."""


class GLU(FunctionModule, function="glu", dim=-1):
    """a * sigmoid(b), where a and b are the halves of the input along `dim`."""


class GELU(FunctionModule, function="gelu", approximate="none"):
    """x * Phi(x), the normal distribution's; `approximate="tanh"` for the tanh formula."""

    _by_name = True


class Hardshrink(FunctionModule, function="hardshrink", lambd=0.5):
    """x where |x| > lambd, else 0. Any shape."""

    def extra_repr(self) -> str:
        return str(self.lambd)


class LeakyReLU(FunctionModule, function="leaky_relu", negative_slope=1e-2, inplace=False):
    """x where x >= 0, else negative_slope * x. Any shape."""


class LogSigmoid(FunctionModule, function="logsigmoid"):
    """log(1 / (1 + exp(-x))). Any shape."""


class Softplus(FunctionModule, function="softplus", beta=1.0, threshold=20.0):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold. Any shape."""


class Softshrink(FunctionModule, function="softshrink", lambd=0.5):
    """x - lambd where x > lambd, x + lambd where x < -lambd, else 0. Any shape."""

    def extra_repr(self) -> str:
        return str(self.lambd)


class PReLU(FunctionModule, function="prelu"):
    """x where x >= 0, else weight * x; one weight, or one for each channel (dim 1).

    weight: (num_parameters,), starts at `init`.
    """

    __constants__ = ["num_parameters"]
    _shown, _passed = ("num_parameters",), ("weight",)

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        register_empty(self, device, dtype, weight=num_parameters)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.constant_(self.weight, self.init)


class Softsign(FunctionModule, function="softsign"):
    """x / (1 + |x|). Any shape."""


class Tanhshrink(FunctionModule, function="tanhshrink"):
    """x - tanh(x). Any shape."""


class _AlongDim(FunctionModule, function=None, dim=None):
    dim: int | None


class Softmin(_AlongDim, function="softmin"):
    """exp(-x) over its sum along `dim`."""


class Softmax(_AlongDim, function="softmax"):
    """exp(x) over its sum along `dim`."""


class Softmax2d(Module):
    """softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Any) -> Any:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


class LogSoftmax(_AlongDim, function="log_softmax"):
    """log(softmax(x)) along `dim`."""


__all__ = ["CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
    "LogSigmoid", "LogSoftmax", "Mish", "MultiheadAttention", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU",
    "SiLU", "Sigmoid", "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh",
    "Tanhshrink", "Threshold"]
