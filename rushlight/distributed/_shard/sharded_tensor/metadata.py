"""What is known of a tensor in shards on every rank."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import rushlight as torch
from rushlight._engine.core.size import Size
from rushlight.distributed._shard.metadata import ShardMetadata
from rushlight.distributed.checkpoint import metadata as checkpoints

__all__ = ["MEM_FORMAT_ENCODING", "ShardedTensorMetadata", "TensorProperties"]
MEM_FORMAT_ENCODING = checkpoints._MEM_FORMAT_ENCODING


@dataclass
class TensorProperties(checkpoints.TensorProperties):
    """How a tensor is made, beside its shape."""

    @staticmethod
    def create_from_tensor(tensor: Any) -> TensorProperties:
        """Those of a tensor."""
        return TensorProperties(
            tensor.dtype, tensor.layout, tensor.requires_grad, torch.contiguous_format, tensor.is_pinned()
        )


@dataclass
class ShardedTensorMetadata:
    """All shards, the whole shape, and how the tensor is made."""

    shards_metadata: list[ShardMetadata] = field(default_factory=list)
    size: Size = field(default_factory=Size)
    tensor_properties: TensorProperties = field(default_factory=TensorProperties)
