"""The collectives as methods of a process group: `group.allreduce([tensor])`, as hooks call them.

They begin an operation and answer with its Work. Tensors come in lists of one, or alone; ranks are those of
the group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rushlight import Tensor


def _only(tensors: Any) -> Any:
    """The one tensor (or list of tensors) of a list; RuntimeError for several or none."""
    if not isinstance(tensors, (list, tuple)):
        return tensors
    if len(tensors) != 1:
        raise RuntimeError(f"a process group takes one tensor for each rank, got a list of {len(tensors)}")
    return tensors[0]


def _op(options: Any) -> Any:
    """What AllreduceOptions and the like ask for, or an operation itself; the sum by default."""
    from rushlight.distributed.communication.reductions import ReduceOp  # which needs groups

    return ReduceOp.SUM if options is None else getattr(options, "reduceOp", options)


def _root(options: Any) -> int:
    """What BroadcastOptions and the like ask for, or a rank itself; 0 by default."""
    return int(getattr(options, "rootRank", options) or 0)


class GroupMethods:
    """What a ProcessGroup does."""

    def allreduce(self: Any, tensors: Any, opts: Any = None) -> Any:
        """all_reduce of one tensor. opts: AllreduceOptions or an operation."""
        from rushlight.distributed.communication import collectives  # which is written for groups

        return collectives.all_reduce(_only(tensors), _op(opts), self, True)

    def allreduce_coalesced(self: Any, tensors: Sequence[Tensor], opts: Any = None) -> Any:
        """all_reduce of several tensors at once."""
        from rushlight.distributed.communication import collectives  # written for groups

        return collectives.all_reduce_coalesced(tensors, _op(opts), self, True)

    def broadcast(self: Any, tensors: Any, opts: Any = None) -> Any:
        """broadcast of one tensor. opts: BroadcastOptions or the rank that has it."""
        from rushlight.distributed.communication import collectives  # written for groups

        return collectives.broadcast(_only(tensors), group=self, async_op=True, group_src=_root(opts))

    def reduce(self: Any, tensors: Any, opts: Any = None, op: Any = None) -> Any:
        """reduce of one tensor. opts: ReduceOptions, or the rank that gets it, with the operation."""
        from rushlight.distributed.communication import collectives  # written for groups

        chosen = _op(opts if hasattr(opts, "reduceOp") else op)
        return collectives.reduce(_only(tensors), op=chosen, group=self, async_op=True, group_dst=_root(opts))

    def allgather(self: Any, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Any:
        """all_gather of one tensor into a list."""
        from rushlight.distributed.communication import collectives  # written for groups

        into = output_tensors[0] if isinstance(input_tensors, (list, tuple)) else output_tensors
        return collectives.all_gather(into, _only(input_tensors), self, True)

    def _allgather_base(self: Any, output: Tensor, input: Tensor, opts: Any = None) -> Any:
        from rushlight.distributed.communication import collectives  # written for groups

        return collectives.all_gather_into_tensor(output, input, self, True)

    def gather(self: Any, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Any:
        """gather of one tensor into a list, which ranks other than the root leave empty."""
        from rushlight.distributed.communication import exchanges  # written for groups

        listed = isinstance(input_tensors, (list, tuple))
        into = (output_tensors[0] if listed and output_tensors else output_tensors) or None
        return exchanges.gather(_only(input_tensors), into, group=self, async_op=True, group_dst=_root(opts))

    def scatter(self: Any, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Any:
        """scatter of a list, which ranks other than the root leave empty, into one tensor."""
        from rushlight.distributed.communication import exchanges  # written for groups

        listed = isinstance(output_tensors, (list, tuple))
        given = (input_tensors[0] if listed and input_tensors else input_tensors) or None
        return exchanges.scatter(
            _only(output_tensors), given, group=self, async_op=True, group_src=_root(opts)
        )

    def reduce_scatter(self: Any, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Any:
        """reduce_scatter of a list into one tensor."""
        from rushlight.distributed.communication import collectives  # written for groups

        given = input_tensors[0] if isinstance(output_tensors, (list, tuple)) else input_tensors
        return collectives.reduce_scatter(_only(output_tensors), given, _op(opts), self, True)

    def _reduce_scatter_base(self: Any, output: Tensor, input: Tensor, opts: Any = None) -> Any:
        from rushlight.distributed.communication import collectives  # written for groups

        return collectives.reduce_scatter_tensor(output, input, _op(opts), self, True)

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

    def barrier(self: Any, opts: Any = None) -> Any:
        """barrier of the group."""
        from rushlight.distributed.communication import collectives  # written for groups

        return collectives.barrier(self, True)

    def send(self: Any, tensors: Any, dstRank: int, tag: int = 0) -> Any:
        """isend of one tensor to a rank of the group."""
        from rushlight.distributed.communication import transfers  # written for groups

        return transfers.isend(_only(tensors), group=self, tag=tag, group_dst=dstRank)

    def recv(self: Any, tensors: Any, srcRank: int, tag: int = 0) -> Any:
        """irecv of one tensor from a rank of the group."""
        from rushlight.distributed.communication import transfers  # written for groups

        return transfers.irecv(_only(tensors), group=self, tag=tag, group_src=srcRank)

    def _get_backend(self: Any, device: Any) -> Any:
        return self
