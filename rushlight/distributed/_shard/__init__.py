"""Tensors in shards, as PyTorch had them before DTensor (torch.distributed._shard)."""

from rushlight.distributed._shard.api import (
    _shard_tensor,
    load_with_process_group,
    shard_module,
    shard_parameter,
)

__all__ = ["_shard_tensor", "load_with_process_group", "shard_module", "shard_parameter"]
