"""Process groups of a program's own classes (Backend.register_backend): the collectives call their methods.

A `Foreign` has a group's collectives of tensors, as communication/nccl.py's has them, and asks for each the
method that PyTorch would, with its options.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import rushlight
from rushlight import Tensor
from rushlight.distributed import options
from rushlight.distributed.communication.group_methods import GroupMethods
from rushlight.distributed.communication.tensor_wire import TensorWire
from rushlight.distributed.communication.wire import Array, Request
from rushlight.distributed.communication.work import Work


class ForeignWire(TensorWire):
    """The wire of such a group."""

    def _there(self, data: Array) -> Tensor:
        return rushlight.from_numpy(data.copy().reshape(-1).view("uint8"))

    def allgather(self, source: Array, into: Array) -> Request:
        """All ranks' `source`, one after the other, into `into` of each."""
        given = self._there(source)
        found = given.new_empty(self.size, given.numel())
        self.owner.all_gather(list(found), given, False)
        return self._put(into, found.reshape(-1))


class Foreign:
    """What moves the tensors of a group whose class is a program's own."""

    def __init__(self, group: Any) -> None:
        self.group = group
        self._batch: list[Any] | None = None

    @property
    def name(self) -> str:
        """The group's backend."""
        return str(self.group.name())

    def _call(self, name: str, async_op: bool, *arguments: Any) -> Work | None:
        """Begin what the group's class does by this name: its Work, or None when it is over."""
        kind = type(self.group)
        if getattr(kind, name) is getattr(GroupMethods, name):  # which would come back here
            raise RuntimeError(
                f"No backend type associated with device type cpu: {kind.__name__} has no method {name}()"
            )
        work: Work | None = getattr(self.group, name)(*arguments)
        if async_op or work is None:
            return work
        work.wait(timedelta(0))
        return None

    def all_reduce(self, tensor: Tensor, op: Any, async_op: bool) -> Work | None:
        """Of one tensor."""
        return self._call("allreduce", async_op, [tensor], options.AllreduceOptions(reduceOp=op))

    def all_reduce_coalesced(self, tensors: Sequence[Tensor], op: Any, async_op: bool) -> Work | None:
        """Of several."""
        asked = options.AllreduceCoalescedOptions(reduceOp=op)
        return self._call("allreduce_coalesced", async_op, list(tensors), asked)

    def reduce(self, tensor: Tensor, op: Any, root: int, async_op: bool) -> Work | None:
        """To the rank `root` of the group."""
        asked = options.ReduceOptions(reduceOp=op, rootRank=root)
        return self._call("reduce", async_op, [tensor], asked)

    def reduce_scatter(self, output: Tensor, inputs: list[Tensor], op: Any, async_op: bool) -> Work | None:
        """Of a tensor for each rank."""
        asked = options.ReduceScatterOptions(reduceOp=op)
        return self._call("reduce_scatter", async_op, [output], [inputs], asked)

    def reduce_scatter_tensor(self, output: Tensor, input: Tensor, op: Any, async_op: bool) -> Work | None:
        """Of one tensor in equal parts."""
        asked = options.ReduceScatterOptions(reduceOp=op)
        return self._call("_reduce_scatter_base", async_op, output, input, asked)

    def broadcast(self, tensor: Tensor, root: int, async_op: bool) -> Work | None:
        """Of the rank `root` of the group."""
        return self._call("broadcast", async_op, [tensor], options.BroadcastOptions(rootRank=root))

    def all_gather(self, outputs: list[Tensor], input: Tensor, async_op: bool) -> Work | None:
        """Into a list."""
        return self._call("allgather", async_op, [outputs], [input], options.AllgatherOptions())

    def all_gather_into_tensor(self, output: Tensor, input: Tensor, async_op: bool) -> Work | None:
        """Into one tensor."""
        return self._call("_allgather_base", async_op, output, input, options.AllgatherOptions())

    def exchange(
        self,
        name: str,
        sent: Mapping[int, Tensor],
        received: Mapping[int, Tensor],
        results: Sequence[Tensor],
        async_op: bool,
    ) -> Work | None:
        """gather, scatter or all_to_all, by what goes to which rank, and what comes from which."""
        given, taken = list(sent.values()), list(received.values())
        if name == "gather":
            asked = options.GatherOptions(rootRank=next(iter(sent)))
            return self._call(name, async_op, [taken] if taken else [], given, asked)
        if name == "scatter":
            from_root = options.ScatterOptions(rootRank=next(iter(received)))
            return self._call(name, async_op, taken, [given] if given else [], from_root)
        return self._call("alltoall", async_op, taken, given, options.AllToAllOptions())

    def all_to_all_single(
        self, output: Tensor, input: Tensor, received: Sequence[int], sent: Sequence[int], async_op: bool
    ) -> Work | None:
        """Parts of one tensor's first dim; no sizes: equal ones."""
        arguments = output, input, list(received), list(sent), options.AllToAllOptions()
        return self._call("alltoall_base", async_op, *arguments)

    def transfer(self, name: str, tensor: Tensor, peer: int, tag: int = 0) -> Work | None:
        """Begin "isend" or "irecv"; peer -1: from any rank."""
        if peer < 0:
            work = self._call("recv_anysource", True, [tensor], tag)
        else:
            work = self._call(name.removeprefix("i"), True, [tensor], peer, tag)
        if self._batch is not None:
            self._batch.append(work)
        return work

    def device(self, index: int | None = None) -> Any:
        """Nothing: the group's class looks after devices."""
        return None

    @contextmanager
    def batch(self, device: Any, async_op: bool, everybody: bool) -> Iterator[list[Any]]:
        """The Works of the transfers that begin in this context."""
        begun: list[Any] = []
        self._batch = begun
        try:
            yield begun
        finally:
            self._batch = None

    def barrier(self, device_ids: Any, async_op: bool, timeout: timedelta | None = None) -> Work | None:
        """Over when all ranks have come."""
        asked = options.BarrierOptions()
        asked.device_ids = list(device_ids or ())
        if timeout is not None:
            asked.timeout = timeout
        return self._call("barrier", async_op, asked)
