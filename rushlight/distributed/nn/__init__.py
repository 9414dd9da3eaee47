"""torch.distributed.nn: collectives that gradients flow through.

The gradient of a collective is another one: of a broadcast a reduction, of all_gather an exchange and a sum.
So every rank takes part in the backward, too; a rank that leaves it out leaves the others waiting.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.names.alternatives import attribute
from rushlight._engine.tensors.tensor import Tensor
from rushlight.autograd import Function
from rushlight.distributed.groups import default_group

functional = sys.modules[__name__]  # PyTorch has the same functions there


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.how = op, group
        found = tensor.clone()
        dist.all_reduce(found, op, group)
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, _AllReduce.apply(*ctx.how, grad)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.how = src, group
        found = tensor.clone()
        dist.broadcast(found, src, group)
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        src, group = ctx.how
        found = _Reduce.apply(src, dist.ReduceOp.SUM, group, grad)
        return None, None, found if dist.get_rank() == src else torch.zeros_like(found)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.how = dst, group
        found = tensor.clone()
        dist.reduce(found, dst, op, group)
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, _Broadcast.apply(*ctx.how, grad.contiguous())


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Tensor) -> Any:
        ctx.how = dst, group
        found = [torch.zeros_like(tensor) for _ in range(default_group(group).size())]
        dist.gather(tensor.contiguous(), found if dist.get_rank() == dst else None, dst, group)
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, _Scatter.apply(*ctx.how, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.how = src, group
        found = torch.zeros_like(tensors[0])
        dist.scatter(found, [t.contiguous() for t in tensors] if dist.get_rank() == src else None, src, group)
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, *_Gather.apply(*ctx.how, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> Any:
        ctx.group = group
        tensor = tensor.contiguous()
        found = [torch.empty_like(tensor) for _ in range(default_group(group).size())]
        dist.all_gather(found, tensor, group)
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        parts = _AllToAll.apply(ctx.group, [torch.empty_like(grads[0]) for _ in grads], *grads)
        return None, torch.stack(parts).sum(0)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Tensor, *inputs: Tensor) -> Tensor:
        ctx.group = group
        found = torch.empty_like(tensor)
        dist.reduce_scatter(found, [t.contiguous() for t in inputs], op, group)
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, *_AllGather.apply(ctx.group, grad)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, like: Sequence[Tensor], *tensors: Tensor) -> Any:
        ctx.group, ctx.like = group, [torch.empty_like(t) for t in tensors]
        found = [torch.empty_like(t) for t in like]
        dist.all_to_all(found, [t.contiguous() for t in tensors], group)
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, *_AllToAll.apply(ctx.group, ctx.like, *grads)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, like: Tensor, received: Any, sent: Any, input: Tensor) -> Tensor:
        ctx.how = group, torch.empty_like(input), sent, received
        found = torch.empty_like(like)
        dist.all_to_all_single(found, input.contiguous(), received, sent, group)
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, None, _AllToAllSingle.apply(*ctx.how, grad)


def all_reduce(tensor: Tensor, op: Any = dist.ReduceOp.SUM, group: Any = None) -> Tensor:
    """All ranks' tensors reduced, as a new tensor."""
    found: Tensor = _AllReduce.apply(op, group, tensor)
    return found


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """All ranks' tensors, of one shape."""
    found: tuple[Tensor, ...] = _AllGather.apply(group, tensor)
    return found


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The rank src's tensor."""
    found: Tensor = _Broadcast.apply(src, group, tensor)
    return found


def reduce(tensor: Tensor, dst: int, op: Any = dist.ReduceOp.SUM, group: Any = None) -> Tensor:
    """All ranks' tensors reduced at the rank dst; elsewhere the tensor as it is."""
    found: Tensor = _Reduce.apply(dst, op, group, tensor)
    return found


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """All ranks' tensors at the rank dst; zeros elsewhere."""
    found: tuple[Tensor, ...] = _Gather.apply(dst, group, tensor)
    return found


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """This rank's of the rank src's tensors; others give tensors of the same shape."""
    found: Tensor = _Scatter.apply(src, group, *tensors)
    return found


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: Any = dist.ReduceOp.SUM, group: Any = None
) -> Tensor:
    """All ranks' tensors of this rank's number, reduced; like `output`, which is left alone."""
    found: Tensor = _ReduceScatter.apply(op, group, output, *input_list)
    return found


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """Tensor r of the list goes to rank r, whose comes back, like those of output_tensor_list."""
    found: tuple[Tensor, ...] = _AllToAll.apply(group, output_tensor_list, *input_tensor_list)
    return found


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
) -> Tensor:
    """Parts of `input` to all ranks, theirs back, like `output`."""
    found: Tensor = _AllToAllSingle.apply(group, output, output_split_sizes, input_split_sizes, input)
    return found


def __getattr__(name: str) -> Any:
    if name == "RemoteModule":
        from rushlight.distributed.nn.api.remote_module import RemoteModule  # programs without rpc need none

        return RemoteModule
    return attribute("rushlight.distributed.nn", name)
