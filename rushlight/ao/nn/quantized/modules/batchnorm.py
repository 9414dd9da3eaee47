"""Batch norms of quantized tensors."""

from typing import Any

from rushlight import nn
from rushlight.ao.nn.quantized.modules.normalization import _quantized

BatchNorm2d: Any = _quantized(nn.BatchNorm2d, "BatchNorm2d", __name__)
BatchNorm3d: Any = _quantized(nn.BatchNorm3d, "BatchNorm3d", __name__)
