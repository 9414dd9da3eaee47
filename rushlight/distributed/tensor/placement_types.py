"""The placements by the name of PyTorch's module."""

from __future__ import annotations

from rushlight.distributed.tensor.placements import (
    Partial,
    Placement,
    Replicate,
    Shard,
    _StridedShard as _StridedShard,
)

__all__ = ["Partial", "Placement", "Replicate", "Shard"]
