"""A wire whose host memory travels as tensors, by what moves the tensors of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import rushlight
from rushlight import Tensor
from rushlight.distributed.communication.wire import Array, Done, Request, SoloWire


class TensorWire(SoloWire):
    """The wire of a group that one thing alone serves, `owner`: it has a group's collectives of tensors."""

    owner: Any

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size

    def _there(self, data: Array) -> Tensor:
        return rushlight.from_numpy(data.reshape(-1).view(np.uint8)).to(self.owner.device().where)

    def _put(self, into: Array, found: Tensor) -> Request:
        into.reshape(-1).view(np.uint8)[:] = found.cpu().numpy()
        return Done()

    def broadcast(self, data: Array, root: int) -> Request:
        """Fill `data` of all ranks with `root`'s."""
        found = self._there(data)
        self.owner.broadcast(found, root, False)
        return self._put(data, found)

    def allgather(self, source: Array, into: Array) -> Request:
        """All ranks' `source`, one after the other, into `into` of each."""
        given = self._there(source)
        found = given.new_empty(given.numel() * self.size)
        self.owner.all_gather_into_tensor(found, given, False)
        return self._put(into, found)

    def gather(self, source: Array, into: Array | None, root: int) -> Request:
        """All ranks' `source`, one after the other, into `into` of `root`."""
        given = self._there(source)
        found = given.new_empty(self.size, given.numel())
        self.owner.exchange(
            "gather", {root: given}, dict(enumerate(found)) if into is not None else {}, [], False
        )
        return Done() if into is None else self._put(into, found.reshape(-1))

    def scatter(self, source: Array | None, into: Array, root: int) -> Request:
        """The parts of `root`'s `source`, one into each rank's `into`."""
        found = self._there(into)
        given = {} if source is None else dict(enumerate(self._there(source).view(self.size, -1)))
        self.owner.exchange("scatter", given, {root: found}, [], False)
        return self._put(into, found)

    def barrier(self) -> Request:
        """Done when all ranks have called it."""
        self.owner.barrier(None, False)
        return Done()

    def _refused(self, *arguments: Any) -> Request:
        raise RuntimeError(
            f"{self.owner.name} alone serves the group {self.owner.group.group_name!r}, and cannot do this"
        )

    allreduce = reduce = send = receive = _refused
    reduce_scatter = alltoall = _refused  # type: ignore[assignment]

    def part(self, ranks: Sequence[int], tag: int) -> TensorWire:
        """The wire of some of the ranks, of which this is one."""
        return type(self)(list(ranks).index(self.rank), len(ranks))
