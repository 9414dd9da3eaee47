"""Collectives in which ranks give each other, or one of them, something else: gather, scatter, all_to_all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight
from rushlight._engine.tensors.tensor import Tensor
from rushlight.distributed.communication.asked import asked
from rushlight.distributed.communication.collectives import (
    check_dtypes,
    check_root,
    check_shapes,
    check_tensor,
    check_tensors,
    exported,
    hand_out,
    joined,
    note,
    recorded,
    root_rank,
)
from rushlight.distributed.communication.operation_queue import Steps
from rushlight.distributed.communication.reductions import Buffer, check_moved
from rushlight.distributed.communication.work import Work
from rushlight.distributed.groups import ProcessGroup, default_group, member


def check_list(given: Any, is_root: bool, name: str, role: str) -> None:
    """ValueError where the root has no list, or another rank has one."""
    if is_root and not given:
        raise ValueError(f"Argument ``{name}`` must be specified on {role} rank.")
    if given and not is_root:
        raise ValueError(f"Argument ``{name}`` must NOT be specified on non-{role} ranks.")


def _check_count(name: str, tensors: Sequence[Tensor], ranks: int) -> None:
    if len(tensors) != ranks:
        raise RuntimeError(
            f"ProcessGroupGloo::{name}: Incorrect tensor list size {len(tensors)}. List size "
            f"should be {ranks}, same as size of the process group."
        )


def _rooted(
    name: str,
    tensor: Tensor,
    given: list[Tensor] | None,
    rank: int | None,
    group: ProcessGroup | None,
    group_rank: int | None,
    async_op: bool,
    steps: Callable[..., Steps],
) -> Work | None:
    """gather or scatter: each rank's tensor and the root's list; steps(group, root, list) tells how."""
    tensors = given or []
    check_tensor(tensor, "tensor")
    check_tensors(tensors, f"{name}_list")
    check_dtypes(tensor, *tensors)
    group = default_group(group)
    root = root_rank(group, rank, group_rank, 0)
    if member(group, name) is None:
        return None
    check_list(tensors, group.rank() == root, f"{name}_list", "destination" if name == "gather" else "source")
    check_root(group, name, root)
    by = group.served_by(tensor)
    if by is None:
        check_moved(tensor)
    if group.rank() == root:
        _check_count(name, tensors, group.size())
        check_shapes(name, tensors, tensor)
    if by is not None:
        parts, whole = dict(enumerate(tensors)), {root: tensor}
        sent, taken = (whole, parts) if name == "gather" else (parts, whole)
        return by.exchange(name, sent, taken, tensors if name == "gather" else [tensor], async_op)
    written = tensors if name == "gather" else [tensor]
    return group.begin(name, steps(group, root, tensors), note(tensor), written, async_op)


@asked
def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The rank dst's (0's by default) gather_list[r] becomes the rank r's `tensor`; others give no list."""

    def steps(group: ProcessGroup, root: int, outputs: list[Tensor]) -> Steps:
        whole = rushlight.empty(sum(t.numel() for t in outputs), dtype=tensor.dtype, device="cpu")
        into: Any = Buffer(whole).array if outputs else None
        yield group.wire.gather(Buffer(tensor).array, into, root)
        hand_out(whole, outputs)

    return _rooted("gather", tensor, gather_list, dst, group, group_dst, async_op, steps)


def gather_single(
    tensor: Tensor,
    gather_tensor: Tensor | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The rank dst's (0's by default) gather_tensor, contiguous, becomes all ranks' tensors one after the
    other; others' is not looked at. ValueError where the rank dst has none, or one of another size.
    """
    default = default_group(group)
    parts = None
    if member(default, "gather_single") is not None and default.rank() == root_rank(
        default, dst, group_dst, 0
    ):
        if gather_tensor is None:
            raise ValueError("gather_tensor must be specified on the destination rank")
        check_tensor(gather_tensor, "gather_tensor")
        if gather_tensor.numel() != tensor.numel() * default.size():
            raise ValueError(
                f"gather_tensor has {gather_tensor.numel()} elements, but {default.size()} ranks with "
                f"{tensor.numel()} each need {tensor.numel() * default.size()}"
            )
        parts = list(gather_tensor.detach().view(default.size(), *tensor.shape).unbind())
    return gather(tensor, parts, dst, group, async_op, group_dst)


gather_into_tensor = gather_single


@asked
def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """`tensor` becomes number `rank` of the rank src's (0's by default) scatter_list; others give no list."""

    def steps(group: ProcessGroup, root: int, inputs: list[Tensor]) -> Steps:
        buffer = Buffer(tensor, load=False)
        source: Any = Buffer(joined(inputs)).array if inputs else None
        yield group.wire.scatter(source, buffer.array, root)
        buffer.store()

    return _rooted("scatter", tensor, scatter_list, src, group, group_src, async_op, steps)


@asked
def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """output_tensor_list[r] becomes number `rank` of the rank r's input_tensor_list; sizes may differ."""
    if (group := member(group, "all_to_all")) is None:
        return None
    check_tensors(output_tensor_list, "output_tensor_list")
    check_tensors(input_tensor_list, "input_tensor_list")
    check_dtypes(*output_tensor_list, *input_tensor_list)
    by = group.served_by(*input_tensor_list)
    if by is None:
        check_moved(*input_tensor_list)
    _check_count("alltoall", output_tensor_list, group.size())
    _check_count("alltoall", input_tensor_list, group.size())
    if by is not None:
        given, taken = dict(enumerate(input_tensor_list)), dict(enumerate(output_tensor_list))
        return by.exchange("all_to_all", given, taken, output_tensor_list, async_op)

    def steps() -> Steps:
        received = [t.numel() for t in output_tensor_list]
        whole = rushlight.empty(sum(received), dtype=output_tensor_list[0].dtype, device="cpu")
        yield group.wire.alltoall(
            Buffer(joined(input_tensor_list)).array,
            Buffer(whole).array,
            [t.numel() for t in input_tensor_list],
            received,
        )
        hand_out(whole, output_tensor_list)

    return group.begin("all_to_all", steps(), note(*input_tensor_list), output_tensor_list, async_op)


@asked
def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Part r of `input` (split in its first dim, evenly by default) goes to rank r, whose part comes back."""
    if (group := member(group, "all_to_all_single")) is None:
        return None
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_dtypes(output, input)
    if recorded():
        return exported(
            "all_to_all_single", output, input, output_split_sizes, input_split_sizes, group, async_op
        )
    if not (output.is_contiguous() and input.is_contiguous()):
        raise ValueError("Tensors must be contiguous")
    by = group.served_by(input)
    if by is None:
        check_moved(input)
    if group.foreign is not None:
        return group.foreign.all_to_all_single(
            output, input, output_split_sizes or (), input_split_sizes or (), async_op
        )
    received = _parts(output, output_split_sizes, group.size())
    sent = _parts(input, input_split_sizes, group.size())
    if by is not None:
        given, taken = (
            dict(enumerate(t.detach().reshape(-1).split(sizes)))
            for t, sizes in ((input, sent), (output, received))
        )
        return by.exchange("all_to_all_single", given, taken, [output], async_op)

    def steps() -> Steps:
        yield group.wire.alltoall(Buffer(input).array, Buffer(output).array, sent, received)

    return group.begin("all_to_all_single", steps(), note(input), [output], async_op)


def _parts(tensor: Tensor, splits: Sequence[int] | None, ranks: int) -> list[int]:
    """Elements of each part."""
    if not splits:
        if tensor.dim() and tensor.shape[0] % ranks:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        return [tensor.numel() // ranks] * ranks
    if len(splits) != ranks:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(splits) != tensor.shape[0]:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    row = tensor[0].numel() if tensor.shape[0] else 0
    return [n * row for n in splits]
