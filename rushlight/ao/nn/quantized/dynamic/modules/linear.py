"""nn.quantized.dynamic.Linear."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight.ao.nn.quantized import computing
from rushlight.ao.nn.quantized.modules.linear import Linear as _Linear
from rushlight.ao.quantization.qconfig import default_dynamic_qconfig


class Linear(_Linear):
    """A linear layer of numbers with a quantized weight; its input is quantized for the product alone.

    dtype: torch.qint8, or torch.float16 for a weight in half precision.
    """

    _version = 4

    def __init__(
        self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = torch.qint8
    ) -> None:
        super().__init__(in_features, out_features, bias_, dtype)
        self.version = 4

    def forward(self, x: Any) -> Any:
        """The layer, in the dtype of x."""
        weight, bias = self._weight_bias()
        if self._packed_params.dtype is torch.float16:
            return nn.functional.linear(x.float(), weight, bias).to(x.dtype)
        reduced = self.version is not None and self.version >= 4
        return computing.linear_dynamic(x, weight, bias, reduced).to(x.dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        """The sizes, and how the weight is quantized."""
        held = self._packed_params.dtype
        said = f"in_features={self.in_features}, out_features={self.out_features}, dtype={held}"
        return said + (f", qscheme={self.weight().qscheme()}" if held is torch.qint8 else "")

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, metadata: Any, strict: Any, *rest: Any
    ) -> None:
        self.version = metadata.get("version", None)
        super()._load_from_state_dict(state_dict, prefix, metadata, False, *rest)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Linear:
        """The layer of a float one, at the levels that its `qconfig` chooses; of LinearReLU the first."""
        inner = mod[0] if isinstance(mod, nn.Sequential) else mod
        if not isinstance(inner, nn.Linear):
            raise AssertionError(
                f"nn.quantized.dynamic.Linear.from_float only works for one of Linear, got {type(mod)}"
            )
        qconfig = getattr(mod, "qconfig", None) or default_dynamic_qconfig
        observer = qconfig.weight()
        observer(inner.weight)
        made = cls(inner.in_features, inner.out_features, dtype=observer.dtype)
        bias = None if inner.bias is None else inner.bias.detach()
        if observer.dtype is torch.qint8:
            weight = computing.quantized_weight(observer, inner.weight.detach())
        elif observer.dtype is torch.float16:
            weight = inner.weight.detach().float()
        else:
            raise RuntimeError("Unsupported dtype specified for dynamic quantized Linear!")
        made.set_weight_bias(weight, bias)
        return made
