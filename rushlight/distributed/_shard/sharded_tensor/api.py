"""The tensor: no memory of its own, a list of this rank's shards, and what all ranks know of all shards.

Torch's functions are looked up in tables by `__torch_function__`: those of a program, those of the way the
tensor is cut, and those of `ops.py`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
import rushlight.distributed._shard.sharding_spec.api as specs
from rushlight._engine.core.callers import warn
from rushlight._engine.core.size import Size
from rushlight._engine.dispatch.method_overrides import adopt
from rushlight.distributed._shard._utils import DEPRECATE_MSG, narrow_tensor
from rushlight.distributed._shard.sharded_tensor.metadata import ShardedTensorMetadata, TensorProperties
from rushlight.distributed._shard.sharded_tensor.reshard import resharded
from rushlight.distributed._shard.sharded_tensor.shard import Shard
from rushlight.distributed._shard.sharded_tensor.utils import (
    _flatten_tensor_size,
    _parse_and_validate_remote_device,
    _validate_output_tensor_for_gather,
    build_global_metadata,
    build_metadata_from_local_shards,
)
from rushlight.distributed._shard.sharding_spec._internals import (
    check_tensor,
    validate_non_overlapping_shards_metadata,
)
from rushlight.utils._pytree import tree_leaves

__all__ = ["Shard", "ShardedTensor", "ShardedTensorBase", "ShardedTensorMetadata", "TensorProperties"]
_SHARDED_OPS: dict[Any, Any] = {}
_CUSTOM_SHARDED_OPS: dict[Any, Any] = {}
# The group of tensors that are unpickled (load_with_process_group); None: the default group.
loading_group: ContextVar[Any] = ContextVar("loading_group", default=None)


def _in_table(func: Any, table: dict[Any, Any]) -> Callable[..., Any]:
    def keep(done: Any) -> Any:
        table[func] = done
        return done

    return keep


def custom_sharded_op_impl(func: Any) -> Callable[..., Any]:
    """A decorator: how a program has a torch function done on sharded tensors."""
    return _in_table(func, _CUSTOM_SHARDED_OPS)


def _sharded_op_impl(func: Any) -> Callable[..., Any]:
    return _in_table(func, _SHARDED_OPS)


class ShardedTensorBase(torch.Tensor):
    """The shards and what is known of them."""

    _sharding_spec: Any
    _metadata: ShardedTensorMetadata
    _local_shards: list[Shard]

    def __new__(cls, sharding_spec: Any, *size: Any, **options: Any) -> Any:
        if not isinstance(sharding_spec, specs.ShardingSpec):
            raise ValueError(f"Expecting ShardingSpec but got: {type(sharding_spec)}")
        sizes = _flatten_tensor_size(size)
        dtype, layout = options.get("dtype"), options.get("layout", torch.strided)
        pin_memory, requires_grad = options.get("pin_memory", False), options.get("requires_grad", False)
        dtype = torch.get_default_dtype() if dtype is None else dtype
        properties = TensorProperties(dtype, layout, requires_grad, pin_memory=pin_memory)
        metadata = sharding_spec.build_metadata(sizes, tensor_properties=properties)
        made = torch.Tensor._make_wrapper_subclass(
            cls, sizes, dtype=dtype, layout=layout, pin_memory=pin_memory, requires_grad=requires_grad
        )
        made._sharding_spec, made._metadata, made._local_shards = sharding_spec, metadata, []
        return made

    def metadata(self) -> ShardedTensorMetadata:
        """What is known of all shards."""
        return self._metadata

    def local_shards(self) -> list[Shard]:
        """This rank's shards."""
        return self._local_shards

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError(
            f"A {cls.__name__} object is being used from c++ while calling {func.__module__}.{func.__name__} "
            "but the there is no custom __torch_dispatch__ implementation for it."
        )


class ShardedTensor(ShardedTensorBase):
    """A tensor whose shards lie on several ranks, as `sharding_spec` says; all ranks make it together."""

    def __init__(
        self,
        sharding_spec: Any,
        *size: Any,
        dtype: Any = None,
        layout: Any = torch.strided,
        requires_grad: bool = False,
        pin_memory: bool = False,
        memory_format: Any = torch.contiguous_format,
        process_group: Any = None,
        init_rrefs: bool = False,
    ) -> None:
        self._prepare_init(process_group, init_rrefs)
        if layout is not torch.strided:
            raise ValueError("Only torch.strided layout is currently supported")
        if memory_format is not torch.contiguous_format:
            raise ValueError("Only torch.contiguous_format memory_format is currently supported")
        properties = self._metadata.tensor_properties
        for entry in self._metadata.shards_metadata:
            rank, device = _parse_and_validate_remote_device(self._process_group, entry.placement)
            if rank == dist.get_rank():
                local = torch.empty(
                    entry.shard_sizes,
                    dtype=properties.dtype,
                    device=device,
                    requires_grad=requires_grad,
                    pin_memory=pin_memory,
                )
                self._local_shards.append(Shard(local, entry))

    def _prepare_init(self, process_group: Any = None, init_rrefs: bool = False) -> None:
        if init_rrefs:
            raise NotImplementedError("ShardedTensor with init_rrefs=True is not in Rushlight: use DTensor")
        self._init_rrefs = init_rrefs
        self._process_group = self._normalize_pg(process_group)

    @classmethod
    def _normalize_pg(cls, process_group: Any) -> Any:
        if process_group is None and not dist.is_initialized():
            raise ValueError(
                "Default process group has not been initialized, please make sure to call init_process_group."
            )
        return dist.group.WORLD if process_group is None else process_group

    def _get_preferred_device(self) -> Any:
        """Where the group's messages lie."""
        if dist.get_backend(self._process_group) == "nccl":
            return torch.device("cuda", torch.cuda.current_device())
        return torch.device("cpu")

    # --- of shards ---------------------------------------------------------------------------------

    @classmethod
    def _init_from_local_shards(
        cls, local_shards: list[Shard], *global_size: Any, process_group: Any = None, init_rrefs: bool = False
    ) -> ShardedTensor:
        """The tensor that all ranks' shards make up; a size that is None follows from them. Collective."""
        again = any(dim is None for dim in global_size)
        sizes = _flatten_tensor_size(tuple(0 if dim is None else dim for dim in global_size))
        group, own = cls._normalize_pg(process_group), dist.get_rank()
        mine = build_metadata_from_local_shards(local_shards, sizes, own, group) if local_shards else None
        told: list[Any] = [None] * dist.get_world_size(group)
        dist.all_gather_object(told, mine, group=group)
        metadata = build_global_metadata(told, recalc_metadata=again)
        if again:
            (entry,) = [e for e in metadata.shards_metadata if e.placement.rank() == own]
            local_shards[0].metadata = entry
        made = cls._of(metadata, specs._infer_sharding_spec_from_shards_metadata(metadata.shards_metadata))
        made._prepare_init(group, init_rrefs)
        made._local_shards = local_shards
        return made

    @classmethod
    def _of(cls, metadata: ShardedTensorMetadata, spec: Any) -> ShardedTensor:
        """One without shards."""
        properties = metadata.tensor_properties
        made: ShardedTensor = cls.__new__(
            cls,
            spec,
            metadata.size,
            dtype=properties.dtype,
            layout=properties.layout,
            pin_memory=properties.pin_memory,
            requires_grad=properties.requires_grad,
        )
        made._metadata = metadata
        return made

    @classmethod
    def _init_from_local_tensor(
        cls,
        local_tensor: Any,
        sharding_spec: Any,
        *global_size: Any,
        process_group: Any = None,
        init_rrefs: bool = False,
    ) -> ShardedTensor:
        """The tensor of which each rank has one shard."""
        warn(DEPRECATE_MSG, FutureWarning)
        if not local_tensor.is_contiguous():
            raise ValueError("local_tensor is not a contiguous Tensor.")
        properties = TensorProperties.create_from_tensor(local_tensor)
        metadata = sharding_spec.build_metadata(_flatten_tensor_size(global_size), properties)
        group = cls._normalize_pg(process_group)
        shards = [
            Shard(local_tensor, entry)
            for entry in metadata.shards_metadata
            if _parse_and_validate_remote_device(group, entry.placement)[0] == dist.get_rank()
        ]
        return cls._init_from_local_shards_and_global_metadata(
            shards, metadata, group, init_rrefs, sharding_spec
        )

    @classmethod
    def _init_from_local_shards_and_global_metadata(
        cls,
        local_shards: list[Shard],
        sharded_tensor_metadata: ShardedTensorMetadata,
        process_group: Any = None,
        init_rrefs: bool = False,
        sharding_spec: Any = None,
    ) -> ShardedTensor:
        """The tensor of which this rank has these shards; nothing is asked of the others."""
        group, own = cls._normalize_pg(process_group), dist.get_rank()
        entries = sharded_tensor_metadata.shards_metadata
        placed = [_parse_and_validate_remote_device(group, entry.placement)[0] for entry in entries]
        if len(local_shards) != placed.count(own):
            raise RuntimeError(
                f"Number of local shards ({len(local_shards)}) does not match number of local shards "
                f"metadata in sharded_tensor_metadata ({placed.count(own)}) on rank ({own}) "
            )
        if not entries:
            raise ValueError("shards_metadata must not be empty!")
        if sharded_tensor_metadata.tensor_properties.layout is not torch.strided:
            raise ValueError("Only torch.strided layout is currently supported")
        spec = sharding_spec or specs._infer_sharding_spec_from_shards_metadata(entries)
        made = cls._of(sharded_tensor_metadata, spec)
        for shard in local_shards:
            _check_fits(shard, sharded_tensor_metadata.tensor_properties)
        validate_non_overlapping_shards_metadata(entries)
        check_tensor(entries, list(sharded_tensor_metadata.size))
        made._local_shards = local_shards
        made._prepare_init(group, init_rrefs)
        return made

    # --- what programs ask -------------------------------------------------------------------------

    def sharding_spec(self) -> Any:
        """How the tensor is cut."""
        return self._sharding_spec

    def local_tensor(self) -> Any:
        """This rank's shard, if it has one."""
        if len(self._local_shards) != 1:
            raise NotImplementedError(
                f"Only single local shard is supported. Number of shards: {len(self._local_shards)}"
            )
        return self._local_shards[0].tensor

    def remote_shards(self) -> Any:
        """References to other ranks' shards: there are none."""
        raise RuntimeError("ShardedTensor created with init_rrefs=False, no RRefs to remote shards available")

    def is_pinned(self) -> bool:  # type: ignore[override]
        """Whether shards' memory is page-locked."""
        return self._metadata.tensor_properties.pin_memory

    def gather(  # type: ignore[override]
        self, dst: int = 0, out: Any = None, enforce_dtype: bool = False, dtype: Any = None
    ) -> None:
        """Write the whole tensor into `out` on rank `dst` of the group; collective."""
        if enforce_dtype:
            warn("`enforce_dtype` is deprecated. Please use `dtype` instead.", FutureWarning)
        group, size = self._process_group, self._metadata.size
        own = dist.get_rank(group)
        _validate_output_tensor_for_gather(own, dst, size, out)
        dtype = self._metadata.tensor_properties.dtype if dtype is None or enforce_dtype else dtype
        counts, places = [0] * dist.get_world_size(group), []
        for entry in self._metadata.shards_metadata:
            rank = dist.get_group_rank(group, entry.placement.rank())
            places.append((entry, rank, counts[rank]))
            counts[rank] += Size(entry.shard_sizes).numel()
        device = self._get_preferred_device()
        data = torch.zeros(max(counts), dtype=dtype, device=device)
        with torch.no_grad():
            for shard in self._local_shards:
                begin = next(b for entry, rank, b in places if rank == own and entry == shard.metadata)
                data[begin : begin + shard.tensor.numel()].copy_(shard.tensor.flatten())
            everything = [torch.empty_like(data) for _ in counts] if own == dst else []
            dist.gather(data, everything or None, dst=dist.get_global_rank(group, dst), group=group)
            for entry, rank, begin in places if own == dst else ():
                count = Size(entry.shard_sizes).numel()
                piece = everything[rank][begin : begin + count].view(entry.shard_sizes)
                narrow_tensor(out, entry).copy_(piece)

    def reshard(self, resharding_spec: Any) -> ShardedTensor:
        """Cut it in another way, in place; collective."""
        from rushlight.distributed._shard.sharding_spec import ChunkShardingSpec  # a circle

        warn(DEPRECATE_MSG, FutureWarning)
        if not all(isinstance(spec, ChunkShardingSpec) for spec in (resharding_spec, self._sharding_spec)):
            raise NotImplementedError("Only ChunkShardingSpec supported for reshard.")
        if len(self._local_shards) != 1:
            raise NotImplementedError(
                f"Only single local shard supported for reshard. Number of shards: {len(self._local_shards)}"
            )
        if self._sharding_spec == resharding_spec:
            return self
        before, properties = self._metadata.shards_metadata, self._metadata.tensor_properties
        after = resharding_spec.build_metadata(self._metadata.size, properties).shards_metadata
        after.sort(key=lambda entry: entry.placement.rank())
        self._local_shards = resharded(self.local_tensor(), before, after, self._process_group)
        self._metadata.shards_metadata, self._sharding_spec = after, resharding_spec
        return self

    # --- to devices and dtypes ---------------------------------------------------------------------

    def cpu(self, memory_format: Any = torch.preserve_format, process_group: Any = None) -> ShardedTensor:
        """With shards on the CPU; itself where all ranks' are there."""
        if memory_format not in (torch.preserve_format, torch.contiguous_format):
            raise RuntimeError("Only `torch.contiguous_format` or `torch.preserve_format` is supported!")
        entries = self._metadata.shards_metadata
        if all(entry.placement.device().type == "cpu" for entry in entries):
            return self
        return self._moved(torch.device("cpu"), self.dtype, process_group)

    def cuda(
        self,
        device: Any = None,
        non_blocking: bool = False,
        memory_format: Any = torch.preserve_format,
        process_group: Any = None,
    ) -> ShardedTensor:
        """With shards on each rank's current CUDA device."""
        if memory_format not in (torch.preserve_format, torch.contiguous_format):
            raise RuntimeError("Only `torch.contiguous_format` or `torch.preserve_format` is supported!")
        here = torch.device("cuda", torch.cuda.current_device())
        if device is not None and torch.device(device) != here:
            raise AssertionError(
                'Only device without device id (e.g. "cpu" or "cuda") is expected for ShardedTensor!'
            )
        return self._moved(here, self.dtype, process_group)

    def to(self, *args: Any, **kwargs: Any) -> ShardedTensor:
        """With shards on another device or of another dtype; itself where nothing changes."""
        device, dtype = kwargs.get("device"), kwargs.get("dtype")
        if len(args) == 2:
            device, dtype = args
        elif len(args) == 1 and isinstance(args[0], torch.Tensor):
            device, dtype = args[0].device, args[0].dtype
        elif len(args) == 1 and isinstance(args[0], torch.dtype):
            dtype = args[0]
        elif len(args) == 1 and isinstance(args[0], (str, int, torch.device)):
            device = args[0]
        elif args:
            raise RuntimeError(f"ShardedTensor.to() have wrong arguments: {args}")
        device = self.device if device is None else torch.device(device)
        if device.type == "cuda":
            here = torch.device("cuda", torch.cuda.current_device())
            if device != here:
                warn(
                    "ShardedTensor.to only move tensor to its current device"
                    "If you want to put to different device, use `reshard` instead."
                )
            device = here
        dtype = self.dtype if dtype is None else dtype
        if not kwargs.get("copy", False) and dtype == self.dtype and device == self.device:
            return self
        return self._moved(device, dtype, kwargs.get("process_group"))

    def _moved(self, device: Any, dtype: Any, process_group: Any) -> ShardedTensor:
        """With copies of the shards."""
        metadata, shards = copy.deepcopy(self._metadata), []
        metadata.tensor_properties.dtype = dtype
        for entry in metadata.shards_metadata:
            entry.placement._device = device
        for shard in self._local_shards:
            entry = copy.deepcopy(shard.metadata)
            entry.placement._device = device
            shards.append(Shard(shard.tensor.to(device, dtype, copy=True), entry))
        group = self._process_group if process_group is None else process_group
        return self._init_from_local_shards_and_global_metadata(shards, metadata, group, self._init_rrefs)

    # --- torch's functions, checkpoints, pickles -----------------------------------------------------

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        func = getattr(torch.Tensor, func.__name__) if getattr(func, "tells", False) else func
        found = next((v for v in tree_leaves((args, kwargs)) if isinstance(v, ShardedTensor)), None)
        if found is not None:
            group, spec = found._process_group, found._sharding_spec
            if func in _CUSTOM_SHARDED_OPS:
                return _CUSTOM_SHARDED_OPS[func](types, args, kwargs, group)
            if specs._has_custom_op(spec, func):
                return specs._dispatch_custom_op(spec, func, types, args, kwargs, group)
            if func in _SHARDED_OPS:
                return _SHARDED_OPS[func](types, args, kwargs, group)
        raise RuntimeError(
            f"torch function '{func.__name__}', with args: {args} and kwargs: {kwargs} not supported for "
            "ShardedTensor!"
        )

    def __create_chunk_list__(self) -> list[Any]:
        """What checkpoints hold of this rank's part."""
        from rushlight.distributed.checkpoint.metadata import ChunkStorageMetadata  # few tensors are saved

        return [
            ChunkStorageMetadata(Size(shard.metadata.shard_offsets), Size(shard.metadata.shard_sizes))
            for shard in self._local_shards
        ]

    def __get_tensor_shard__(self, index: Any) -> Any:
        """The shard that begins where an index of a checkpoint says."""
        if index.offset is None:
            raise ValueError(
                f"Cannot lookup {index.fqn} since its a ShardedTensor and no offset was provided"
            )
        for shard in self._local_shards:
            if Size(shard.metadata.shard_offsets) == index.offset:
                return shard.tensor
        raise ValueError(f"Could not find shard at '{index.offset}' for FQN: '{index.fqn}'")

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"ShardedTensor({self._metadata})"

    @dataclass
    class ProcessGroupState:
        """Which rank of how large a world pickled a tensor."""

        local_rank: int
        global_rank: int
        local_world_size: int
        global_world_size: int

        @classmethod
        def now(cls, group: Any) -> ShardedTensor.ProcessGroupState:
            """This rank's."""
            return cls(
                dist.get_rank(group), dist.get_rank(), dist.get_world_size(group), dist.get_world_size()
            )

    def __getstate__(self) -> Any:
        state = self.ProcessGroupState.now(self._process_group)
        return self._local_shards, self._metadata, state, self._sharding_spec, self._init_rrefs

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _unpickled, (self.__getstate__(),)

    def __setstate__(self, state: Any) -> None:
        if not dist.is_initialized():
            raise RuntimeError(
                'Need to initialize default process group using "init_process_group" before loading '
                "ShardedTensor"
            )
        self._local_shards, self._metadata, was, self._sharding_spec, self._init_rrefs = state
        self._process_group = self._normalize_pg(loading_group.get())
        is_now = self.ProcessGroupState.now(self._process_group)
        for name, words in (
            ("local_rank", "Local rank"),
            ("global_rank", "Global rank"),
            ("local_world_size", "Local world size"),
            ("global_world_size", "Global world size"),
        ):
            before, after = getattr(was, name), getattr(is_now, name)
            if before != after:
                raise RuntimeError(f"{words} at save time was {before}, but at load time was {after}")


adopt(ShardedTensor)  # a class of ours is not asked for each method by itself


def _unpickled(state: Any) -> ShardedTensor:
    made = ShardedTensor._of(state[1], state[3])
    made.__setstate__(state)
    return made


def _check_fits(shard: Shard, properties: TensorProperties) -> None:
    """ValueError where a shard is not of the tensor's kind, or not where its metadata says."""
    placement, tensor = shard.metadata.placement, shard.tensor
    if placement is None:
        raise AssertionError("Must specify placement for `Shard`!")
    if not tensor.is_contiguous():
        raise ValueError("Only torch.contiguous_format memory_format is currently supported")
    for name, expected, actual, where in (
        ("layout", properties.layout, tensor.layout, "tensor property"),
        ("size", shard.metadata.shard_sizes, list(tensor.size()), "local ShardMetadata"),
        ("pin_memory", properties.pin_memory, tensor.is_pinned(), "tensor property"),
        ("device", placement.device(), tensor.device, "local ShardMetadata"),
        ("dtype", properties.dtype, tensor.dtype, "tensor property"),
        ("requires_grad", properties.requires_grad, tensor.requires_grad, "tensor property"),
    ):
        if expected != actual:
            raise ValueError(
                f"Local shards' tensor {name} property is incompatible with {where} on rank "
                f"{placement.rank()}: {where} {name}={expected}, local shard tensor {name}={actual}."
            )
