# Written by `python tools/stubs.py`.
"""torch.distributed: the ranks of a job, the collectives among them, and the stores in which they meet.

Written on the public API. Processes talk by MPI (MPICH through mpi4py, `pip install rushlight[dist]`), which
is loaded when init_process_group() is called for more than one rank. docs/distributed.md says how.
"""

from rushlight.distributed.options import AllToAllOptions as AllToAllOptions
from rushlight.distributed.options import AllgatherOptions as AllgatherOptions
from rushlight.distributed.options import AllreduceCoalescedOptions as AllreduceCoalescedOptions
from rushlight.distributed.options import AllreduceOptions as AllreduceOptions
from rushlight.distributed.backends import Backend as Backend
from rushlight.distributed.backends import BackendConfig as BackendConfig
from rushlight.distributed.options import BarrierOptions as BarrierOptions
from rushlight.distributed.options import BroadcastOptions as BroadcastOptions
from rushlight.distributed.options import DebugLevel as DebugLevel
from rushlight.distributed.device_mesh import DeviceMesh as DeviceMesh
from rushlight.distributed.errors import DistBackendError as DistBackendError
from rushlight.distributed.errors import DistError as DistError
from rushlight.distributed.errors import DistNetworkError as DistNetworkError
from rushlight.distributed.errors import DistQueueEmptyError as DistQueueEmptyError
from rushlight.distributed.errors import DistStoreError as DistStoreError
from rushlight.distributed.stores import FileStore as FileStore
from rushlight.distributed.communication.work import Future as Future
from rushlight.distributed.options import GatherOptions as GatherOptions
from rushlight.distributed.reducer import GradBucket as GradBucket
from rushlight.distributed.groups import GroupMember as GroupMember
from rushlight.distributed.groups import GroupName as GroupName
from rushlight.distributed.stores import HashStore as HashStore
from rushlight.distributed.communication.transfers import P2POp as P2POp
from rushlight.distributed.stores import PrefixStore as PrefixStore
from rushlight.distributed.groups import ProcessGroup as ProcessGroup
from rushlight.distributed.gloo import ProcessGroupGloo as ProcessGroupGloo
from rushlight.distributed.errors import RankFailure as RankFailure
from rushlight.distributed.communication.reductions import RedOpType as RedOpType
from rushlight.distributed.communication.reductions import ReduceOp as ReduceOp
from rushlight.distributed.options import ReduceOptions as ReduceOptions
from rushlight.distributed.options import ReduceScatterOptions as ReduceScatterOptions
from rushlight.distributed.reducer import Reducer as Reducer
from rushlight.distributed.options import ScatterOptions as ScatterOptions
from rushlight.distributed.stores import Store as Store
from rushlight.distributed.stores import TCPStore as TCPStore
from rushlight.distributed.communication.work import Work as Work
from rushlight.distributed.communication.coalescing import _CoalescingManager as _CoalescingManager
from rushlight.distributed.communication.control import _ControlCollectives as _ControlCollectives
from rushlight.distributed.reducer import _DEFAULT_FIRST_BUCKET_BYTES as _DEFAULT_FIRST_BUCKET_BYTES
from rushlight.distributed.backends import _DistributedBackendOptions as _DistributedBackendOptions
from rushlight.distributed.communication.control import _StoreCollectives as _StoreCollectives
from rushlight.distributed.communication.work import _Work as _Work
from rushlight.distributed.communication.collectives import _all_gather_base as _all_gather_base
from rushlight.distributed.communication.common import _broadcast_coalesced as _broadcast_coalesced
from rushlight.distributed.communication.coalescing import _coalescing_manager as _coalescing_manager
from rushlight.distributed.reducer import _compute_bucket_assignment_by_size as _compute_bucket_assignment_by_size
from rushlight.distributed.communication.work import _create_work_from_future as _create_work_from_future
from rushlight.distributed.communication.reductions import _make_nccl_premul_sum as _make_nccl_premul_sum
from rushlight.distributed.communication.collectives import _reduce_scatter_base as _reduce_scatter_base
from rushlight.distributed.remote_device import _remote_device as _remote_device
from rushlight.distributed import algorithms as algorithms
from rushlight.distributed.communication.collectives import all_gather as all_gather
from rushlight.distributed.communication.collectives import all_gather_coalesced as all_gather_coalesced
from rushlight.distributed.communication.collectives import all_gather_into_tensor as all_gather_into_tensor
from rushlight.distributed.communication.objects import all_gather_object as all_gather_object
from rushlight.distributed.communication.collectives import all_gather_single as all_gather_single
from rushlight.distributed.communication.collectives import all_reduce as all_reduce
from rushlight.distributed.communication.collectives import all_reduce_coalesced as all_reduce_coalesced
from rushlight.distributed.communication.exchanges import all_to_all as all_to_all
from rushlight.distributed.communication.exchanges import all_to_all_single as all_to_all_single
from rushlight.distributed import autograd as autograd
from rushlight.distributed.communication.collectives import barrier as barrier
from rushlight.distributed.communication.transfers import batch_isend_irecv as batch_isend_irecv
from rushlight.distributed.communication.collectives import broadcast as broadcast
from rushlight.distributed.communication.objects import broadcast_object_list as broadcast_object_list
from rushlight.distributed import checkpoint as checkpoint
from rushlight.distributed.rendezvous import default_pg_timeout as default_pg_timeout
from rushlight.distributed.groups import destroy_process_group as destroy_process_group
from rushlight.distributed import device_mesh as device_mesh
from rushlight.distributed import distributed_c10d as distributed_c10d
from rushlight.distributed import elastic as elastic
from rushlight.distributed import fsdp as fsdp
from rushlight.distributed.communication.exchanges import gather as gather
from rushlight.distributed.communication.exchanges import gather_into_tensor as gather_into_tensor
from rushlight.distributed.communication.objects import gather_object as gather_object
from rushlight.distributed.communication.exchanges import gather_single as gather_single
from rushlight.distributed.groups import get_backend as get_backend
from rushlight.distributed.groups import get_backend_config as get_backend_config
from rushlight.distributed.options import get_debug_level as get_debug_level
from rushlight.distributed.backends import get_default_backend_for_device as get_default_backend_for_device
from rushlight.distributed.groups import get_global_rank as get_global_rank
from rushlight.distributed.groups import get_group_rank as get_group_rank
from rushlight.distributed.backends import get_node_local_rank as get_node_local_rank
from rushlight.distributed.groups import get_pg_count as get_pg_count
from rushlight.distributed.groups import get_process_group_ranks as get_process_group_ranks
from rushlight.distributed.groups import get_rank as get_rank
from rushlight.distributed.groups import get_world_size as get_world_size
from rushlight.distributed.groups import group as group
from rushlight.distributed.device_mesh import init_device_mesh as init_device_mesh
from rushlight.distributed.groups import init_process_group as init_process_group
from rushlight.distributed.communication.transfers import irecv as irecv
from rushlight.distributed.backends import is_available as is_available
from rushlight.distributed.backends import is_backend_available as is_backend_available
from rushlight.distributed.backends import is_gloo_available as is_gloo_available
from rushlight.distributed.groups import is_initialized as is_initialized
from rushlight.distributed.backends import is_mpi_available as is_mpi_available
from rushlight.distributed.backends import is_nccl_available as is_nccl_available
from rushlight.distributed.backends import is_torchelastic_launched as is_torchelastic_launched
from rushlight.distributed.backends import is_ucc_available as is_ucc_available
from rushlight.distributed.backends import is_xccl_available as is_xccl_available
from rushlight.distributed.communication.transfers import isend as isend
from rushlight.distributed import launch as launch
from rushlight.distributed.communication.collectives import monitored_barrier as monitored_barrier
from rushlight.distributed.groups import new_group as new_group
from rushlight.distributed.groups import new_subgroups as new_subgroups
from rushlight.distributed.groups import new_subgroups_by_enumeration as new_subgroups_by_enumeration
from rushlight.distributed import nn as nn
from rushlight.distributed import optim as optim
from rushlight.distributed import pipelining as pipelining
from rushlight.distributed.communication.transfers import recv as recv
from rushlight.distributed.communication.objects import recv_object_list as recv_object_list
from rushlight.distributed.communication.collectives import reduce as reduce
from rushlight.distributed.communication.reductions import reduce_op as reduce_op
from rushlight.distributed.communication.collectives import reduce_scatter as reduce_scatter
from rushlight.distributed.communication.collectives import reduce_scatter_single as reduce_scatter_single
from rushlight.distributed.communication.collectives import reduce_scatter_tensor as reduce_scatter_tensor
from rushlight.distributed.rendezvous import register_rendezvous_handler as register_rendezvous_handler
from rushlight.distributed import remote_device as remote_device
from rushlight.distributed.rendezvous import rendezvous as rendezvous
from rushlight.distributed import rpc as rpc
from rushlight.distributed import run as run
from rushlight.distributed.communication.exchanges import scatter as scatter
from rushlight.distributed.communication.objects import scatter_object_list as scatter_object_list
from rushlight.distributed.communication.transfers import send as send
from rushlight.distributed.communication.objects import send_object_list as send_object_list
from rushlight.distributed.options import set_debug_level as set_debug_level
from rushlight.distributed.options import set_debug_level_from_env as set_debug_level_from_env
from rushlight.distributed.groups import set_timeout as set_timeout
from rushlight.distributed.groups import split_group as split_group
from rushlight.distributed.communication.reductions import supports_complex as supports_complex
from rushlight.distributed import tensor as tensor
from rushlight.distributed import utils as utils
def __dir__() -> list[str]: ...
__all__ = ['AllToAllOptions', 'AllgatherOptions', 'AllreduceCoalescedOptions', 'AllreduceOptions', 'Backend',
    'BackendConfig', 'BarrierOptions', 'BroadcastOptions', 'DebugLevel', 'DeviceMesh', 'DistBackendError',
    'DistError', 'DistNetworkError', 'DistQueueEmptyError', 'DistStoreError', 'FileStore', 'Future',
    'GatherOptions', 'GradBucket', 'GroupMember', 'GroupName', 'HashStore', 'P2POp', 'PrefixStore',
    'ProcessGroup', 'ProcessGroupGloo', 'RankFailure', 'RedOpType', 'ReduceOp', 'ReduceOptions',
    'ReduceScatterOptions', 'Reducer', 'ScatterOptions', 'Store', 'TCPStore', 'Work', '_CoalescingManager',
    '_ControlCollectives', '_DEFAULT_FIRST_BUCKET_BYTES', '_DistributedBackendOptions', '_StoreCollectives',
    '_Work', '_all_gather_base', '_broadcast_coalesced', '_coalescing_manager',
    '_compute_bucket_assignment_by_size', '_create_work_from_future', '_make_nccl_premul_sum',
    '_reduce_scatter_base', '_remote_device', 'all_gather', 'all_gather_coalesced', 'all_gather_into_tensor',
    'all_gather_object', 'all_gather_single', 'all_reduce', 'all_reduce_coalesced', 'all_to_all',
    'all_to_all_single', 'barrier', 'batch_isend_irecv', 'broadcast', 'broadcast_object_list',
    'default_pg_timeout', 'destroy_process_group', 'gather', 'gather_into_tensor', 'gather_object',
    'gather_single', 'get_backend', 'get_backend_config', 'get_debug_level', 'get_default_backend_for_device',
    'get_global_rank', 'get_group_rank', 'get_node_local_rank', 'get_pg_count', 'get_process_group_ranks',
    'get_rank', 'get_world_size', 'group', 'init_device_mesh', 'init_process_group', 'irecv', 'is_available',
    'is_backend_available', 'is_gloo_available', 'is_initialized', 'is_mpi_available', 'is_nccl_available',
    'is_torchelastic_launched', 'is_ucc_available', 'is_xccl_available', 'isend', 'monitored_barrier',
    'new_group', 'new_subgroups', 'new_subgroups_by_enumeration', 'recv', 'recv_object_list', 'reduce',
    'reduce_op', 'reduce_scatter', 'reduce_scatter_single', 'reduce_scatter_tensor',
    'register_rendezvous_handler', 'rendezvous', 'scatter', 'scatter_object_list', 'send', 'send_object_list',
    'set_debug_level', 'set_debug_level_from_env', 'set_timeout', 'split_group', 'supports_complex']
