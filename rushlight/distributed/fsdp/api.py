"""The options of FullyShardedDataParallel and fully_shard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import rushlight as torch


class ShardingStrategy(Enum):
    """What is cut: parameters, gradients and states (FULL_SHARD); the same, but parameters stay whole from
    forward to backward (SHARD_GRAD_OP); nothing (NO_SHARD); the first two within a node (HYBRID_SHARD,
    _HYBRID_SHARD_ZERO2).
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """Whether the next unit of backward is gathered before the current one computes, or after."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """What state_dict() of FullyShardedDataParallel gives: whole tensors, DTensors, or flat shards."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


class OptimStateKeyType(Enum):
    """How an optimizer's state dict names parameters."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


@dataclass
class MixedPrecision:
    """Dtypes of whole parameters, of gradients on their way, of buffers; None: as they are. Arguments of
    forward are cast to param_dtype (cast_forward_inputs: of every unit; cast_root_forward_inputs: of the
    root).
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type] = (torch.nn.modules.batchnorm._BatchNorm,)


@dataclass
class CPUOffload:
    """Whether shards lie in the CPU's memory where devices compute."""

    offload_params: bool = False


@dataclass
class StateDictConfig:
    """Of all types."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """rank0_only: other ranks get an empty dict."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Of flat shards."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Of DTensors."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """Of all types."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """rank0_only: other ranks get an empty dict."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Of flat shards."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Of DTensors."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """A type and its two configurations."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Of fully_shard: dtypes of whole parameters, of gradients on their way, of results; casting of
    arguments.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Of fully_shard: nothing is moved."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Of fully_shard: shards lie in the CPU's memory, also where devices compute."""

    pin_memory: bool = True
