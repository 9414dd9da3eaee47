"""torch.onnx.errors: what export raises."""

from __future__ import annotations


class OnnxExporterError(RuntimeError):
    """A model cannot be exported."""


class UnsupportedOperatorError(OnnxExporterError):
    """An op of the model has no form in ONNX."""
