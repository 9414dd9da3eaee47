"""Where tensors become quantized, and numbers again: marks in a model before it is converted."""

from __future__ import annotations

from typing import Any

from rushlight import nn


class _Stub(nn.Module):
    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        """The input."""
        return x


class QuantStub(_Stub):
    """Observes before conversion; becomes nn.quantized.Quantize."""


class DeQuantStub(_Stub):
    """The identity; becomes nn.quantized.DeQuantize."""


class QuantWrapper(nn.Module):
    """A module between the two."""

    quant: QuantStub
    dequant: DeQuantStub
    module: nn.Module

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(qconfig))
        self.add_module("dequant", DeQuantStub(qconfig))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: Any) -> Any:
        """Quantize, the module, numbers again."""
        return self.dequant(self.module(self.quant(X)))
