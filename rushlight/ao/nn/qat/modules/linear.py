"""nn.qat.Linear."""

from __future__ import annotations

from typing import Any

from rushlight import nn


def float_parts(mod: Any) -> Any:
    """The layer within a fused one, with its configuration; AssertionError without one."""
    if not hasattr(mod, "qconfig"):
        raise AssertionError("Input float module must have qconfig defined")
    if not mod.qconfig:
        raise AssertionError("Input float module must have a valid qconfig")
    return mod[0] if isinstance(mod, nn.Sequential) else mod


class Linear(nn.Linear):
    """A linear layer whose weight is fake-quantized by qconfig.weight()."""

    _FLOAT_MODULE: Any = nn.Linear

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight()

    def forward(self, input: Any) -> Any:
        """The layer with its weight rounded."""
        return nn.functional.linear(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of a float one, or of such a one with relu; the parameters are the same."""
        inner = float_parts(mod)
        made = cls(inner.in_features, inner.out_features, bias=inner.bias is not None, qconfig=mod.qconfig)
        made.weight, made.bias = inner.weight, inner.bias
        return made

    def to_float(self) -> nn.Linear:
        """The float layer, with copies of the parameters."""
        made = nn.Linear(self.in_features, self.out_features, self.bias is not None)
        made.weight = nn.Parameter(self.weight.detach())
        if self.bias is not None:
            made.bias = nn.Parameter(self.bias.detach())
        made.train(self.training)
        return made
