"""Sending a tensor from one rank to another. Any dtype; tensors are contiguous.

A transfer is moved on while this process waits for it or for another operation: one that is large should be
waited for soon after it was begun.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight._engine.tensors.tensor import Tensor
from rushlight.distributed.communication.asked import asked
from rushlight.distributed.communication.collectives import check_tensor, note
from rushlight.distributed.communication.operation_queue import Operation, Steps
from rushlight.distributed.communication.reductions import Buffer
from rushlight.distributed.communication.wire import ANYBODY, Found
from rushlight.distributed.communication.work import Work
from rushlight.distributed.groups import ProcessGroup, default_group, get_global_rank, get_group_rank, member


def _peer(group: ProcessGroup, rank: int | None, group_rank: int | None, kind: str) -> int:
    if group_rank is not None and rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    if group_rank is None and rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    peer = group_rank if rank is None else get_group_rank(group, rank)
    if peer == group.rank():
        raise ValueError(
            f"Invalid {kind} rank: {kind} rank should not be the same as the rank of the current process."
        )
    if peer is None or not 0 <= peer < group.size():
        raise ValueError(f"Invalid {kind} rank: {peer} does not lie in a group of {group.size()} ranks")
    return peer


def _begin(name: str, tensor: Tensor, group: ProcessGroup, peer: int, tag: int) -> Operation:
    if not tensor.is_contiguous():
        raise RuntimeError("input tensor has to be contiguous")
    buffer = Buffer(tensor)

    def steps() -> Steps:
        if name.endswith("send"):
            yield group.wire.send(buffer.array, peer, tag)
        else:
            yield group.wire.receive(buffer.array, peer, tag)

    shown = name[1:] if peer != ANYBODY else "recvAnySource"
    told = group.profiled(shown, note(tensor))
    begun = group.transfers.submit(name, steps(), note(tensor), True, None, told)
    begun.ranks = [] if peer == ANYBODY else [group.ranks[peer]]
    return begun


@asked
def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Begin to send to a rank (of the world, or group_dst of the group)."""
    check_tensor(tensor, "tensor")
    if (group := member(group, "isend")) is None:
        return None
    peer = _peer(group, dst, group_dst, "destination")
    if (by := group.served_by(tensor)) is not None:
        return by.transfer("isend", tensor, peer, tag)
    return Work(_begin("isend", tensor, group, peer, tag), [tensor])


@asked
def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Begin to receive into `tensor`, from a rank or, where none is given, from anybody."""
    check_tensor(tensor, "tensor")
    if (group := member(group, "irecv")) is None:
        return None
    anybody = src is None and group_src is None
    peer = ANYBODY if anybody else _peer(group, src, group_src, "source")
    if (by := group.served_by(tensor)) is not None:
        if anybody and group.nccl is not None:
            raise RuntimeError("Backend nccl does not support recvAnysource")
        return by.transfer("irecv", tensor, peer, tag)
    return Work(_begin("irecv", tensor, group, peer, tag), [tensor])


@asked
def send(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> None:
    """Send to a rank and wait until `tensor` may be written again."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


@asked
def recv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> int:
    """Receive into `tensor`; the sender's rank in the world, -1 outside the group."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    group = default_group(group)
    operation = getattr(work, "_operation", None)  # NCCL's has none
    request = None if operation is None else operation.request
    if isinstance(request, Found):
        return get_global_rank(group, request.source)
    return src if src is not None else get_global_rank(group, group_src or 0)


class P2POp:
    """A transfer for batch_isend_irecv. op: isend or irecv; peer: a rank of the world, or group_peer."""

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.group, self.tag = op, tensor, default_group(group), tag
        self.group_peer = _peer(self.group, peer, group_peer, "peer")
        self.peer = get_global_rank(self.group, self.group_peer)


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Begin all the transfers; their Works. ValueError for what are no P2POps of one group."""
    if not isinstance(p2p_op_list, list) or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``."
        )
    if any(op.group is not p2p_op_list[0].group for op in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    group = p2p_op_list[0].group
    if (by := group.served_by(*[op.tensor for op in p2p_op_list])) is not None:
        with by.batch(by.device(p2p_op_list[0].tensor.device.index), True, False) as works:
            for op in p2p_op_list:
                op.op(op.tensor, None, group, op.tag, op.group_peer)
        return works
    return [op.op(op.tensor, None, group, op.tag, op.group_peer) for op in p2p_op_list]
