"""torch.multiprocessing: Python's multiprocessing, through whose queues, pipes and arguments tensors go.

A tensor that is sent is moved to memory which both processes see; only its place there is sent.
"""

import multiprocessing
from multiprocessing import *  # noqa: F403
from multiprocessing.reduction import ForkingPickler

from rushlight._engine.tensors.storages.sharing import reduce_storage, reduce_tensor
from rushlight._engine.tensors.storages.storage import Storage
from rushlight._engine.tensors.tensor import Tensor
from rushlight.multiprocessing.spawn import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)
from rushlight.nn.parameter import Buffer, Parameter

__all__ = [
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
    *multiprocessing.__all__,
]
_strategy = ["file_descriptor"]
for _kind in (Tensor, Parameter, Buffer):
    ForkingPickler.register(_kind, reduce_tensor)
ForkingPickler.register(Storage, reduce_storage)


def get_all_sharing_strategies() -> set[str]:
    """PyTorch's names. Here memory goes as descriptors of nameless files in any case."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """The name that was set, "file_descriptor" by default."""
    return _strategy[0]


def set_sharing_strategy(new_strategy: str) -> None:
    """Set it; AssertionError for a name that get_all_sharing_strategies() does not know."""
    if new_strategy not in (known := get_all_sharing_strategies()):
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {known}")
    _strategy[0] = new_strategy
