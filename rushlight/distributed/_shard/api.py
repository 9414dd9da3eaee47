"""Parameters and modules in shards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed._shard.sharded_tensor import ShardedTensor
from rushlight.distributed._shard.sharded_tensor.api import loading_group
from rushlight.distributed._shard.sharder import Sharder
from rushlight.distributed._shard.sharding_plan import ShardingPlan
from rushlight.distributed._shard.sharding_spec import ChunkShardingSpec, ShardingSpec


def _shard_tensor(
    tensor: Any, sharding_spec: ShardingSpec, src_rank: int = 0, process_group: Any = None
) -> ShardedTensor:
    """What `src_rank` has, in shards; collective."""
    if not tensor.is_contiguous():
        raise ValueError("input tensor is not a contiguous Tensor")
    group = process_group if process_group is not None else dist.group.WORLD
    own = dist.get_rank(group)
    told: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(told, (src_rank, sharding_spec), group=group)
    for rank, (its_source, its_spec) in enumerate(told):
        if src_rank != its_source:
            raise ValueError(
                f"src_rank={src_rank} on rank: {own} does not match with src_rank={its_source} on "
                f"rank: {rank}"
            )
        if sharding_spec != its_spec:
            raise ValueError(
                f"sharding_spec={sharding_spec} on rank: {own} does not match with sharding_spec={its_spec} "
                f"on rank: {rank}"
            )
    made: ShardedTensor = sharding_spec.shard(tensor, src_rank=src_rank, process_group=group)
    return made


def shard_parameter(
    module: Any, param_name: str, sharding_spec: ShardingSpec, src_rank: int = 0, process_group: Any = None
) -> None:
    """Put a parameter's shards into its place; collective."""
    if not hasattr(module, param_name):
        raise AttributeError(f"{module._get_name()} has no attribute `{param_name}`")
    tensor = getattr(module, param_name)
    if not isinstance(tensor, torch.Tensor):
        raise ValueError(
            f"Expected {type(module).__name__}.{param_name} to be a Tensor, but found {type(tensor).__name__}"
        )
    if not tensor.is_contiguous():
        raise ValueError(f"param: {param_name} is not a contiguous Tensor")
    made = _shard_tensor(tensor, sharding_spec, src_rank, process_group)
    module.register_parameter(param_name, torch.nn.Parameter(made))


@contextmanager
def load_with_process_group(process_group: Any) -> Iterator[Any]:
    """Tensors in shards that are unpickled meanwhile are of this group."""
    if loading_group.get() is not None:
        raise RuntimeError('ProcessGroup already set by previous "load_with_process_group" context manager')
    before = loading_group.set(process_group)
    try:
        yield process_group
    finally:
        loading_group.reset(before)


def _reshard_output(module: Any, resharding_spec: ShardingSpec) -> Any:
    """Have a module's result cut in another way."""

    def hook(_module: Any, _input: Any, output: Any) -> Any:
        return output.reshard(resharding_spec) if isinstance(output, ShardedTensor) else output

    module.register_forward_hook(hook)
    return module


def _collect_local_shard(module: Any) -> Any:
    """Have a module's result be this rank's shard."""

    def hook(_module: Any, _input: Any, output: Any) -> Any:
        if not isinstance(output, ShardedTensor):
            return output
        local, spec = output.local_tensor(), output.sharding_spec()
        if isinstance(spec, ChunkShardingSpec) and local.size(spec.dim) == 1:
            return local.squeeze(spec.dim)
        return local

    module.register_forward_hook(hook)
    return module


def shard_module(module: Any, plan: ShardingPlan, src_rank: int = 0, process_group: Any = None) -> None:
    """Do what a plan says; collective."""
    sharders = [name for name, spec in plan.plan.items() if isinstance(spec, Sharder)]
    for name, spec in plan.plan.items():
        path, _, last = name.rpartition(".")
        if isinstance(spec, ShardingSpec):
            for taken in sharders:
                if path.startswith(taken):
                    raise RuntimeError(
                        f"ShardingPlan is in-valid, trying to shard a parameter: {name}, but there's already "
                        f"a Sharder entry for module {taken}, parameter sharding should not conflict with "
                        "the submodule tree that a Sharder is working with!"
                    )
            shard_parameter(module.get_submodule(path), last, spec, src_rank, process_group)
        elif isinstance(spec, Sharder):
            if not name:
                raise KeyError("Module path must not be empty for custom sharder!")
            setattr(module.get_submodule(path), last, spec.shard(module.get_submodule(name)))
        else:
            raise TypeError(f"Only `ShardingSpec` and `Sharder` are supported to shard '{name}'")
    for path, output_spec in (plan.output_plan or {}).items():
        if not isinstance(output_spec, ShardingSpec):
            raise TypeError(f"Only `ShardingSpec` is supported as output_plan for '{path}'")
        _reshard_output(module.get_submodule(path), output_spec)
    for path in plan.return_local_tensor or ():
        _collect_local_shard(module.get_submodule(path))
