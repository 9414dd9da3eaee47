"""Layers that are to be quantized call by call."""

from rushlight.ao.nn.qat.dynamic.modules.linear import Linear

__all__ = ["Linear"]
