"""Who listens to the collectives that begin (torch.distributed.tensor.debug)."""

from __future__ import annotations

from collections.abc import Callable

# Each is called with a namespace of torch.ops and the name that PyTorch's op has there.
LISTENERS: list[Callable[[str, str], None]] = []

# By the name of an operation here: PyTorch's op of a functional collective, and of one of torch.distributed.
_OPS = {
    "all_reduce": ("all_reduce", "allreduce_"),
    "all_reduce_coalesced": ("all_reduce_coalesced", "allreduce_coalesced_"),
    "all_gather": ("all_gather_into_tensor", "allgather_"),
    "all_gather_coalesced": ("all_gather_into_tensor_coalesced", "allgather_coalesced_"),
    "all_gather_into_tensor": ("all_gather_into_tensor", "_allgather_base_"),
    "reduce_scatter": ("reduce_scatter_tensor", "reduce_scatter_"),
    "reduce_scatter_tensor": ("reduce_scatter_tensor", "_reduce_scatter_base_"),
    "all_to_all": ("all_to_all_single", "alltoall_"),
    "all_to_all_single": ("all_to_all_single", "alltoall_base_"),
    "broadcast": ("broadcast", "broadcast_"),
    "gather": ("gather", "gather_"),
    "scatter": ("scatter", "scatter_"),
    "reduce": ("reduce", "reduce_"),
}


class Inside:
    """A context: collectives that begin in it count as functional ones, or all of them as one op."""

    def __init__(self, *op: str) -> None:
        self._op = op

    def __enter__(self) -> None:
        if self._op and LISTENERS:
            _tell(*self._op)
        _entered.append(self._op)

    def __exit__(self, *error: object) -> None:
        _entered.pop()


FUNCTIONAL = Inside()
SHARD_TO_SHARD = Inside("c10d_functional", "all_gather_into_tensor")  # which PyTorch does on CPUs
_entered: list[tuple[str, ...]] = []


def _tell(namespace: str, name: str) -> None:
    for listener in LISTENERS if not any(_entered) else ():
        listener(namespace, name)


def tell(operation: str) -> None:
    """Tell who listens that an operation of ours begins."""
    if operation in _OPS:
        functional, plain = _OPS[operation]
        _tell(*(("c10d_functional", functional) if _entered else ("c10d", plain)))
