"""Collectives of a program that is being exported: functional ops, and copies of their results.

The ops are those of torch.ops._c10d_functional, whose groups are told by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight
import rushlight.distributed as dist
from rushlight.distributed.communication.work import Future, Work, _create_work_from_future
from rushlight.library import Library

_LIBRARY = Library("_c10d_functional", "FRAGMENT")


def _op(schema: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the op of this signature, which a function computes."""

    def define(function: Callable[..., Any]) -> Callable[..., Any]:
        name = _LIBRARY.define(schema)
        _LIBRARY.impl(name, function, "CompositeExplicitAutograd")
        op: Callable[..., Any] = getattr(rushlight.ops._c10d_functional, name)
        return op

    return define


def _group(name: str) -> Any:
    return dist.groups.world.groups[name]


def _reduction(name: str) -> Any:
    return getattr(dist.ReduceOp, name.upper())


@_op("wait_tensor(Tensor tensor) -> Tensor")
def _wait(tensor: Any) -> Any:
    return tensor.clone()


@_op("all_reduce(Tensor input, str reduce_op, str group_name) -> Tensor")
def _all_reduce(input: Any, reduce_op: str, group_name: str) -> Any:
    found = input.detach().clone()
    dist.all_reduce(found, _reduction(reduce_op), _group(group_name))
    return found


@_op("broadcast(Tensor input, int src, str group_name) -> Tensor")
def _broadcast(input: Any, src: int, group_name: str) -> Any:
    found = input.detach().clone()
    dist.broadcast(found, src, _group(group_name))
    return found


@_op("all_gather_into_tensor(Tensor input, int group_size, str group_name) -> Tensor")
def _all_gather(input: Any, group_size: int, group_name: str) -> Any:
    found = input.new_empty((input.shape[0] * group_size, *input.shape[1:]))
    dist.all_gather_into_tensor(found, input.detach().contiguous(), _group(group_name))
    return found


@_op("reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, str group_name) -> Tensor")
def _reduce_scatter(input: Any, reduce_op: str, group_size: int, group_name: str) -> Any:
    found = input.new_empty((input.shape[0] // group_size, *input.shape[1:]))
    dist.reduce_scatter_tensor(found, input.detach().contiguous(), _reduction(reduce_op), _group(group_name))
    return found


@_op(
    "all_to_all_single(Tensor input, SymInt[] output_split_sizes, SymInt[] input_split_sizes, "
    "str group_name) -> Tensor"
)
def _all_to_all(
    input: Any, output_split_sizes: Sequence[int], input_split_sizes: Sequence[int], group_name: str
) -> Any:
    found = input.new_empty((sum(output_split_sizes), *input.shape[1:]))
    sizes = list(output_split_sizes), list(input_split_sizes)
    dist.all_to_all_single(found, input.detach().contiguous(), *sizes, _group(group_name))
    return found


def _over(async_op: bool, *written: Any) -> Work | None:
    """The work of a collective that is over."""
    if not async_op:
        return None
    future = Future()
    future.set_result([*written])
    return _create_work_from_future(future)


def _name(op: Any) -> str:
    return str(getattr(op, "name", op)).lower()


def all_reduce(tensor: Any, op: Any, group: Any, async_op: bool) -> Work | None:
    """torch.distributed.all_reduce."""
    tensor.copy_(_wait(_all_reduce(tensor, _name(op), group.group_name)))
    return _over(async_op, tensor)


def broadcast(tensor: Any, src: int, group: Any, async_op: bool) -> Work | None:
    """torch.distributed.broadcast, of the rank `src` of all."""
    tensor.copy_(_wait(_broadcast(tensor, src, group.group_name)))
    return _over(async_op, tensor)


def all_gather(tensors: Sequence[Any], tensor: Any, group: Any, async_op: bool) -> Work | None:
    """torch.distributed.all_gather."""
    whole = _wait(_all_gather(tensor, group.size(), group.group_name))
    size = tensor.shape[0]
    for i, into in enumerate(tensors):
        into.copy_(whole[i * size : (i + 1) * size])
    return _over(async_op, *tensors)


def all_gather_into_tensor(output: Any, input: Any, group: Any, async_op: bool) -> Work | None:
    """torch.distributed.all_gather_into_tensor."""
    output.copy_(_wait(_all_gather(input, group.size(), group.group_name)))
    return _over(async_op, output)


def reduce_scatter_tensor(output: Any, input: Any, op: Any, group: Any, async_op: bool) -> Work | None:
    """torch.distributed.reduce_scatter_tensor."""
    output.copy_(_wait(_reduce_scatter(input, _name(op), group.size(), group.group_name)))
    return _over(async_op, output)


def all_to_all_single(
    output: Any, input: Any, received: Any, sent: Any, group: Any, async_op: bool
) -> Work | None:
    """torch.distributed.all_to_all_single."""
    sizes = [
        list(given or [t.shape[0] // group.size()] * group.size())
        for given, t in ((received, output), (sent, input))
    ]
    output.copy_(_wait(_all_to_all(input, *sizes, group.group_name)))
    return _over(async_op, output)
