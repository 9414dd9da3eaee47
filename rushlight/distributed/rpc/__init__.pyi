# Written by `python tools/stubs.py`.
"""Calls of functions on other processes, and references to values that lie there (torch.distributed.rpc)."""

from rushlight.distributed.rpc.backend_registry import BackendType as BackendType
from rushlight.distributed.rpc.rrefs import PyRRef as PyRRef
from rushlight.distributed.rpc.api import RRef as RRef
from rushlight.distributed.rpc.options import RpcBackendOptions as RpcBackendOptions
from rushlight.distributed.rpc.agent import TensorPipeAgent as TensorPipeAgent
from rushlight.distributed.rpc.options import TensorPipeRpcBackendOptions as TensorPipeRpcBackendOptions
from rushlight.distributed.rpc.api import WorkerInfo as WorkerInfo
from rushlight.distributed.rpc.api import _all_gather as _all_gather
from rushlight.distributed.rpc.api import _barrier as _barrier
from rushlight.distributed.rpc.api import _delete_all_user_and_unforked_owner_rrefs as _delete_all_user_and_unforked_owner_rrefs
from rushlight.distributed.rpc.api import _get_current_rpc_agent as _get_current_rpc_agent
from rushlight.distributed.rpc.start import _get_debug_info as _get_debug_info
from rushlight.distributed.rpc.start import _init_rpc_backend as _init_rpc_backend
from rushlight.distributed.rpc.api import _is_current_rpc_agent_set as _is_current_rpc_agent_set
from rushlight.distributed.rpc.api import _rref_context_get_debug_info as _rref_context_get_debug_info
from rushlight.distributed.rpc.api import _set_rpc_timeout as _set_rpc_timeout
from rushlight.distributed.rpc.api import _wait_all as _wait_all
from rushlight.distributed.rpc.api import _wait_all_workers as _wait_all_workers
from rushlight.distributed.rpc import api as api
from rushlight.distributed.rpc.backend_registry import backend_registered as backend_registered
from rushlight.distributed.rpc import backend_registry as backend_registry
from rushlight.distributed.rpc import constants as constants
from rushlight.distributed.rpc.backend_registry import construct_rpc_backend_options as construct_rpc_backend_options
from rushlight.distributed.rpc import functions as functions
from rushlight.distributed.rpc.api import get_rpc_timeout as get_rpc_timeout
from rushlight.distributed.rpc.api import get_worker_info as get_worker_info
from rushlight.distributed.rpc.backend_registry import init_backend as init_backend
from rushlight.distributed.rpc.start import init_rpc as init_rpc
from rushlight.distributed.rpc import internal as internal
from rushlight.distributed.rpc import options as options
from rushlight.distributed.rpc.backend_registry import register_backend as register_backend
from rushlight.distributed.rpc.api import remote as remote
from rushlight.distributed.rpc.api import rpc_async as rpc_async
from rushlight.distributed.rpc.api import rpc_sync as rpc_sync
from rushlight.distributed.rpc import rref_proxy as rref_proxy
from rushlight.distributed.rpc.api import shutdown as shutdown
def is_available() -> bool:
    """True: remote calls are there."""
def __dir__() -> list[str]: ...
__all__ = ['BackendType', 'PyRRef', 'RRef', 'RpcBackendOptions', 'TensorPipeAgent',
    'TensorPipeRpcBackendOptions', 'WorkerInfo', 'backend_registered', 'construct_rpc_backend_options',
    'get_rpc_timeout', 'get_worker_info', 'init_backend', 'init_rpc', 'register_backend', 'remote',
    'rpc_async', 'rpc_sync', 'shutdown']
