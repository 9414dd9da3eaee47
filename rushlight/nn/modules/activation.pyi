# Written by `python tools/stubs.py`.
"""Activation functions as modules; and MultiheadAttention, which PyTorch keeps here too. Its arithmetic is in
nn/multihead_attention.py.

"Any shape": the result has the input's. `inplace`: the result is written into the input.
"""
from builtins import bool as _bool, float as _float, int as _int
from rushlight import Tensor
from rushlight._engine.core.device import device as _device
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight.nn.modules.linear import NonDynamicallyQuantizableLinear
from rushlight.nn.modules.module import Module, _Forward, _P, _R
from rushlight.nn.parameter import Parameter
from rushlight.types import Device
from typing import Any

class CELU(Module):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)). Any shape."""

    alpha: _float
    inplace: _bool
    def __init__(self, alpha: _float = 1.0, inplace: _bool = False) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: alpha, and inplace where not the default."""
    def forward(self, input: Any) -> Tensor:
        """The input, above -alpha and differentiable at 0, of its shape and dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class ELU(Module):
    """x where x > 0, else alpha * (exp(x) - 1). Any shape."""

    alpha: _float
    inplace: _bool
    def __init__(self, alpha: _float = 1.0, inplace: _bool = False) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: alpha, and inplace where not the default."""
    def forward(self, input: Any) -> Tensor:
        """The input, above -alpha, of its shape and dtype; in its memory with `inplace`."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class GELU(Module):
    """x * Phi(x), the normal distribution's; `approximate="tanh"` for the tanh formula. Any shape."""

    approximate: str
    def __init__(self, approximate: str = 'none') -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: approximate."""
    def forward(self, input: Any) -> Tensor:
        """x * Phi(x), of the input's shape and dtype, which must be floating (NotImplementedError)."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class GLU(Module):
    """a * sigmoid(b), where a and b are the halves of the input along `dim`: (*, 2 * n, *) -> (*, n, *)."""

    dim: _int
    def __init__(self, dim: _int = -1) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: dim."""
    def forward(self, input: Any) -> Tensor:
        """One half times the sigmoid of the other: `dim` has half the size, which must be even
        (RuntimeError).
        """
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Hardshrink(Module):
    """x where |x| > lambd, else 0. Any shape."""

    lambd: _float
    def __init__(self, lambd: _float = 0.5) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: lambd."""
    def forward(self, input: Any) -> Tensor:
        """The input, zero within [-lambd, lambd], of its shape and dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Hardsigmoid(Module):
    """clip(x / 6 + 1/2, 0, 1). Any shape."""

    inplace: _bool
    def __init__(self, inplace: _bool = False) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Any) -> Tensor:
        """The piecewise linear sigmoid, in [0, 1], of the input's shape and dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Hardswish(Module):
    """x * clip(x / 6 + 1/2, 0, 1). Any shape."""

    inplace: _bool
    def __init__(self, inplace: _bool = False) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Any) -> Tensor:
        """The piecewise form of SiLU, of the input's shape and dtype; in its memory with `inplace`."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Hardtanh(Module):
    """x clipped to [min_val, max_val]. Any shape."""

    inplace: _bool
    max_val: Any
    min_val: Any
    def __init__(self, min_val: _float = -1.0, max_val: _float = 1.0, inplace: _bool = False, min_value: _float | None = None, max_value: _float | None = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: min_val, max_val, and inplace where not the default."""
    def forward(self, input: Any) -> Tensor:
        """The input, cut to the range, of its shape and dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class LeakyReLU(Module):
    """x where x >= 0, else negative_slope * x. Any shape."""

    inplace: _bool
    negative_slope: _float
    def __init__(self, negative_slope: _float = 0.01, inplace: _bool = False) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: negative_slope, and inplace where not the default."""
    def forward(self, input: Any) -> Tensor:
        """The input, its negative elements times negative_slope, of its shape and dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class LogSigmoid(Module):
    """log(1 / (1 + exp(-x))). Any shape."""

    def forward(self, input: Any) -> Tensor:
        """log(sigmoid(x)) without overflow, at most 0, of the input's shape and dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class LogSoftmax(Module):
    """log(softmax(x)) along `dim`. Any shape."""

    dim: _int | None
    def __init__(self, dim: _int | None = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: dim."""
    def forward(self, input: Any) -> Tensor:
        """Log-softmax along `dim`, of the input's shape and dtype. Without `dim`: 0 for 0, 1 or 3 dims, else
        1, with a warning.
        """
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Mish(Module):
    """x * tanh(softplus(x)). Any shape."""

    inplace: _bool
    def __init__(self, inplace: _bool = False) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: inplace where not the default."""
    def forward(self, input: Any) -> Tensor:
        """x * tanh(softplus(x)), of the input's shape and dtype; in the input's memory with `inplace`."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class MultiheadAttention(Module):
    """softmax(Q K^T / sqrt(D)) V by heads, then a linear map.

    query (L, N, E), key (S, N, kdim), value (S, N, vdim); (N, L, E), ... with `batch_first`, or
    without N. in_proj_weight (3 * E, E) from Xavier's uniform distribution (q_proj_weight, ... where
    kdim or vdim differ), in_proj_bias and out_proj.bias 0. `add_bias_kv`: a learned key and value
    more; `add_zero_attn`: zero ones.
    """

    add_zero_attn: _bool
    batch_first: _bool
    dropout: _float
    embed_dim: _int
    head_dim: Any
    kdim: Any
    num_heads: _int
    out_proj: NonDynamicallyQuantizableLinear
    vdim: Any
    def __init__(self, embed_dim: _int, num_heads: _int, dropout: _float = 0.0, bias: _bool = True, add_bias_kv: _bool = False, add_zero_attn: _bool = False, kdim: _int | None = None, vdim: _int | None = None, batch_first: _bool = False, device: str | _int | _device | None = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
    def forward(self, query: Any, key: Any, value: Any, key_padding_mask: Any = None, need_weights: _bool = True, attn_mask: Any = None, average_attn_weights: _bool = True, is_causal: _bool = False) -> tuple[Any, Any]:
        """(output like query, weights (N, L, S) or None).

        key_padding_mask (N, S): True (or -inf) at keys to leave out. attn_mask (L, S) or (N * heads, L, S):
        True (or -inf) where not to attend. `is_causal`: a hint that attn_mask is the causal one. Without
        `average_attn_weights`: weights (N, heads, L, S).
        """
    def merge_masks(self, attn_mask: Tensor, key_padding_mask: Tensor, query: Tensor) -> tuple[Any, Any]:
        """(one mask (N, heads, L, S), 2), or the only mask given and its kind, 0 or 1."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class PReLU(Module):
    """x where x >= 0, else weight * x; one weight, or one for each channel (dim 1). Any shape.

    weight: (num_parameters,), starts at `init`.
    """

    init: _float
    num_parameters: _int
    weight: Parameter
    def __init__(self, num_parameters: _int = 1, init: _float = 0.25, device: Device = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: num_parameters."""
    def forward(self, input: Any) -> Tensor:
        """The input, its negative elements times the weight; channels are dim 1 where there are several
        weights.
        """
    def reset_parameters(self) -> None:
        """Fill the weight with `init`."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class RReLU(Module):
    """x where x >= 0, else a * x. Any shape.

    a is drawn from U(lower, upper) for each element in training; else it is the mean of the two.
    """

    inplace: _bool
    lower: _float
    upper: _float
    def __init__(self, lower: _float = 0.125, upper: _float = 0.3333333333333333, inplace: _bool = False) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: lower, upper, and inplace where not the default."""
    def forward(self, input: Any) -> Tensor:
        """The input, its negative elements times random slopes in training, of its shape and dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class ReLU(Module):
    """max(0, x). Any shape."""

    inplace: _bool
    def __init__(self, inplace: _bool = False) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: inplace where not the default."""
    def forward(self, input: Any) -> Tensor:
        """The input, at least 0, of its shape and dtype; in the input's memory with `inplace`."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class ReLU6(Hardtanh):
    """min(max(0, x), 6). Any shape."""

    def __init__(self, inplace: _bool = False) -> None: ...
    def extra_repr(self) -> str:
        """What repr() shows: inplace where not the default."""
class SELU(Module):
    """scale * ELU(x), with the constants of self-normalising networks. Any shape."""

    inplace: _bool
    def __init__(self, inplace: _bool = False) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: inplace where not the default."""
    def forward(self, input: Any) -> Tensor:
        """The scaled ELU, of the input's shape and dtype; in the input's memory with `inplace`."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class SiLU(Module):
    """x * sigmoid(x), also called swish. Any shape."""

    inplace: _bool
    def __init__(self, inplace: _bool = False) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: inplace where not the default."""
    def forward(self, input: Any) -> Tensor:
        """x * sigmoid(x), of the input's shape and dtype; in the input's memory with `inplace`."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Sigmoid(Module):
    """1 / (1 + exp(-x)). Any shape."""

    def forward(self, input: Any) -> Tensor:
        """The input's sigmoid, in (0, 1): of its shape; its dtype, or the default one of integers."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Softmax(Module):
    """exp(x) over its sum along `dim`. Any shape."""

    dim: _int | None
    def __init__(self, dim: _int | None = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: dim."""
    def forward(self, input: Any) -> Tensor:
        """Softmax along `dim`, of the input's shape and dtype. Without `dim`: 0 for 0, 1 or 3 dims, else 1,
        with a warning.
        """
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Softmax2d(Module):
    """softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Any) -> Tensor:
        """Softmax over the channels, of the input's shape and dtype; ValueError unless it has 3 or 4 dims."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Softmin(Module):
    """exp(-x) over its sum along `dim`. Any shape."""

    dim: _int | None
    def __init__(self, dim: _int | None = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: dim."""
    def forward(self, input: Any) -> Tensor:
        """Softmax of -input, of the input's shape and dtype. Without `dim`: 0 for 0, 1 or 3 dims, else 1,
        with a warning.
        """
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Softplus(Module):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold. Any shape."""

    beta: _float
    threshold: _float
    def __init__(self, beta: _float = 1.0, threshold: _float = 20.0) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: beta, threshold."""
    def forward(self, input: Any) -> Tensor:
        """A smooth relu, above 0, of the input's shape and dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Softshrink(Module):
    """x - lambd where x > lambd, x + lambd where x < -lambd, else 0. Any shape."""

    lambd: _float
    def __init__(self, lambd: _float = 0.5) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: lambd."""
    def forward(self, input: Any) -> Tensor:
        """The input moved towards zero by lambd, of its shape and dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Softsign(Module):
    """x / (1 + |x|). Any shape."""

    def forward(self, input: Any) -> Tensor:
        """x / (1 + |x|), in (-1, 1), of the input's shape and dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Tanh(Module):
    """tanh(x). Any shape."""

    def forward(self, input: Any) -> Tensor:
        """The input's tanh, in (-1, 1): of its shape; its dtype, or the default one of integers."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Tanhshrink(Module):
    """x - tanh(x). Any shape."""

    def forward(self, input: Any) -> Tensor:
        """x - tanh(x), of the input's shape and dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Threshold(Module):
    """x where x > threshold, else value. Any shape."""

    inplace: _bool
    threshold: _float
    value: _float
    def __init__(self, threshold: _float, value: _float, inplace: _bool = False) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: threshold, value, and inplace where not the default."""
    def forward(self, input: Any) -> Tensor:
        """The input with `value` where it is at most `threshold`, of its shape and dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
__all__ = ['CELU', 'ELU', 'GELU', 'GLU', 'SELU', 'Hardshrink', 'Hardsigmoid', 'Hardswish', 'Hardtanh',
    'LeakyReLU', 'LogSigmoid', 'LogSoftmax', 'Mish', 'MultiheadAttention', 'PReLU', 'RReLU', 'ReLU', 'ReLU6',
    'SiLU', 'Sigmoid', 'Softmax', 'Softmax2d', 'Softmin', 'Softplus', 'Softshrink', 'Softsign', 'Tanh',
    'Tanhshrink', 'Threshold']
