"""Collectives in which each rank has several tensors, as a process group's methods take them; sparse sums."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import rushlight
from rushlight._engine.tensors.tensor import Tensor
from rushlight.distributed.communication.collectives import check_shapes, hand_out, joined, note
from rushlight.distributed.communication.objects import gathered
from rushlight.distributed.communication.operation_queue import Steps
from rushlight.distributed.communication.reductions import Buffer, RedOpType, all_reduced, check_op
from rushlight.distributed.communication.work import Work

_COMBINED: dict[RedOpType, Callable[[Any, Any], Any]] = {
    RedOpType.SUM: operator.add,
    RedOpType.AVG: operator.add,
    RedOpType.PRODUCT: operator.mul,
    RedOpType.MIN: rushlight.minimum,
    RedOpType.MAX: rushlight.maximum,
    RedOpType.BAND: operator.and_,
    RedOpType.BOR: operator.or_,
    RedOpType.BXOR: operator.xor,
}
_LAYOUTS = {rushlight.strided: "Strided", rushlight.sparse_coo: "Sparse"}


def check_alike(name: str, tensors: Sequence[Tensor]) -> None:
    """RuntimeError for tensors of several layouts, dtypes or shapes, and for none."""
    if not tensors:
        raise RuntimeError(f"ProcessGroupGloo::{name}: requires non-empty tensor list")
    first, *rest = tensors
    check_layouts(name, rest, first)
    check_shapes(name, rest, first)


def check_layouts(name: str, tensors: Sequence[Tensor], like: Tensor) -> None:
    """RuntimeError for tensors of another layout than `like`'s."""
    for at, tensor in enumerate(tensors):
        if tensor.layout != like.layout:
            expected, got = (_LAYOUTS.get(t.layout, str(t.layout)) for t in (like, tensor))
            raise RuntimeError(
                f"ProcessGroupGloo::{name}: invalid tensor layout at index {at} (expected {expected}, "
                f"got {got})"
            )


def all_reduce(group: Any, tensors: list[Tensor], op: Any) -> Work | None:
    """Each tensor becomes the reduction of all tensors of all ranks."""
    first = tensors[0]
    if first.layout == rushlight.sparse_coo:
        return sum_sparse(group, tensors, op)
    op = check_op("all_reduce", first.dtype, op)

    def steps() -> Steps:
        total = tensors[0].detach().clone()
        for tensor in tensors[1:]:
            total = _COMBINED[op](total, tensor.detach())
        buffer = Buffer(total)
        yield from all_reduced(group.wire, buffer.array, op)
        buffer.store()
        for tensor in tensors:
            tensor.detach().copy_(total)

    return _begun(group, "all_reduce", steps(), first, tensors)


def all_reduce_each(group: Any, tensors: list[Tensor], op: Any, begin: Callable[..., Any]) -> Any:
    """all_reduce of several tensors at once. RuntimeError for what gloo does not take together."""
    name = "ProcessGroupGloo::allreduce_coalesced"
    if not tensors:
        raise RuntimeError(f"{name}: requires non-empty tensor list")
    if any(t.dtype != tensors[0].dtype for t in tensors if t.layout == tensors[0].layout):
        raise RuntimeError(f"{name}: tensors must all have the same type")
    check_layouts("allreduce_coalesced", tensors, tensors[0])
    if tensors[0].layout != rushlight.strided:
        raise RuntimeError(f"{name}: unsupported layout")
    return begin(tensors, op, group, True)


def sum_sparse(group: Any, tensors: list[Tensor], op: Any, async_op: bool = True) -> Work | None:
    """Each sparse tensor becomes the sum of all tensors of all ranks. RuntimeError for other operations."""
    if op != RedOpType.SUM:
        raise RuntimeError(
            "ProcessGroupGloo::allreduce: unsupported reduction operation (allreduce of sparse tensors only "
            "works with ReduceOp.SUM)"
        )

    def steps() -> Steps:
        with rushlight.no_grad():
            own = _total(tensors)
        found: list[Any] = []
        yield from gathered(group.wire, (own.indices().numpy(), own.values()), found, None)
        parts = [
            rushlight.sparse_coo_tensor(rushlight.from_numpy(indices), values, own.shape)
            for indices, values in found
        ]
        with rushlight.no_grad():
            total = _total(parts)
            for tensor in tensors:
                tensor.copy_(total)

    begun: Work | None = group.begin("all_reduce", steps(), note(tensors[0]), tensors, async_op)
    return begun


def _total(tensors: Sequence[Tensor]) -> Tensor:
    total = tensors[0]
    for tensor in tensors[1:]:
        total = total + tensor
    return total.coalesce()


def broadcast(group: Any, tensors: list[Tensor], root: int, which: int) -> Work:
    """Every tensor becomes the root's number `which`."""

    def steps() -> Steps:
        own = tensors[which]
        buffer = Buffer(own, load=group.rank() == root)
        yield group.wire.broadcast(buffer.array, root)
        if group.rank() != root:
            buffer.store()
        for tensor in tensors:
            if tensor is not own:
                tensor.detach().copy_(own.detach())

    return _begun(group, "broadcast", steps(), tensors[0], tensors)


def all_gather(group: Any, outputs: list[list[Tensor]], inputs: list[Tensor]) -> Work:
    """Each list becomes all ranks' inputs, rank by rank."""
    for listed in outputs:
        if len(listed) != len(inputs) * group.size():
            raise RuntimeError(
                "ProcessGroupGloo::allgather: invalid output tensor list at index 0 (expected length "
                f"{len(inputs) * group.size()}, got {len(listed)})"
            )
        check_shapes("allgather", listed, inputs[0])

    def steps() -> Steps:
        own = joined(inputs)
        whole = rushlight.empty(group.size() * own.numel(), dtype=own.dtype, device="cpu")
        yield group.wire.allgather(Buffer(own).array, Buffer(whole).array)
        for listed in outputs:
            hand_out(whole, listed)

    return _begun(group, "all_gather", steps(), inputs[0], outputs)


def _begun(group: Any, name: str, steps: Steps, like: Tensor, result: list[Any]) -> Work:
    work: Work = group.begin(name, steps, note(like), result, True)
    return work
