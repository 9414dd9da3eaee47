"""torch._utils: many tensors as one, and back, as libraries of data-parallel training have it."""

from __future__ import annotations

from collections.abc import Sequence

from rushlight import cat
from rushlight._engine.serialization.rebuild import (
    _rebuild_device_tensor_from_numpy as _rebuild_device_tensor_from_numpy,
    _rebuild_meta_tensor_no_storage as _rebuild_meta_tensor_no_storage,
    _rebuild_sparse_tensor as _rebuild_sparse_tensor,
    _rebuild_tensor as _rebuild_tensor,
    _rebuild_tensor_v2 as _rebuild_tensor_v2,
    _rebuild_tensor_v3 as _rebuild_tensor_v3,
)
from rushlight._engine.tensors.tensor import Tensor
from rushlight.nn.parameter import _rebuild_parameter as _rebuild_parameter

__all__: list[str] = []


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements of tensors of one dtype in 1 dim; a view of a single contiguous one."""
    if len(tensors) == 1:
        return tensors[0].contiguous().view(-1)
    return cat([t.reshape(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of `flat` of the tensors' shapes, one after the other."""
    parts = flat.split([t.numel() for t in tensors])
    return tuple(part.view(t.shape) for part, t in zip(parts, tensors))
