"""A tensor whose shards lie on several ranks, made in PyTorch's older way."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.distributed._shard.metadata import ShardMetadata
from rushlight.distributed._shard.sharded_tensor.api import (
    _CUSTOM_SHARDED_OPS,
    _SHARDED_OPS,
    ShardedTensor,
    ShardedTensorBase,
    _sharded_op_impl,
    custom_sharded_op_impl,
)
from rushlight.distributed._shard.sharded_tensor.metadata import ShardedTensorMetadata, TensorProperties
from rushlight.distributed._shard.sharded_tensor.shard import Shard

__all__ = [
    "_CUSTOM_SHARDED_OPS",
    "_SHARDED_OPS",
    "Shard",
    "ShardMetadata",
    "ShardedTensor",
    "ShardedTensorBase",
    "ShardedTensorMetadata",
    "TensorProperties",
    "_sharded_op_impl",
    "custom_sharded_op_impl",
    "empty",
    "full",
    "init_from_local_shards",
    "ones",
    "pre_load_state_dict_hook",
    "rand",
    "randn",
    "state_dict_hook",
    "zeros",
]


def empty(sharding_spec: Any, *size: Any, **options: Any) -> ShardedTensor:
    """Shards as `sharding_spec` says, with whatever is in their memory."""
    return ShardedTensor(sharding_spec, *size, **options)


def full(sharding_spec: Any, size: Any, fill_value: Any, **options: Any) -> ShardedTensor:
    """Shards of one value."""
    made = ShardedTensor(sharding_spec, *size, **options)
    torch.nn.init.constant_(made, fill_value)
    return made


def ones(sharding_spec: Any, *size: Any, **options: Any) -> ShardedTensor:
    """Shards of ones."""
    return full(sharding_spec, size, 1, **options)


def zeros(sharding_spec: Any, *size: Any, **options: Any) -> ShardedTensor:
    """Shards of zeros."""
    return full(sharding_spec, size, 0, **options)


def rand(sharding_spec: Any, *size: Any, **options: Any) -> ShardedTensor:
    """Shards of numbers between 0 and 1."""
    made = ShardedTensor(sharding_spec, *size, **options)
    torch.nn.init.uniform_(made, 0, 1)
    return made


def randn(sharding_spec: Any, *size: Any, **options: Any) -> ShardedTensor:
    """Shards of normal numbers."""
    made = ShardedTensor(sharding_spec, *size, **options)
    torch.nn.init.normal_(made, 0, 1)
    return made


def init_from_local_shards(
    local_shards: list[Shard], *global_size: Any, process_group: Any = None, init_rrefs: bool = False
) -> ShardedTensor:
    """The tensor that all ranks' shards make up; collective."""
    return ShardedTensor._init_from_local_shards(
        local_shards, *global_size, process_group=process_group, init_rrefs=init_rrefs
    )


def state_dict_hook(module: Any, destination: Any, prefix: str, local_metadata: Any) -> None:
    """Put the sharded tensors that are attributes of modules into a state dict."""
    for path, inner in module.named_modules():
        for name, value in inner.__dict__.items():
            if isinstance(value, ShardedTensor):
                destination[_key(prefix + path, name)] = value


def pre_load_state_dict_hook(
    module: Any,
    state_dict: Any,
    prefix: str,
    local_metadata: Any,
    strict: bool,
    missing_keys: Any,
    unexpected_keys: Any,
    error_msgs: Any,
) -> None:
    """Take the sharded tensors of a state dict as attributes of modules."""
    for path, inner in module.named_modules():
        for name in list(inner.__dict__):
            found = state_dict.get(_key(prefix + path, name))
            if isinstance(found, ShardedTensor):
                setattr(inner, name, found)


def _key(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


from rushlight.distributed._shard.sharded_tensor import ops as _ops  # noqa: E402, F401 -- its rows name the functions above
