"""Collectives of a few bytes over a store: torch.distributed._StoreCollectives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import timedelta

from rushlight.distributed.errors import DistStoreError
from rushlight.distributed.stores import Store

_PATIENCE = timedelta(seconds=300)
Data = str | bytes


class _ControlCollectives(ABC):
    """What collectives of control are there; each call has a key of its own, which all ranks give."""

    @abstractmethod
    def barrier(self, key: str, timeout: timedelta = _PATIENCE, block: bool = True) -> None:
        """Wait until all have come; block=False: only say that this rank has."""

    @abstractmethod
    def all_sum(self, key: str, data: int, timeout: timedelta = _PATIENCE) -> int:
        """The sum of all ranks' numbers."""

    @abstractmethod
    def broadcast_send(self, key: str, data: Data, timeout: timedelta = _PATIENCE) -> None:
        """Give all others the same."""

    @abstractmethod
    def broadcast_recv(self, key: str, timeout: timedelta = _PATIENCE) -> bytes:
        """What one rank gives all."""

    @abstractmethod
    def gather_send(self, key: str, data: Data, timeout: timedelta = _PATIENCE) -> None:
        """Give one rank something."""

    @abstractmethod
    def gather_recv(self, key: str, data: Data, timeout: timedelta = _PATIENCE) -> list[bytes]:
        """What all ranks give this one, its own among them."""

    @abstractmethod
    def scatter_send(self, key: str, data: Sequence[Data], timeout: timedelta = _PATIENCE) -> bytes:
        """Give each rank its part; this rank's own."""

    @abstractmethod
    def scatter_recv(self, key: str, timeout: timedelta = _PATIENCE) -> bytes:
        """This rank's part of what one rank has."""

    @abstractmethod
    def all_gather(self, key: str, data: Data, timeout: timedelta = _PATIENCE) -> list[bytes]:
        """What all ranks give."""


class _StoreCollectives(_ControlCollectives):
    """Those of the ranks that share a store."""

    def __init__(self, store: Store, rank: int, world_size: int) -> None:
        self._store, self._rank, self._world_size = store, rank, world_size
        self._used: set[str] = set()

    def _begin(self, key: str) -> None:
        if key in self._used:
            raise RuntimeError(f"Key {key} has already been used.")
        self._used.add(key)

    def _wait(self, keys: list[str], timeout: timedelta, prefix: str, what: str) -> None:
        """Wait for keys; where they do not come, say which ranks have not set theirs."""
        try:
            self._store.wait(keys, timeout)
        except DistStoreError as error:
            places = range(self._world_size)
            missing = [str(i) for i in places if not self._store.check([f"{prefix}/{i}"])]
            raise RuntimeError(f"{what} failed -- missing ranks: {', '.join(missing)}, {error}") from None

    def barrier(self, key: str, timeout: timedelta = _PATIENCE, block: bool = True) -> None:
        """Wait until all have come; block=False: only say that this rank has."""
        self._begin(key)
        last = f"{key}/last_members"
        count = self._store.add(f"{key}/num_members", 1)
        self._store.set(f"{key}/{self._rank}", "joined")
        if count == self._world_size:
            self._store.set(last, "<val_ignored>")
        elif block:
            self._wait([last], timeout, key, "barrier")

    def all_sum(self, key: str, data: int, timeout: timedelta = _PATIENCE) -> int:
        """The sum of all ranks' numbers."""
        self._begin(key)
        self._store.add(key, data)
        self.barrier(f"{key}/barrier", timeout)
        return self._store.add(key, 0)

    def broadcast_send(self, key: str, data: Data, timeout: timedelta = _PATIENCE) -> None:
        """Give all others the same."""
        self._begin(key)
        self._store.set(key, data)

    def broadcast_recv(self, key: str, timeout: timedelta = _PATIENCE) -> bytes:
        """What one rank gives all."""
        self._begin(key)
        return self._read(key, timeout)

    def _read(self, key: str, timeout: timedelta) -> bytes:
        self._store.wait([key], timeout)
        return self._store.get(key)

    def gather_send(self, key: str, data: Data, timeout: timedelta = _PATIENCE) -> None:
        """Give one rank something."""
        self._begin(key)
        self._store.set(f"{key}/{self._rank}", data)

    def gather_recv(self, key: str, data: Data, timeout: timedelta = _PATIENCE) -> list[bytes]:
        """What all ranks give this one, its own among them."""
        return self._gathered(key, data, timeout, "gather")

    def _gathered(self, key: str, data: Data, timeout: timedelta, what: str) -> list[bytes]:
        self.gather_send(key, data)
        keys = [f"{key}/{i}" for i in range(self._world_size)]
        self._wait(keys, timeout, key, what)
        return self._store.multi_get(keys)

    def scatter_send(self, key: str, data: Sequence[Data], timeout: timedelta = _PATIENCE) -> bytes:
        """Give each rank its part; this rank's own."""
        self._begin(key)
        own = data[self._rank]
        for i, one in enumerate(data):
            if i != self._rank:
                self._store.set(f"{key}/{i}", one)
        return own.encode() if isinstance(own, str) else own

    def scatter_recv(self, key: str, timeout: timedelta = _PATIENCE) -> bytes:
        """This rank's part of what one rank has."""
        self._begin(key)
        return self._read(f"{key}/{self._rank}", timeout)

    def all_gather(self, key: str, data: Data, timeout: timedelta = _PATIENCE) -> list[bytes]:
        """What all ranks give."""
        return self._gathered(key, data, timeout, "all_gather")
