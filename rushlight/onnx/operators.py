"""torch.onnx.operators: shapes as tensors, by the older spelling."""

from __future__ import annotations

import rushlight as torch
from rushlight import Tensor


def shape_as_tensor(x: Tensor) -> Tensor:
    """The sizes of a tensor, int64 (x.dim(),)."""
    return torch.tensor(x.shape, dtype=torch.int64)


def reshape_from_tensor_shape(x: Tensor, shape: Tensor) -> Tensor:
    """x.reshape of the sizes that an integer tensor (dims,) holds."""
    return x.reshape(shape.tolist())
