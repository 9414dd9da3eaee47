"""Batch norms of quantized tensors."""

from rushlight import nn
from rushlight.ao.nn.quantized.modules.normalization import _quantized

BatchNorm2d = _quantized(nn.BatchNorm2d, "BatchNorm2d", __name__)
BatchNorm3d = _quantized(nn.BatchNorm3d, "BatchNorm3d", __name__)
