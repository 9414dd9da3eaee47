"""Communication hooks: the all-reduce itself, and with gradients of two bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed.reducer import GradBucket


def _reduced(process_group: Any, tensor: Any) -> tuple[Any, Any]:
    group: Any = process_group if process_group is not None else dist.group.WORLD
    # Divided first: a sum of float16 might overflow.
    return tensor.div_(group.size()), group


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Any:
    """The average of the ranks' buckets, as without a hook."""
    tensor, group = _reduced(process_group, bucket.buffer())
    sent: Any = dist.all_reduce(tensor, group=group, async_op=True)
    return sent.get_future().then(lambda fut: fut.value()[0])


def _compress_hook(dtype: Any, process_group: Any, bucket: GradBucket) -> Any:
    buffer = bucket.buffer()
    tensor, group = _reduced(process_group, buffer.to(dtype))
    sent: Any = dist.all_reduce(tensor, group=group, async_op=True)
    return sent.get_future().then(lambda fut: buffer.copy_(fut.value()[0]))


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Any:
    """The average, with float16 on the wire."""
    return _compress_hook(torch.float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Any:
    """The average, with bfloat16 on the wire."""
    return _compress_hook(torch.bfloat16, process_group, bucket)


def _wrapper(dtype: Any, hook: Callable[..., Any]) -> Callable[..., Any]:
    def compressed(hook_state: Any, bucket: GradBucket) -> Any:
        whole = bucket.buffer()
        bucket.set_buffer(whole.to(dtype))
        return hook(hook_state, bucket).then(lambda fut: whole.copy_(fut.value()))

    return compressed


def fp16_compress_wrapper(hook: Callable[..., Any]) -> Callable[..., Any]:
    """`hook` on buckets that are cast to float16."""
    return _wrapper(torch.float16, hook)


def bf16_compress_wrapper(hook: Callable[..., Any]) -> Callable[..., Any]:
    """`hook` on buckets that are cast to bfloat16."""
    return _wrapper(torch.bfloat16, hook)


__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]
