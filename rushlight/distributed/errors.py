"""What goes wrong among processes, as exceptions with PyTorch's names."""

from __future__ import annotations


class DistError(RuntimeError):
    """Anything that went wrong in torch.distributed."""


class DistBackendError(DistError):
    """The backend failed."""


class DistNetworkError(DistError):
    """The network failed: a port is taken, nobody listens there."""


class DistStoreError(DistError):
    """The store failed: a key did not come in time."""


class DistQueueEmptyError(DistStoreError):
    """A store's queue is empty."""


class RankFailure(DistBackendError):
    """A process of the group has failed. `rank`: which (in the world); `reason`: what is known of it."""

    def __init__(self, message: str, rank: int, reason: str) -> None:
        super().__init__(message, rank, reason)
        self.rank, self.reason = rank, reason

    def __str__(self) -> str:
        return str(self.args[0])
