"""Collectives that give their result as a new tensor, and that gradients flow through.

Here a collective is done when it returns; `wait_tensor` gives what it gets. A group is a process group, its
name, a mesh of one dim, a mesh with the number of a dim, or a list of ranks. On the meta device only shapes
come.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.tensors.tensor import Tensor
from rushlight.autograd import Function
from rushlight.distributed.communication.heard import FUNCTIONAL, Inside
from rushlight.distributed.device_mesh import DeviceMesh
from rushlight.distributed.groups import ProcessGroup, new_group, world


def wait_tensor(tensor: Any) -> Any:
    """The tensor."""
    return tensor


def _resolved(group: Any) -> ProcessGroup:
    """The process group that an argument names. ValueError for what names none."""
    if isinstance(group, ProcessGroup):
        return group
    if isinstance(group, str) and group in world.groups:
        return world.groups[group]
    if isinstance(group, DeviceMesh):
        if group.ndim != 1:
            raise AssertionError("Only 1D mesh is supported, pass in (DeviceMesh, int) together if mesh > 1D")
        found: ProcessGroup = group.get_group()
        return found
    if isinstance(group, tuple) and len(group) == 2 and isinstance(group[0], DeviceMesh):
        of_dim: ProcessGroup = group[0].get_group(group[1])
        return of_dim
    if isinstance(group, list) and group:
        rows = group if isinstance(group[0], list) else [group]
        own = next(row for row in rows if dist.get_rank() in row)
        known = next((g for g in world.groups.values() if g.ranks == own), None)
        made: ProcessGroup = known or new_group(own, use_local_synchronization=True)
        return made
    raise ValueError(f"Unsupported group type: {type(group)}, {group}")


_OPS = ("sum", "avg", "product", "min", "max", "band", "bor", "bxor")


def _op(name: str) -> Any:
    """The reduction of a name such as "sum". RuntimeError for others."""
    if name.lower() not in _OPS:
        raise RuntimeError(f"Unrecognized reduce_op: {name}")
    return getattr(dist.ReduceOp, name.upper())


class _Gathered(Function):
    """all_gather along dim 0; its gradient is reduce_scatter."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: ProcessGroup) -> Tensor:
        ctx.group = group
        shape = (tensor.shape[0] * group.size(), *tensor.shape[1:]) if tensor.ndim else (group.size(),)
        found = tensor.new_empty(shape)
        if not tensor.is_meta:
            rows = tensor.contiguous() if tensor.ndim else tensor.reshape(1)
            with FUNCTIONAL:
                dist.all_gather_into_tensor(found, rows, group)
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _Scattered.apply(grad, "sum", ctx.group), None


class _Scattered(Function):
    """reduce_scatter along dim 0; its gradient, of a sum or a mean, is all_gather."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, op: str, group: ProcessGroup) -> Tensor:
        ctx.op, ctx.group = op, group
        found = tensor.new_empty((tensor.shape[0] // group.size(), *tensor.shape[1:]))
        if not tensor.is_meta:
            with FUNCTIONAL:
                dist.reduce_scatter_tensor(found, tensor.contiguous(), _op(op), group)
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        if ctx.op not in ("sum", "avg"):
            raise RuntimeError(
                f"reduce_scatter_tensor backward only supports 'sum' reduction, got '{ctx.op}'"
            )
        found = _Gathered.apply(grad, ctx.group)
        return (found / ctx.group.size() if ctx.op == "avg" else found), None, None


class _Reduced(Function):
    """all_reduce; its gradient, of a sum, is another."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, op: str, group: ProcessGroup) -> Tensor:
        ctx.op, ctx.group = op, group
        found = tensor.clone()
        if not tensor.is_meta:
            with FUNCTIONAL:
                dist.all_reduce(found, _op(op), group)
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        if ctx.op != "sum":
            raise RuntimeError(f"all_reduce backward only supports 'sum' reduction, got '{ctx.op}'")
        return _Reduced.apply(grad, ctx.op, ctx.group), None, None


class _Exchanged(Function):
    """all_to_all along dim 0; its gradient is the way back."""

    @staticmethod
    def forward(
        ctx: Any, tensor: Tensor, received: list[int] | None, sent: list[int] | None, group: ProcessGroup
    ) -> Tensor:
        ctx.how = sent, received, group
        rows = tensor.shape[0] if received is None else sum(received)
        found = tensor.new_empty((rows, *tensor.shape[1:]))
        if not tensor.is_meta:
            with FUNCTIONAL:
                dist.all_to_all_single(found, tensor.contiguous(), received, sent, group)
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _Exchanged.apply(grad, *ctx.how), None, None, None


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """The reduction ("sum", "avg", "max", ...) of all ranks' tensors."""
    found: Tensor = _Reduced.apply(self, reduceOp.lower(), _resolved(group))
    return found


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """The tensor of the rank `src` of the world."""
    found = self.detach().clone()
    if not self.is_meta:
        with FUNCTIONAL:
            dist.broadcast(found, src, _resolved(group))
    return found


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """All ranks' tensors, one after the other along gather_dim."""
    found: Tensor = _Gathered.apply(self, known := _resolved(group))
    return found if gather_dim == 0 else torch.cat(found.chunk(known.size()), gather_dim)


def reduce_scatter_tensor(self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Tensor:
    """This rank's part, along scatter_dim, of the reduction of all ranks' tensors."""
    known = _resolved(group)
    if self.shape[scatter_dim] % known.size():
        raise AssertionError(
            f"input dimension 0 ({self.shape[0]} must be a multiple of group_size {known.size()})"
        )
    rows = self if scatter_dim == 0 else torch.cat(self.chunk(known.size(), scatter_dim))
    found: Tensor = _Scattered.apply(rows, reduceOp.lower(), known)
    return found


def all_to_all_single(
    self: Tensor,
    output_split_sizes: list[int] | None,
    input_split_sizes: list[int] | None,
    group: Any,
    tag: str = "",
) -> Tensor:
    """Pieces of the first dim, of these sizes or equal ones, to all ranks; what comes from them."""
    for name, sizes in (("output", output_split_sizes), ("input", input_split_sizes)):
        if sizes is not None and not all(isinstance(n, int) for n in sizes):
            raise AssertionError(f"All {name}_split_sizes must be int or SymInt, got {sizes}")
    if (output_split_sizes is None) != (input_split_sizes is None):
        raise AssertionError(
            "output_split_sizes and input_split_sizes must either be specified together or both set to None"
        )
    found: Tensor = _Exchanged.apply(self, output_split_sizes, input_split_sizes, _resolved(group))
    return found


all_gather_tensor_autograd, reduce_scatter_tensor_autograd = all_gather_tensor, reduce_scatter_tensor
all_gather_single = all_gather_single_autograd = all_gather_tensor
reduce_scatter_single = reduce_scatter_single_autograd = reduce_scatter_tensor
all_to_all_single_autograd = all_to_all_single


def all_reduce_coalesced(self: Sequence[Tensor], reduceOp: str, group: Any, tag: str = "") -> list[Tensor]:
    """all_reduce of several tensors."""
    with Inside("c10d_functional", "all_reduce_coalesced"):
        return [all_reduce(t, reduceOp, group) for t in self]


def all_gather_into_tensor_coalesced(self: Sequence[Tensor], group: Any, tag: str = "") -> list[Tensor]:
    """all_gather_tensor of several tensors, along the first dim."""
    with Inside("c10d_functional", "all_gather_into_tensor_coalesced"):
        return [all_gather_tensor(t, 0, group) for t in self]


def reduce_scatter_tensor_coalesced(
    inputs: Sequence[Tensor], reduceOp: str, scatter_dim: Sequence[int], group: Any, tag: str = ""
) -> list[Tensor]:
    """reduce_scatter_tensor of several tensors, each along a dim of its own."""
    if len(scatter_dim) != len(inputs):
        raise AssertionError(
            f"Length of scatter_dim ({len(scatter_dim)}) must equal length of inputs ({len(inputs)})"
        )
    with Inside("c10d_functional", "reduce_scatter_tensor_coalesced"):
        return [
            reduce_scatter_tensor(t, reduceOp, d, group) for t, d in zip(inputs, scatter_dim, strict=True)
        ]


all_gather_single_coalesced = all_gather_into_tensor_coalesced
reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced


def permute_tensor(self: Tensor, src_dst: list[int], group: Any, tag: str = "") -> Tensor:
    """The tensor of the rank that sends to this one; rank r of the group sends to src_dst[r]."""
    known = _resolved(group)
    sent, received = [0] * known.size(), [0] * known.size()
    for source, target in enumerate(src_dst):
        if source == known.rank():
            sent[target] = self.numel()
        if target == known.rank():
            received[source] = self.numel()
    found: Tensor = _Exchanged.apply(self.reshape(-1), received, sent, known)
    return found.view(self.shape)
