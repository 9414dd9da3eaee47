"""The collectives as methods of a process group: `group.allreduce([tensor])`, as hooks call them.

They begin an operation and answer with its Work. Tensors come in lists, mostly of one, or alone; ranks are
those of the group. What a method asks for comes as options, or by name: `broadcast(x, root=1)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from rushlight import Tensor


def _listed(tensors: Any) -> list[Any]:
    """The tensors of a list, or the one that there is."""
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _op(options: Any) -> Any:
    """What AllreduceOptions and the like ask for, or an operation itself; the sum by default."""
    from rushlight.distributed.communication.reductions import ReduceOp  # which needs groups

    return ReduceOp.SUM if options is None else getattr(options, "reduceOp", options)


def _root(options: Any, root: int | None = None) -> int:
    """What BroadcastOptions and the like ask for, or a rank itself; 0 by default."""
    return int(getattr(options, "rootRank", options) or 0) if root is None else root


def _single(name: str, tensors: Any, what: str) -> Tensor:
    """The one tensor of a list, or itself; RuntimeError for several and none."""
    listed = _listed(tensors)
    if len(listed) != 1:
        raise RuntimeError(f"ProcessGroupGloo::{name}: requires a single-element {what}")
    found: Tensor = listed[0]
    return found


def _check_nccl(group: Any, tensors: list[Any]) -> None:
    """RuntimeError for several tensors where NCCL moves them."""
    if len(tensors) > 1 and group.nccl is not None and group.served_by(*tensors) is not None:
        raise RuntimeError(
            "Expecting one tensor only but got multiple. You are probably using multiple devices under one "
            "thread. The support for such usage has been deprecated. For details, please refer to "
            "https://pytorch.org/docs/stable/distributed.html#multi-gpu-collective-functions. "
            "ProcessGroupNCCL continues supporting multi-process and multi-thread modes."
        )


def _parts(name: str, group: Any, root: int, lists: Any, which: str) -> Any:
    """The list of tensors, one for each rank, that the root gives in a list, or as it is; None of others."""
    plain = bool(lists) and isinstance(lists[0], Tensor)
    if group.rank() != root:
        if lists and not plain:
            raise RuntimeError(f"ProcessGroupGloo::{name}: requires empty {which} on non-root")
        return None
    if not plain and len(lists) != 1:
        raise RuntimeError(
            f"ProcessGroupGloo::{name}: requires a single-element {which} list containing a list with "
            f"{group.size()} tensors."
        )
    found = lists if plain else lists[0]
    if len(found) != group.size():
        raise RuntimeError(
            f"ProcessGroupGloo::{name}: Incorrect {which} list size {len(found)}. {which.capitalize()} list "
            f"size should be {group.size()}, same as size of the process group."
        )
    return found


class GlooDevice:
    """A network interface, by name or address. MPI chooses its own."""

    def __init__(self, hostname: str, interface: str, lazy_init: bool | None) -> None:
        self.hostname, self.interface = hostname, interface


class GlooOptions:
    """What a group is made with: how long operations may take, and what gloo asks for beside it."""

    backend = "gloo"

    def __init__(self) -> None:
        self._limit = timedelta(minutes=30)
        self._devices: list[GlooDevice] = []
        self._threads = 2
        self.global_ranks_in_group: list[int] = []
        self.group_name = ""

    @property
    def _timeout(self) -> timedelta:
        return self._limit

    @_timeout.setter
    def _timeout(self, value: timedelta | float) -> None:
        self._limit = value if isinstance(value, timedelta) else timedelta(seconds=value)


class GroupMethods:
    """What a ProcessGroup does."""

    @staticmethod
    def create_device(hostname: str = "", interface: str = "", lazy_init: bool | None = None) -> GlooDevice:
        """A device for options. RuntimeError without a name."""
        if not hostname and not interface:
            raise RuntimeError("Specify either `hostname` or `interface` argument.")
        return GlooDevice(hostname, interface, lazy_init)

    @staticmethod
    def create_default_device(lazy_init: bool | None = None) -> GlooDevice:
        """The device that is used where none is named."""
        return GlooDevice("", "", lazy_init)

    def allreduce(self: Any, tensors: Any, opts: Any = None, op: Any = None, timeout: Any = None) -> Any:
        """all_reduce; of several tensors, all of them become the reduction of all. opts: AllreduceOptions or
        an operation.
        """
        from rushlight.distributed.communication import collectives, several  # written for groups

        listed = _listed(tensors)
        _check_nccl(self, listed)
        several.check_alike("allreduce", listed)
        chosen = _op(opts if op is None else op)
        if len(listed) == 1:
            return collectives.all_reduce(listed[0], chosen, self, True)
        return several.all_reduce(self, listed, chosen)

    def allreduce_coalesced(self: Any, tensors: Sequence[Tensor], opts: Any = None) -> Any:
        """all_reduce of several tensors at once."""
        from rushlight.distributed.communication import collectives, several  # written for groups

        return several.all_reduce_each(self, list(tensors), _op(opts), collectives.begin_all_reduce_coalesced)

    def broadcast(
        self: Any, tensors: Any, opts: Any = None, root: int | None = None, timeout: Any = None
    ) -> Any:
        """broadcast; of several tensors, all of them become one of the root's. opts: BroadcastOptions or the
        rank that has it.
        """
        from rushlight.distributed.communication import collectives, several  # written for groups

        listed, rank, which = _listed(tensors), _root(opts, root), getattr(opts, "rootTensor", 0)
        collectives.check_root(self, "broadcast", rank)
        if not 0 <= which < len(listed):
            raise RuntimeError(f"ProcessGroupGloo::broadcast: invalid root tensor: {which}")
        _check_nccl(self, listed)
        several.check_alike("broadcast", listed)
        if len(listed) == 1:
            return collectives.broadcast(listed[0], group=self, async_op=True, group_src=rank)
        return several.broadcast(self, listed, rank, which)

    def reduce(
        self: Any,
        tensors: Any,
        opts: Any = None,
        op: Any = None,
        root: int | None = None,
        timeout: Any = None,
    ) -> Any:
        """reduce of one tensor. opts: ReduceOptions, or the rank that gets it, with the operation."""
        from rushlight.distributed.communication import collectives  # written for groups

        rank = _root(opts, root)
        collectives.check_root(self, "reduce", rank)
        if (which := getattr(opts, "rootTensor", 0)) != 0:
            raise RuntimeError(f"ProcessGroupGloo::reduce: invalid root tensor: {which}")
        tensor = _single("reduce", tensors, "tensor list")
        chosen = _op(opts if hasattr(opts, "reduceOp") else op)
        return collectives.reduce(tensor, op=chosen, group=self, async_op=True, group_dst=rank)

    def allgather(
        self: Any, output_tensors: Any, input_tensors: Any, opts: Any = None, timeout: Any = None
    ) -> Any:
        """all_gather of one tensor into a list, or of several into as many lists."""
        from rushlight.distributed.communication import collectives, several  # written for groups

        if isinstance(input_tensors, Tensor):
            return collectives.all_gather(output_tensors, input_tensors, self, True)
        _check_nccl(self, input_tensors)
        if not input_tensors:
            raise RuntimeError("ProcessGroupGloo::allgather: requires non-empty input tensor list")
        if len(input_tensors) != len(output_tensors):
            raise RuntimeError(
                "ProcessGroupGloo::allgather: requires input/output tensor lists to have the same length"
            )
        if len(input_tensors) > 1 or len(output_tensors[0]) != self.size():
            several.check_alike("allgather", input_tensors)
            return several.all_gather(self, output_tensors, list(input_tensors))
        collectives.check_shapes("allgather", output_tensors[0], input_tensors[0])
        return collectives.all_gather(list(output_tensors[0]), input_tensors[0], self, True)

    def allgather_coalesced(self: Any, output_lists: Any, input_list: Any, opts: Any = None) -> Any:
        """all_gather of several tensors at once: a list of each rank's."""
        from rushlight.distributed.communication import collectives  # written for groups

        return collectives.begin_all_gather_coalesced(output_lists, input_list, self, True)

    def _allgather_base(self: Any, output: Tensor, input: Tensor, opts: Any = None) -> Any:
        from rushlight.distributed.communication import collectives  # written for groups

        return collectives.all_gather_into_tensor(output, input, self, True)

    all_gather_single = _allgather_base

    def allgather_into_tensor_coalesced(
        self: Any, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: Any = None
    ) -> Any:
        """all_gather_into_tensor of several tensors; the last one's Work, after which all are there."""
        pairs = list(zip(outputs, inputs, strict=True))
        return [self._allgather_base(output, input) for output, input in pairs][-1]

    all_gather_single_coalesced = allgather_into_tensor_coalesced

    def gather(
        self: Any,
        output_tensors: Any,
        input_tensors: Any,
        opts: Any = None,
        root: int | None = None,
        timeout: Any = None,
    ) -> Any:
        """gather of one tensor into a list, which ranks other than the root leave empty."""
        from rushlight.distributed.communication import collectives, exchanges  # written for groups

        rank = _root(opts, root)
        collectives.check_root(self, "gather", rank)
        tensor = _single("gather", input_tensors, "input tensor list")
        into = _parts("gather", self, rank, output_tensors, "output")
        collectives.check_shapes("gather", into or [], tensor)
        return exchanges.gather(tensor, into, group=self, async_op=True, group_dst=rank)

    def scatter(
        self: Any,
        output_tensors: Any,
        input_tensors: Any,
        opts: Any = None,
        root: int | None = None,
        timeout: Any = None,
    ) -> Any:
        """scatter of a list, which ranks other than the root leave empty, into one tensor."""
        from rushlight.distributed.communication import collectives, exchanges  # written for groups

        rank = _root(opts, root)
        collectives.check_root(self, "scatter", rank)
        tensor = _single("scatter", output_tensors, "output tensor list")
        given = _parts("scatter", self, rank, input_tensors, "input")
        collectives.check_shapes("scatter", given or [], tensor)
        return exchanges.scatter(tensor, given, group=self, async_op=True, group_src=rank)

    def reduce_scatter(
        self: Any,
        output_tensors: Any,
        input_tensors: Any,
        opts: Any = None,
        op: Any = None,
        timeout: Any = None,
    ) -> Any:
        """reduce_scatter of a list into one tensor."""
        from rushlight.distributed.communication import collectives  # written for groups

        given = input_tensors[0] if isinstance(output_tensors, (list, tuple)) else input_tensors
        output = _single("reduce_scatter", output_tensors, "output tensor list")
        return collectives.reduce_scatter(output, given, _op(opts if op is None else op), self, True)

    def _reduce_scatter_base(self: Any, output: Tensor, input: Tensor, opts: Any = None) -> Any:
        from rushlight.distributed.communication import collectives  # written for groups

        return collectives.reduce_scatter_tensor(output, input, _op(opts), self, True)

    reduce_scatter_single = _reduce_scatter_base

    def reduce_scatter_tensor_coalesced(
        self: Any, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: Any = None
    ) -> Any:
        """reduce_scatter_tensor of several tensors; the last one's Work, after which all are there."""
        pairs = list(zip(outputs, inputs, strict=True))
        return [self._reduce_scatter_base(output, input, opts) for output, input in pairs][-1]

    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced

    def alltoall(self: Any, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Any:
        """all_to_all of lists of tensors."""
        from rushlight.distributed.communication import exchanges  # written for groups

        return exchanges.all_to_all(output_tensors, input_tensors, self, True)

    def alltoall_base(
        self: Any,
        output: Tensor,
        input: Tensor,
        output_split_sizes: Any,
        input_split_sizes: Any,
        opts: Any = None,
    ) -> Any:
        """all_to_all_single, in pieces of these sizes or equal ones."""
        from rushlight.distributed.communication import exchanges  # written for groups

        return exchanges.all_to_all_single(
            output, input, output_split_sizes or None, input_split_sizes or None, self, True
        )

    all_to_all_single = alltoall_base

    def barrier(self: Any, opts: Any = None, timeout: timedelta | None = None) -> Any:
        """barrier of the group."""
        from rushlight.distributed.communication import collectives  # written for groups

        return collectives.barrier(self, True, timeout=timeout)

    def monitored_barrier(self: Any, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
        """monitored_barrier of the group."""
        from rushlight.distributed.communication import collectives  # written for groups

        collectives.monitored_barrier(self, timeout, wait_all_ranks)

    def send(self: Any, tensors: Any, dstRank: int, tag: int = 0) -> Any:
        """isend of one tensor to a rank of the group."""
        from rushlight.distributed.communication import transfers  # written for groups

        tensor = _moved("send", tensors, tag)
        return transfers.isend(tensor, group=self, tag=tag, group_dst=dstRank)

    def recv(self: Any, tensors: Any, srcRank: int, tag: int = 0) -> Any:
        """irecv of one tensor from a rank of the group."""
        from rushlight.distributed.communication import transfers  # written for groups

        return transfers.irecv(_moved("recv", tensors, tag), group=self, tag=tag, group_src=srcRank)

    def recv_anysource(self: Any, tensors: Any, tag: int = 0) -> Any:
        """irecv of one tensor from any rank of the group."""
        from rushlight.distributed.communication import transfers  # written for groups

        return transfers.irecv(_moved("recvAnysource", tensors, tag), group=self, tag=tag)

    def _get_backend(self: Any, device: Any) -> Any:
        return self

    def _set_sequence_number_for_group(self) -> None:
        """Operations are numbered from the group's first one on."""

    def _get_sequence_number_for_group(self: Any) -> int:
        return int(self.queue.number)

    def _set_default_timeout(self: Any, timeout: timedelta) -> None:
        from rushlight.distributed.groups import set_timeout  # which has this class

        set_timeout(timeout, self)

    set_timeout = _set_default_timeout


def _moved(name: str, tensors: Any, tag: int) -> Tensor:
    """The one tensor that is sent or received; RuntimeError for several, and for a negative tag."""
    listed = _listed(tensors)
    if len(listed) != 1:
        raise RuntimeError(f"ProcessGroupGloo::{name} takes a single tensor")
    if tag < 0:
        raise RuntimeError("Tag must be nonnegative")
    found: Tensor = listed[0]
    return found
