"""nn.quantized.Linear."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight.ao.nn.quantized import computing
from rushlight.ao.nn.quantized.modules.base import WeightedQuantizedModule, observed_weight

Tensor = torch.Tensor


class LinearPackedParams(nn.Module):
    """The weight and bias of a quantized layer; dtype: torch.qint8, or torch.float16 for weights of half."""

    _version = 3

    def __init__(self, dtype: Any = torch.qint8) -> None:
        super().__init__()
        self.dtype = dtype
        self._packed_params: tuple[Any, Tensor | None] = (None, None)
        if dtype is torch.qint8:
            first: Any = torch._empty_affine_quantized([1, 1], scale=1.0, zero_point=0, dtype=torch.qint8)
        else:
            first = torch.zeros([1, 1], dtype=torch.float)
        self.set_weight_bias(first, None)

    def set_weight_bias(self, weight: Any, bias: Tensor | None) -> None:
        """Take others."""
        if self.dtype not in (torch.qint8, torch.float16):
            raise RuntimeError("Unsupported dtype on dynamic quantized linear!")
        if self.dtype is torch.float16:  # its kernels multiply numbers that went through half precision
            weight = weight.half().float()
        self._packed_params = weight, bias

    def _weight_bias(self) -> tuple[Any, Tensor | None]:
        return self._packed_params

    def forward(self, x: Any) -> Any:
        """The input: nothing is computed here."""
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)  # type: ignore[misc]
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_params"] = self._weight_bias()

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, metadata: Any, strict: Any, *rest: Any
    ) -> None:
        self.dtype = state_dict.pop(prefix + "dtype")
        self.set_weight_bias(*state_dict.pop(prefix + "_packed_params"))
        super()._load_from_state_dict(state_dict, prefix, metadata, False, *rest)  # type: ignore[misc]

    def __repr__(self) -> str:
        return repr(self._weight_bias())


class Linear(WeightedQuantizedModule):
    """A linear layer whose input, weight and result are quantized; scale, zero_point: of the result."""

    _version = 3
    _float_module: Any = nn.Linear
    _relu = False

    def __init__(
        self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = torch.qint8
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        if dtype is torch.qint8:
            first: Any = torch._empty_affine_quantized(
                [out_features, in_features], scale=1, zero_point=0, dtype=torch.qint8
            )
        elif dtype is torch.float16:
            first = torch.zeros([out_features, in_features], dtype=torch.float)
        else:
            raise RuntimeError("Unsupported dtype specified for quantized Linear!")
        self._packed_params = LinearPackedParams(dtype)
        self._packed_params.set_weight_bias(first, torch.zeros(out_features) if bias_ else None)
        self.scale, self.zero_point = 1.0, 0

    def _get_name(self) -> str:
        return "QuantizedLinear"

    def extra_repr(self) -> str:
        """The sizes, and how weight and result are quantized."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, scale={self.scale}, "
            f"zero_point={self.zero_point}, qscheme={self.weight().qscheme()}"
        )

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    def forward(self, x: Any) -> Any:
        """The layer of a quantized input."""
        return computing.linear(x, *self._weight_bias(), self.scale, self.zero_point, self._relu)

    def _weight_bias(self) -> tuple[Any, Tensor | None]:
        return self._packed_params._weight_bias()

    def weight(self) -> Any:
        """The quantized weight."""
        return self._weight_bias()[0]

    def bias(self) -> Tensor | None:
        """The bias, float32, or None."""
        return self._weight_bias()[1]

    def set_weight_bias(self, w: Any, b: Tensor | None) -> None:
        """Take others."""
        self._packed_params.set_weight_bias(w, b)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized layer of an observed or fake-quantized one, or of such a one with relu."""
        if not (isinstance(mod, nn.Linear) or isinstance(mod[0], nn.Linear)):
            raise AssertionError(f"nnq.{cls.__name__}.from_float only works for Linear, but got: {type(mod)}")
        observer, inner = mod.activation_post_process, mod
        if isinstance(mod, nn.Sequential) and not hasattr(mod, "weight_fake_quant"):
            inner = mod[0]
            if not hasattr(inner, "qconfig"):
                inner.qconfig = mod.qconfig
        made = cls(inner.in_features, inner.out_features)
        bias = None if inner.bias is None else inner.bias.detach()
        made.set_weight_bias(observed_weight(inner), bias)
        made._take_range(observer)
        return made
