# Written by `python tools/stubs.py`.
"""Models whose parameters are cut over the ranks (torch.distributed.fsdp)."""

from rushlight.distributed.fsdp.api import BackwardPrefetch as BackwardPrefetch
from rushlight.distributed.fsdp.api import CPUOffload as CPUOffload
from rushlight.distributed.fsdp.api import CPUOffloadPolicy as CPUOffloadPolicy
from rushlight.distributed.fsdp._fully_shard import FSDPModule as FSDPModule
from rushlight.distributed.fsdp.fully_sharded_data_parallel import FlatParameter as FlatParameter
from rushlight.distributed.fsdp.api import FullOptimStateDictConfig as FullOptimStateDictConfig
from rushlight.distributed.fsdp.api import FullStateDictConfig as FullStateDictConfig
from rushlight.distributed.fsdp.fully_sharded_data_parallel import FullyShardedDataParallel as FullyShardedDataParallel
from rushlight.distributed.fsdp.api import LocalOptimStateDictConfig as LocalOptimStateDictConfig
from rushlight.distributed.fsdp.api import LocalStateDictConfig as LocalStateDictConfig
from rushlight.distributed.fsdp.api import MixedPrecision as MixedPrecision
from rushlight.distributed.fsdp.api import MixedPrecisionPolicy as MixedPrecisionPolicy
from rushlight.distributed.fsdp.api import OffloadPolicy as OffloadPolicy
from rushlight.distributed.fsdp.api import OptimStateDictConfig as OptimStateDictConfig
from rushlight.distributed.fsdp.api import OptimStateKeyType as OptimStateKeyType
from rushlight.distributed.fsdp.api import ShardedOptimStateDictConfig as ShardedOptimStateDictConfig
from rushlight.distributed.fsdp.api import ShardedStateDictConfig as ShardedStateDictConfig
from rushlight.distributed.fsdp.api import ShardingStrategy as ShardingStrategy
from rushlight.distributed.fsdp.api import StateDictConfig as StateDictConfig
from rushlight.distributed.fsdp.api import StateDictSettings as StateDictSettings
from rushlight.distributed.fsdp.api import StateDictType as StateDictType
from rushlight.distributed.fsdp._fully_shard import UnshardHandle as UnshardHandle
from rushlight.distributed.fsdp import api as api
from rushlight.distributed.fsdp._fully_shard import fully_shard as fully_shard
from rushlight.distributed.fsdp import fully_sharded_data_parallel as fully_sharded_data_parallel
from rushlight.distributed.fsdp._fully_shard import register_fsdp_forward_method as register_fsdp_forward_method
from rushlight.distributed.fsdp import sharded_grad_scaler as sharded_grad_scaler
from rushlight.distributed.fsdp import wrap as wrap
def __dir__() -> list[str]: ...
__all__ = ['BackwardPrefetch', 'CPUOffload', 'CPUOffloadPolicy', 'FSDPModule', 'FlatParameter',
    'FullOptimStateDictConfig', 'FullStateDictConfig', 'FullyShardedDataParallel',
    'LocalOptimStateDictConfig', 'LocalStateDictConfig', 'MixedPrecision', 'MixedPrecisionPolicy',
    'OffloadPolicy', 'OptimStateDictConfig', 'OptimStateKeyType', 'ShardedOptimStateDictConfig',
    'ShardedStateDictConfig', 'ShardingStrategy', 'StateDictConfig', 'StateDictSettings', 'StateDictType',
    'UnshardHandle', 'fully_shard', 'register_fsdp_forward_method']
