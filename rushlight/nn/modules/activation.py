"""Activation functions as modules; and MultiheadAttention, which PyTorch keeps here too. Its arithmetic is in
nn/multihead_attention.py.

"Any shape": the result has the input's. `inplace`: the result is written into the input.
"""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.core.callers import warn
from rushlight.nn import functional as F, init
from rushlight.nn.modules.linear import NonDynamicallyQuantizableLinear
from rushlight.nn.modules.module import Module
from rushlight.nn.modules.utils import each_once, register_empty
from rushlight.nn.parameter import Parameter
from rushlight.types import Device

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "MultiheadAttention",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class Threshold(Module):
    """x where x > threshold, else value. Any shape."""

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The input with `value` where it is at most `threshold`, of its shape and dtype."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """What repr() shows: threshold, value, and inplace where not the default."""
        inplace = ", inplace=True" if self.inplace else ""
        return f"threshold={self.threshold}, value={self.value}{inplace}"


class ReLU(Module):
    """max(0, x). Any shape."""

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The input, at least 0, of its shape and dtype; in the input's memory with `inplace`."""
        return F.relu(input, self.inplace)

    def extra_repr(self) -> str:
        """What repr() shows: inplace where not the default."""
        return "inplace=True" if self.inplace else ""


class RReLU(Module):
    """x where x >= 0, else a * x. Any shape.

    a is drawn from U(lower, upper) for each element in training; else it is the mean of the two.
    """

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The input, its negative elements times random slopes in training, of its shape and dtype."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """What repr() shows: lower, upper, and inplace where not the default."""
        inplace = ", inplace=True" if self.inplace else ""
        return f"lower={self.lower}, upper={self.upper}{inplace}"


class Hardtanh(Module):
    """x clipped to [min_val, max_val]. Any shape."""

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        self.inplace = inplace
        for old, new, given in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if given is not None:
                warn(f"keyword argument `{old}` is deprecated and rename to `{new}`", FutureWarning)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val must be larger than min_val, got {self.max_val} and {self.min_val}"
            )

    def forward(self, input: Tensor) -> Tensor:
        """The input, cut to the range, of its shape and dtype."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """What repr() shows: min_val, max_val, and inplace where not the default."""
        inplace = ", inplace=True" if self.inplace else ""
        return f"min_val={self.min_val}, max_val={self.max_val}{inplace}"


class ReLU6(Hardtanh):
    """min(max(0, x), 6). Any shape."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """What repr() shows: inplace where not the default."""
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """1 / (1 + exp(-x)). Any shape."""

    def forward(self, input: Tensor) -> Tensor:
        """The input's sigmoid, in (0, 1): of its shape; its dtype, or the default one of integers."""
        return torch.sigmoid(input)


class Hardsigmoid(Module):
    """clip(x / 6 + 1/2, 0, 1). Any shape."""

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The piecewise linear sigmoid, in [0, 1], of the input's shape and dtype."""
        return F.hardsigmoid(input, self.inplace)


class Tanh(Module):
    """tanh(x). Any shape."""

    def forward(self, input: Tensor) -> Tensor:
        """The input's tanh, in (-1, 1): of its shape; its dtype, or the default one of integers."""
        return torch.tanh(input)


class SiLU(Module):
    """x * sigmoid(x), also called swish. Any shape."""

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """x * sigmoid(x), of the input's shape and dtype; in the input's memory with `inplace`."""
        return F.silu(input, self.inplace)

    def extra_repr(self) -> str:
        """What repr() shows: inplace where not the default."""
        return "inplace=True" if self.inplace else ""


class Mish(Module):
    """x * tanh(softplus(x)). Any shape."""

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """x * tanh(softplus(x)), of the input's shape and dtype; in the input's memory with `inplace`."""
        return F.mish(input, self.inplace)

    def extra_repr(self) -> str:
        """What repr() shows: inplace where not the default."""
        return "inplace=True" if self.inplace else ""


class Hardswish(Module):
    """x * clip(x / 6 + 1/2, 0, 1). Any shape."""

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The piecewise form of SiLU, of the input's shape and dtype; in its memory with `inplace`."""
        return F.hardswish(input, self.inplace)


class ELU(Module):
    """x where x > 0, else alpha * (exp(x) - 1). Any shape."""

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The input, above -alpha, of its shape and dtype; in its memory with `inplace`."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """What repr() shows: alpha, and inplace where not the default."""
        inplace = ", inplace=True" if self.inplace else ""
        return f"alpha={self.alpha}{inplace}"


class CELU(Module):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)). Any shape."""

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The input, above -alpha and differentiable at 0, of its shape and dtype."""
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """What repr() shows: alpha, and inplace where not the default."""
        inplace = ", inplace=True" if self.inplace else ""
        return f"alpha={self.alpha}{inplace}"


class SELU(Module):
    """scale * ELU(x), with the constants of self-normalising networks. Any shape."""

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The scaled ELU, of the input's shape and dtype; in the input's memory with `inplace`."""
        return F.selu(input, self.inplace)

    def extra_repr(self) -> str:
        """What repr() shows: inplace where not the default."""
        return "inplace=True" if self.inplace else ""


class GLU(Module):
    """a * sigmoid(b), where a and b are the halves of the input along `dim`: (*, 2 * n, *) -> (*, n, *)."""

    __constants__ = ["dim"]

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """One half times the sigmoid of the other: `dim` has half the size, which must be even
        (RuntimeError).
        """
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """What repr() shows: dim."""
        return f"dim={self.dim}"


class GELU(Module):
    """x * Phi(x), the normal distribution's; `approximate="tanh"` for the tanh formula. Any shape."""

    __constants__ = ["approximate"]

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """x * Phi(x), of the input's shape and dtype, which must be floating (NotImplementedError)."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """What repr() shows: approximate."""
        return f"approximate={self.approximate!r}"


class Hardshrink(Module):
    """x where |x| > lambd, else 0. Any shape."""

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """The input, zero within [-lambd, lambd], of its shape and dtype."""
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """What repr() shows: lambd."""
        return str(self.lambd)


class LeakyReLU(Module):
    """x where x >= 0, else negative_slope * x. Any shape."""

    __constants__ = ["negative_slope", "inplace"]

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The input, its negative elements times negative_slope, of its shape and dtype."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """What repr() shows: negative_slope, and inplace where not the default."""
        inplace = ", inplace=True" if self.inplace else ""
        return f"negative_slope={self.negative_slope}{inplace}"


class LogSigmoid(Module):
    """log(1 / (1 + exp(-x))). Any shape."""

    def forward(self, input: Tensor) -> Tensor:
        """log(sigmoid(x)) without overflow, at most 0, of the input's shape and dtype."""
        return F.logsigmoid(input)


class Softplus(Module):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold. Any shape."""

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """A smooth relu, above 0, of the input's shape and dtype."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """What repr() shows: beta, threshold."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Softshrink(Module):
    """x - lambd where x > lambd, x + lambd where x < -lambd, else 0. Any shape."""

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """The input moved towards zero by lambd, of its shape and dtype."""
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """What repr() shows: lambd."""
        return str(self.lambd)


class Softsign(Module):
    """x / (1 + |x|). Any shape."""

    def forward(self, input: Tensor) -> Tensor:
        """x / (1 + |x|), in (-1, 1), of the input's shape and dtype."""
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x). Any shape."""

    def forward(self, input: Tensor) -> Tensor:
        """x - tanh(x), of the input's shape and dtype."""
        return F.tanhshrink(input)


class PReLU(Module):
    """x where x >= 0, else weight * x; one weight, or one for each channel (dim 1). Any shape.

    weight: (num_parameters,), starts at `init`.
    """

    __constants__ = ["num_parameters"]

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        register_empty(self, device, dtype, weight=num_parameters)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fill the weight with `init`."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """The input, its negative elements times the weight; channels are dim 1 where there are several
        weights.
        """
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """What repr() shows: num_parameters."""
        return f"num_parameters={self.num_parameters}"


class Softmin(Module):
    """exp(-x) over its sum along `dim`. Any shape."""

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Softmax of -input, of the input's shape and dtype. Without `dim`: 0 for 0, 1 or 3 dims, else 1,
        with a warning.
        """
        return F.softmin(input, self.dim)

    def extra_repr(self) -> str:
        """What repr() shows: dim."""
        return f"dim={self.dim}"


class Softmax(Module):
    """exp(x) over its sum along `dim`. Any shape."""

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Softmax along `dim`, of the input's shape and dtype. Without `dim`: 0 for 0, 1 or 3 dims, else 1,
        with a warning.
        """
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        """What repr() shows: dim."""
        return f"dim={self.dim}"


class Softmax2d(Module):
    """softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Softmax over the channels, of the input's shape and dtype; ValueError unless it has 3 or 4 dims."""
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


class LogSoftmax(Module):
    """log(softmax(x)) along `dim`. Any shape."""

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Log-softmax along `dim`, of the input's shape and dtype. Without `dim`: 0 for 0, 1 or 3 dims, else
        1, with a warning.
        """
        return F.log_softmax(input, self.dim)

    def extra_repr(self) -> str:
        """What repr() shows: dim."""
        return f"dim={self.dim}"


class MultiheadAttention(Module):
    """softmax(Q K^T / sqrt(D)) V by heads, then a linear map.

    query (L, N, E), key (S, N, kdim), value (S, N, vdim); (N, L, E), ... with `batch_first`, or
    without N. in_proj_weight (3 * E, E) from Xavier's uniform distribution (q_proj_weight, ... where
    kdim or vdim differ), in_proj_bias and out_proj.bias 0. `add_bias_kv`: a learned key and value
    more; `add_zero_attn`: zero ones.
    """

    __constants__ = ["batch_first"]
    _lacking = {"_qkv_same_embed_dim": True}

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self._register_projections(bias, {"device": device, "dtype": dtype})
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        for name in ("bias_k", "bias_v"):
            setattr(
                self,
                name,
                Parameter(torch.empty((1, 1, embed_dim), device=device, dtype=dtype))
                if add_bias_kv
                else None,
            )
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _register_projections(self, bias: bool, where: dict[str, Any]) -> None:
        same, size = self._qkv_same_embed_dim, self.embed_dim
        shapes = {
            f"{name}_proj_weight": None if same else (size, width)
            for name, width in (("q", size), ("k", self.kdim), ("v", self.vdim))
        }
        register_empty(
            self,
            **where,
            in_proj_weight=(3 * size, size) if same else None,
            **shapes,
            in_proj_bias=3 * size if bias else None,
        )

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        """(output like query, weights (N, L, S) or None).

        key_padding_mask (N, S): True (or -inf) at keys to leave out. attn_mask (L, S) or (N * heads, L, S):
        True (or -inf) where not to attend. `is_causal`: a hint that attn_mask is the causal one. Without
        `average_attn_weights`: weights (N, heads, L, S).
        """
        swap = self.batch_first and query.dim() == 3
        if swap:
            query, key, value = each_once(lambda x: x.transpose(1, 0), query, key, value)
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (output.transpose(1, 0) if swap else output), weights

    def merge_masks(self, attn_mask: Any, key_padding_mask: Any, query: Any) -> tuple[Any, Any]:
        """(one mask (N, heads, L, S), 2), or the only mask given and its kind, 0 or 1."""
        if key_padding_mask is None:
            return attn_mask, None if attn_mask is None else 0
        batch, length = key_padding_mask.shape
        merged = key_padding_mask.view(batch, 1, 1, length)
        if attn_mask is None:
            return key_padding_mask, 1
        merged = merged.expand(-1, self.num_heads, -1, -1)
        if attn_mask.dim() == 3:
            return attn_mask.view(batch, -1, length, length) + merged, 2
        return attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1) + merged, 2
