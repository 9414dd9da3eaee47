"""Collectives on tensors: every rank of the group calls the same function, in the same order.

Each takes `group` (that of all ranks by default) and `async_op`: with it a Work is returned, whose wait()
must come before the results are read; without it None, when the results are there. A rank outside the group
gets a warning. Tensors may have any strides; collectives take float16, bfloat16, float32, float64, int8,
uint8, int32, int64, bool and complex tensors, and raise RuntimeError ("Invalid scalar type") for others.
RankFailure when a rank has failed, DistBackendError when the group's timeout is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import rushlight
from rushlight._engine.core.recording import TAPE
from rushlight._engine.tensors.tensor import Tensor
from rushlight.distributed.communication.asked import asked
from rushlight.distributed.communication.operation_queue import Steps
from rushlight.distributed.communication.reductions import (
    Buffer,
    ReduceOp,
    all_reduced,
    as_numbers,
    check_moved,
    check_op,
    divide,
    is_half,
    scattered,
)
from rushlight.distributed.communication.work import Future, Work
from rushlight.distributed.errors import DistBackendError, RankFailure
from rushlight.distributed.groups import ProcessGroup, checked_timeout, default_group, get_group_rank, member

# --- what is checked -----------------------------------------------------------------------------


def recorded() -> bool:
    """Whether torch.export records the program, which tells collectives as ops."""
    return bool(TAPE) and hasattr(TAPE[-1], "exports")


def exported(name: str, *args: Any) -> Work | None:
    """A collective of these arguments, told as ops."""
    from rushlight.distributed.communication import exported as told  # few programs need it

    done: Work | None = getattr(told, name)(*args)
    return done


def check_tensor(value: Any, name: str) -> None:
    """TypeError for what is no tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )


def check_tensors(value: Any, name: str) -> None:
    """TypeError for what is no list of tensors."""
    if not isinstance(value, list):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(value)} instead."
        )
    if not all(isinstance(item, Tensor) for item in value):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(value)} with elements of type {[type(item) for item in value]}."
        )


def check_dtypes(*tensors: Tensor) -> None:
    """ValueError for tensors of different dtypes; a complex one may stand beside its real ones."""
    kinds = [t.dtype.to_real() if t.dtype.is_complex else t.dtype for t in tensors]
    for kind, tensor in zip(kinds, tensors):
        if kind != kinds[0]:
            raise ValueError(
                f"Invalid usage of tensors with different dtypesFound {kinds[0]} and  {tensor.dtype}"
            )


def root_rank(
    group: ProcessGroup, rank: int | None, group_rank: int | None, default: int | None = None
) -> int:
    """The rank in the group that either kind of rank means; ValueError for both, and for none."""
    if rank is None and group_rank is None:
        rank = default
    if group_rank is not None and rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    if group_rank is not None:
        return group_rank
    if rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    return get_group_rank(group, rank)


def check_root(group: ProcessGroup, name: str, root: int) -> None:
    """RuntimeError for a root that the group has not."""
    if not 0 <= root < group.size():
        raise RuntimeError(f"ProcessGroupGloo::{name}: invalid root rank: {root}")


def _shape(tensor: Tensor) -> str:
    return f"({', '.join(map(str, tensor.shape))})"


def check_shapes(name: str, tensors: Sequence[Tensor], like: Tensor) -> None:
    """RuntimeError for tensors whose shape or dtype is not `like`'s."""
    for at, tensor in enumerate(tensors):
        if tensor.dtype != like.dtype:
            raise RuntimeError(
                f"ProcessGroupGloo::{name}: invalid tensor type at index {at} (expected "
                f"{like.dtype}, got {tensor.dtype})"
            )
        if tensor.shape != like.shape:
            raise RuntimeError(
                f"ProcessGroupGloo::{name}: invalid tensor size at index {at} (expected "
                f"{_shape(like)}, got {_shape(tensor)})"
            )


class Note:
    """What messages and profilers say of an operation on these tensors."""

    def __init__(self, *tensors: Tensor) -> None:
        self.tensors = tensors

    def __call__(self) -> str:
        """Dtype and sizes of the first."""
        return " ".join(f"{str(t.dtype).rpartition('.')[2]}{tuple(t.shape)}" for t in self.tensors[:1])

    def shapes(self) -> list[list[int]]:
        """The sizes of all of them; a complex number travels as two."""
        return [[*t.shape, *([2] * t.is_complex())] for t in self.tensors]


def note(*tensors: Tensor) -> Note:
    """A Note of these tensors."""
    return Note(*tensors)


def joined(tensors: Sequence[Tensor]) -> Tensor:
    """All elements of the tensors, one after the other."""
    return rushlight.cat([t.detach().reshape(-1) for t in tensors]).cpu()


def hand_out(whole: Tensor, tensors: Sequence[Tensor]) -> None:
    """Put the elements of `whole` into the tensors, one after the other."""
    for tensor, part in zip(tensors, whole.split([t.numel() for t in tensors])):
        tensor.detach().copy_(part.reshape(tensor.shape))


# --- reductions ----------------------------------------------------------------------------------


@asked
def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """`tensor` becomes, on all ranks, the reduction of all ranks' tensors."""
    check_tensor(tensor, "tensor")
    if (group := member(group, "all_reduce")) is None:
        return None
    if recorded():
        return exported("all_reduce", tensor, op, group, async_op)
    if group.coalesced is not None:
        group.coalesced.append((all_reduce, (tensor,), op))
        return None
    if (by := group.served_by(tensor)) is not None:
        return by.all_reduce(tensor, op, async_op)
    if tensor.layout == rushlight.sparse_coo:
        from rushlight.distributed.communication import several  # it imports this file

        return several.sum_sparse(group, [tensor], op, async_op)
    op = check_op("all_reduce", tensor.dtype, op)

    def steps() -> Steps:
        buffer = Buffer(tensor)
        yield from all_reduced(group.wire, buffer.array, op)
        buffer.store()

    return group.begin("all_reduce", steps(), note(tensor), [tensor], async_op)


@asked
def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The rank dst's `tensor` becomes the reduction of all ranks' tensors; those of others stay."""
    group = default_group(group)
    root = root_rank(group, dst, group_dst)
    check_tensor(tensor, "tensor")
    if member(group, "reduce") is None:
        return None
    if (by := group.served_by(tensor)) is not None:
        check_root(group, "reduce", root)
        return by.reduce(tensor, op, root, async_op)
    op = check_op("reduce", tensor.dtype, op)
    check_root(group, "reduce", root)

    def steps() -> Steps:
        buffer, wire = Buffer(tensor), group.wire
        if is_half(buffer.array):
            copy = buffer.array.copy()
            yield from all_reduced(wire, copy, op)
            if wire.rank == root:
                buffer.array[:] = copy
        else:
            yield wire.reduce(*as_numbers(buffer.array, op), root)
            if wire.rank == root:
                divide(buffer.array, op, wire.terms)
        if wire.rank == root:
            buffer.store()

    return group.begin("reduce", steps(), note(tensor), [tensor], async_op)


@asked
def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """`output` becomes the reduction of all ranks' tensor number `rank` of input_list; sizes may differ."""
    check_tensor(output, "output")
    check_tensors(input_list, "input_list")
    check_dtypes(output, *input_list)
    if (group := member(group, "reduce_scatter")) is None:
        return None
    by = group.served_by(output)
    op = check_op("reduce_scatter", output.dtype, op) if by is None else op
    if len(input_list) != group.size():
        raise RuntimeError(
            f"reduce_scatter: expected {group.size()} input tensors, one for each rank, got {len(input_list)}"
        )
    if output.numel() != (count := input_list[group.rank()].numel()):
        raise RuntimeError(
            f"reduce_scatter: output has {output.numel()} elements, but this rank's tensor in "
            f"input_list {count}"
        )
    if by is not None:
        return by.reduce_scatter(output, input_list, op, async_op)

    def steps() -> Steps:
        source, counts = joined(input_list), [t.numel() for t in input_list]
        buffer = Buffer(output, load=False)
        yield from scattered(group.wire, Buffer(source).array, buffer.array, counts, op)
        buffer.store()

    return group.begin("reduce_scatter", steps(), note(output), [output], async_op)


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """`output` (n, ...) becomes part `rank` of the reduction of all ranks' `input` (world * n, ...)."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    if (group := member(group, "reduce_scatter_tensor")) is None:
        return None
    if recorded():
        return exported("reduce_scatter_tensor", output, input, op, group, async_op)
    if group.coalesced is not None:
        group.coalesced.append((reduce_scatter_tensor, (output, input), op))
        return None
    if (by := group.served_by(output)) is not None:
        return by.reduce_scatter_tensor(output, input, op, async_op)
    op = check_op("reduce_scatter_tensor", output.dtype, op)
    if output.dtype != input.dtype:
        raise RuntimeError(f"reduce_scatter_tensor: output is {output.dtype}, but input {input.dtype}")
    if (
        output.dim() == 0
        or input.dim() == 0
        or input.numel() != output.numel() * group.size()
        or output.shape[0] * group.size() != input.shape[0]
    ):
        raise RuntimeError(
            "reduce_scatter_tensor: Check failed: outputShape[0] * worldSize == inputShape[0] "
            f"(output {_shape(output)}, input {_shape(input)}, world size {group.size()})"
        )

    def steps() -> Steps:
        buffer = Buffer(output, load=False)
        counts = [output.numel()] * group.size()
        yield from scattered(group.wire, Buffer(input).array, buffer.array, counts, op)
        buffer.store()

    return group.begin("reduce_scatter_tensor", steps(), note(input), [output], async_op)


def _future(work: Work | None) -> Future | None:
    return None if work is None else work.get_future()


@asked
def all_reduce_coalesced(
    tensors: Any, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Future | None:
    """all_reduce of several tensors of one dtype, as one operation; with async_op its Future."""
    return _future(begin_all_reduce_coalesced(tensors, op, group, async_op))


def begin_all_reduce_coalesced(
    tensors: Any, op: Any, group: ProcessGroup | None, async_op: bool
) -> Work | None:
    """The same, with its Work."""
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    check_tensors(tensors, "tensor")
    check_dtypes(*tensors)
    if (group := member(group, "all_reduce_coalesced")) is None:
        return None
    if (by := group.served_by(*tensors)) is not None:
        return by.all_reduce_coalesced(tensors, op, async_op)
    op = check_op("all_reduce", tensors[0].dtype, op)

    def steps() -> Steps:
        whole = joined(tensors)
        yield from all_reduced(group.wire, Buffer(whole).array, op)
        hand_out(whole, tensors)

    return group.begin("all_reduce_coalesced", steps(), note(*tensors), tensors, async_op)


# --- moving --------------------------------------------------------------------------------------


@asked
def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """`tensor` becomes the rank src's on all ranks."""
    group = default_group(group)
    root = root_rank(group, src, group_src)
    check_tensor(tensor, "tensor")
    if member(group, "broadcast") is None:
        return None
    if recorded():
        return exported("broadcast", tensor, group.ranks[root], group, async_op)
    check_root(group, "broadcast", root)
    if (by := group.served_by(tensor)) is not None:
        return by.broadcast(tensor, root, async_op)
    check_moved(tensor)

    def steps() -> Steps:
        buffer = Buffer(tensor, load=group.rank() == root)
        yield group.wire.broadcast(buffer.array, root)
        if group.rank() != root:
            buffer.store()

    return group.begin("broadcast", steps(), note(tensor), [tensor], async_op)


def _check_outputs(outputs: Sequence[Tensor], like: Tensor, ranks: int) -> None:
    if len(outputs) != ranks and all(output.shape == like.shape for output in outputs):
        raise RuntimeError(
            "ProcessGroupGloo::allgather: invalid output tensor list at index 0 (expected "
            f"length {ranks}, got {len(outputs)})"
        )
    check_shapes("allgather", outputs, like)


@asked
def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """tensor_list[r] becomes the rank r's `tensor`; all of one shape."""
    check_tensors(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    check_dtypes(*tensor_list, tensor)
    if (group := member(group, "all_gather")) is None:
        return None
    if recorded():
        return exported("all_gather", tensor_list, tensor, group, async_op)
    if (by := group.served_by(tensor)) is not None:
        if len(tensor_list) != group.size():
            raise ValueError("Tensor list input to all_gather must match number of ranks")
        return by.all_gather(tensor_list, tensor, async_op)
    check_moved(tensor)
    _check_outputs(tensor_list, tensor, group.size())

    def steps() -> Steps:
        whole = rushlight.empty(group.size() * tensor.numel(), dtype=tensor.dtype, device="cpu")
        yield group.wire.allgather(Buffer(tensor).array, Buffer(whole).array)
        hand_out(whole, tensor_list)

    return group.begin("all_gather", steps(), note(tensor), tensor_list, async_op)


@asked
def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]],
    input_tensor_list: list[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Future | None:
    """output_tensor_lists[r][i] becomes the rank r's input_tensor_list[i], as one operation. All are of one
    dtype; the i-th ones have one shape. With async_op its Future.
    """
    return _future(begin_all_gather_coalesced(output_tensor_lists, input_tensor_list, group, async_op))


def begin_all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]],
    input_tensor_list: list[Tensor],
    group: ProcessGroup | None,
    async_op: bool,
) -> Work | None:
    """The same, with its Work."""
    if (group := member(group, "all_gather_coalesced")) is None:
        return None
    check_tensors(input_tensor_list, "input_tensor_list")
    check_dtypes(*input_tensor_list)
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    name = "ProcessGroupGloo::allgather_coalesced"
    for outputs in output_tensor_lists:
        check_tensors(outputs, "output_tensor_lists")
    if len(output_tensor_lists) != group.size():
        raise RuntimeError(f"{name}: output lists should be equal to world size")
    for outputs in output_tensor_lists:
        if len(outputs) != len(input_tensor_list):
            raise RuntimeError(
                f"{name}: invalid output size: (expected length {len(input_tensor_list)}, got {len(outputs)})"
            )
        for at, (output, tensor) in enumerate(zip(outputs, input_tensor_list, strict=True)):
            if output.shape != tensor.shape:
                raise RuntimeError(
                    f"{name}: invalid size of output tensor at index {at} (expected length "
                    f"{_shape(tensor)}, got {_shape(output)})"
                )
            if output.dtype != tensor.dtype:
                raise RuntimeError(
                    f"{name}: invalid tensor type at index {at} (expected {tensor.type()}, got "
                    f"{output.type()})"
                )
    if group.served_by(*input_tensor_list) is not None:
        raise RuntimeError(f"Backend {group.name()} does not support allgather_coalesced")
    check_moved(*input_tensor_list)
    given = [t for outputs in output_tensor_lists for t in outputs]

    def steps() -> Steps:
        own = joined(input_tensor_list)
        whole = rushlight.empty(group.size() * own.numel(), dtype=own.dtype, device="cpu")
        yield group.wire.allgather(Buffer(own).array, Buffer(whole).array)
        hand_out(whole, given)

    return group.begin("all_gather_coalesced", steps(), note(*input_tensor_list), given, async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """`output_tensor` (world * n, ...) becomes all ranks' `input_tensor` (n, ...), one after the other."""
    check_tensor(input_tensor, "input_tensor")
    check_tensor(output_tensor, "output_tensor")
    if (group := member(group, "all_gather_into_tensor")) is None:
        return None
    if recorded():
        return exported("all_gather_into_tensor", output_tensor, input_tensor, group, async_op)
    if group.coalesced is not None:
        group.coalesced.append((all_gather_into_tensor, (output_tensor, input_tensor), None))
        return None
    if (by := group.served_by(input_tensor)) is not None:
        return by.all_gather_into_tensor(output_tensor, input_tensor, async_op)
    check_moved(input_tensor)
    _check_outputs(list(output_tensor.detach().chunk(group.size())), input_tensor, group.size())

    def steps() -> Steps:
        buffer = Buffer(output_tensor, load=False)
        yield group.wire.allgather(Buffer(input_tensor).array, buffer.array)
        buffer.store()

    return group.begin("all_gather_into_tensor", steps(), note(input_tensor), [output_tensor], async_op)


# Names that PyTorch had before, and has since.
_all_gather_base = all_gather_into_tensor
_reduce_scatter_base = reduce_scatter_tensor
all_gather_single = asked(all_gather_into_tensor, "all_gather_single")
reduce_scatter_single = asked(reduce_scatter_tensor, "reduce_scatter_single")


def barrier(
    group: ProcessGroup | None = None,
    async_op: bool = False,
    device_ids: Any = None,
    timeout: timedelta | None = None,
) -> Work | None:
    """Wait until all ranks have come here."""
    if (group := member(group, "barrier")) is None:
        return None
    if (by := group.nccl or group.foreign) is not None:
        return by.barrier(device_ids, async_op, timeout)
    return group.begin("barrier", iter([group.wire.barrier()]), lambda: "", [], async_op, timeout)


def monitored_barrier(
    group: ProcessGroup | None = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """barrier() whose error, when the timeout is over, says which ranks have not come."""
    if (group := member(group, "monitored_barrier")) is None:
        return
    if group.foreign is not None or (group.nccl is not None and not group.mixed):
        raise ValueError("monitored_barrier is only implemented for GLOO backend.")
    limit = group.timeout if timeout is None else checked_timeout(timeout)
    try:
        group.begin("barrier", iter([group.wire.barrier()]), lambda: "", [], False, limit)
    except RankFailure:
        raise
    except DistBackendError as error:
        places, here = group.queue.watch.places(), f" barrier #{group.queue.number}"
        missing = [str(rank) for rank in group.ranks if here not in places.get(rank, "")]
        raise DistBackendError(
            f"Rank {', '.join(missing)} failed to pass monitoredBarrier in "
            f"{limit.total_seconds() * 1000:.0f} ms\n{error}"
        ) from None
