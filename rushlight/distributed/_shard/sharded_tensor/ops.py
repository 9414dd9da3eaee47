"""Torch's functions on tensors in shards: most are done on each shard."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed._shard import sharded_tensor
from rushlight.distributed._shard.sharded_tensor.api import ShardedTensor, _sharded_op_impl
from rushlight.distributed._shard.sharded_tensor.shard import Shard

T: Any = torch.Tensor
_OF_THE_WHOLE: tuple[Any, ...] = (
    T.shape.__get__,
    T.dtype.__get__,
    T.layout.__get__,
    T.ndim.__get__,
    T.requires_grad.__get__,
    T.grad.__get__,
    T.grad_fn.__get__,
    T.is_leaf.__get__,
    T.size,
    T.dim,
    T.is_contiguous,
    T.contiguous,
    T.is_floating_point,
    T.__reduce_ex__,
)


def _of_the_whole(op: Any) -> None:
    """An op that needs no values: it is done on the tensor without memory."""

    @_sharded_op_impl(op)
    def done(types: Any, args: Any = (), kwargs: Any = None, pg: Any = None) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            return op(*args, **(kwargs or {}))


for _op in _OF_THE_WHOLE:
    _of_the_whole(_op)


@_sharded_op_impl(torch._has_compatible_shallow_copy_type)
def _shallow(types: Any, args: Any = (), kwargs: Any = None, pg: Any = None) -> bool:
    return False


@_sharded_op_impl(T.device.__get__)
def tensor_device(types: Any, args: Any = (), kwargs: Any = None, pg: Any = None) -> Any:
    """Where this rank's shards are."""
    shards = args[0]._local_shards
    return shards[0].tensor.device if shards else args[0]._get_preferred_device()


@_sharded_op_impl(T.is_meta.__get__)
def st_is_meta(types: Any, args: Any = (), kwargs: Any = None, pg: Any = None) -> bool:
    """Whether the shard is without memory."""
    return bool(args[0].local_tensor().is_meta)


# --- new tensors of shards --------------------------------------------------------------------------


def _anew(st: Any, of_shard: Callable[[Any], Any], **properties: Any) -> ShardedTensor:
    """A tensor of other shards in the same places."""
    shards = [Shard(of_shard(shard.tensor), copy.deepcopy(shard.metadata)) for shard in st.local_shards()]
    metadata = copy.deepcopy(st.metadata())
    for name, value in properties.items():
        setattr(metadata.tensor_properties, name, value)
    return ShardedTensor._init_from_local_shards_and_global_metadata(
        shards, metadata, st._process_group, st._init_rrefs, st.sharding_spec()
    )


@_sharded_op_impl(T.type_as)
def sharded_type_as(types: Any, args: Any = (), kwargs: Any = None, pg: Any = None) -> Any:
    """As the dtype of another tensor."""
    if len(args) < 2:
        raise ValueError("Needs to give a tensor to cast type as!")
    st, other = args
    if not isinstance(other, torch.Tensor):
        raise ValueError("Needs to give a Tensor or ShardedTensor to cast type as!")
    if st.dtype == other.dtype:
        return st
    other = other.local_tensor() if isinstance(other, ShardedTensor) else other
    return _anew(st, lambda tensor: tensor.type_as(other), dtype=other.dtype)


@_sharded_op_impl(T.__deepcopy__)
def sharded_deepcopy(types: Any, args: Any = (), kwargs: Any = None, pg: Any = None) -> Any:
    """With shards of its own."""
    return _anew(args[0], copy.deepcopy)


@_sharded_op_impl(T.clone)
def sharded_clone(types: Any, args: Any = (), kwargs: Any = None, pg: Any = None) -> Any:
    """With shards of its own, which stay in the graph."""
    memory_format = (kwargs or {}).get("memory_format")
    if memory_format not in (None, torch.preserve_format):
        raise RuntimeError("Only support torch.preserve_format for ShardedTensor!")
    return _anew(args[0], lambda tensor: tensor.clone())


@_sharded_op_impl(T.detach)
def sharded_detach(types: Any, args: Any = (), kwargs: Any = None, pg: Any = None) -> Any:
    """Of the same memory, outside of the graph."""
    return _anew(args[0], lambda tensor: tensor.detach(), requires_grad=False)


@_sharded_op_impl(T.copy_)
def sharded_inplace_copy(types: Any, args: Any = (), kwargs: Any = None, pg: Any = None) -> Any:
    """Another tensor's values, whose shards lie in the same way."""
    st, other = args[0], args[1]
    pairs = list(zip(st.local_shards(), other.local_shards(), strict=True))
    if any(mine.metadata != its.metadata for mine, its in pairs):
        raise RuntimeError("inplace copy can only happen between two ShardedTensor with same metadata!")
    for mine, its in pairs:
        mine.tensor.copy_(its.tensor, bool((kwargs or {}).get("non_blocking", False)))
    return st


@_sharded_op_impl(T.requires_grad_)
def tensor_requires_grad_set(types: Any, args: Any = (), kwargs: Any = None, pg: Any = None) -> Any:
    """On the shards."""
    st = args[0]
    wanted = args[1] if len(args) > 1 else (kwargs or {}).get("requires_grad", True)
    if wanted == st.requires_grad:
        return st
    for shard in st.local_shards():
        shard.tensor.requires_grad_(wanted)
    with torch._C.DisableTorchFunctionSubclass():
        st.requires_grad_(wanted)
    st._metadata.tensor_properties.requires_grad = wanted
    return st


# --- values ------------------------------------------------------------------------------------------


def _compares(compare: Any) -> None:
    @_sharded_op_impl(compare)
    def done(types: Any, args: Any = (), kwargs: Any = None, pg: Any = None) -> bool:
        if len(args) != 2:
            raise ValueError(f"Expected two arguments for torch.{compare.__name__}")
        if not all(isinstance(st, ShardedTensor) for st in args):
            raise TypeError(f"Both arguments to torch.{compare.__name__} need to be of type ShardedTensor")
        first, second = args
        if first._process_group != second._process_group:
            return False
        same = first.metadata() == second.metadata() and all(
            mine.metadata == its.metadata and compare(mine.tensor, its.tensor, **(kwargs or {}))
            for mine, its in zip(first.local_shards(), second.local_shards(), strict=True)
        )
        told = torch.tensor([int(same)], device=first._get_preferred_device())
        dist.all_reduce(told, dist.ReduceOp.MIN, group=first._process_group)
        return bool(told.item())


def _fills(fill: Any) -> None:
    @_sharded_op_impl(fill)
    def done(types: Any, args: Any = (), kwargs: Any = None, pg: Any = None) -> Any:
        named = dict(kwargs or {})
        st = named.pop("tensor", None) if "tensor" in named else args[0]
        rest = args if "tensor" in (kwargs or {}) else args[1:]
        for shard in st.local_shards():
            fill(shard.tensor, *rest, **named)
        return st


def _makes_alike(op: Any, make: Any) -> None:
    @_sharded_op_impl(op)
    def done(types: Any, args: Any = (), kwargs: Any = None, pg: Any = None) -> Any:
        return make(args[0].sharding_spec(), args[0].size(), *args[1:], **(kwargs or {}))


for _op in (torch.equal, torch.allclose):
    _compares(_op)
for _op in (
    torch.nn.init.uniform_,
    torch.nn.init.normal_,
    torch.nn.init.kaiming_uniform_,
    torch.nn.init.constant_,
):
    _fills(_op)
for _name in ("full", "empty", "zeros", "ones", "rand", "randn"):
    _makes_alike(getattr(torch, f"{_name}_like"), getattr(sharded_tensor, _name))
