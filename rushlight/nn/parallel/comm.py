"""Copies between devices (torch.nn.parallel.comm), as data-parallel training makes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.tensors.tensor import Tensor
from rushlight._utils import (
    _flatten_dense_tensors,
    _get_device_index,
    _handle_complex,
    _reorder_tensors_as,
    _take_tensors,
    _unflatten_dense_tensors,
)

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def _accelerator(index: int) -> Any:
    """The device of a number; RuntimeError where there is none."""
    if not torch.accelerator.is_available():
        raise RuntimeError(
            "Cannot access accelerator device when none is available: Rushlight computes on the CPU. For "
            "several processes use torch.nn.parallel.DistributedDataParallel with the gloo backend"
        )
    return torch.device("cuda", index)


def _held_by_devices(tensors: Sequence[Tensor], what: str, each: str) -> None:
    """RuntimeError for a tensor of the CPU."""
    for n, t in enumerate(tensors):
        if t.device.type == "cpu":
            raise RuntimeError(
                f"Expected all {what} tensors to be CUDA tensors, but {each} at index {n} has device "
                f"'{t.device}'"
            )


def broadcast(tensor: Tensor, devices: Any = None, *, out: Any = None) -> list[Tensor]:
    """The tensor on each of the devices, itself where it is there already; or copied to the tensors `out`."""
    tensor = _handle_complex(tensor)
    if (devices is None) == (out is None):
        raise RuntimeError(
            f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and out={out}"
        )
    if out is None:
        indices = [_get_device_index(d) for d in devices]
        if not indices:
            raise RuntimeError("Expected at least one device to broadcast to")
        return [_on(tensor, index) for index in indices]
    _held_by_devices(out, "output", "output tensor")
    for n, t in enumerate(out):
        if t.shape != tensor.shape:
            raise RuntimeError(
                f"Expected all output tensors to have same shape as the source tensor {list(tensor.shape)}, "
                f"but output tensor at index {n} has shape {list(t.shape)}"
            )
    for t in out:
        t.copy_(tensor, non_blocking=True)
    return list(out)


def _on(tensor: Tensor, index: int) -> Tensor:
    """The tensor on a device, contiguous where it is a copy."""
    if tensor.device.type != "cpu" and tensor.get_device() == index:
        return tensor
    made = torch.empty(tensor.shape, dtype=tensor.dtype, device=_accelerator(index))
    found: Tensor = made.copy_(tensor, non_blocking=True)
    return found


def broadcast_coalesced(
    tensors: Sequence[Tensor], devices: Any, buffer_size: int = 10485760
) -> list[list[Tensor]]:
    """The tensors on each device, on the first one as they are; small ones travel together.

    buffer_size: bytes that travel at once.
    """
    indices = [_get_device_index(d) for d in devices]
    given = [_handle_complex(t) for t in tensors]
    if not indices:
        raise RuntimeError("Expected at least one device to broadcast to")
    if any(t.device != _accelerator(indices[0]) for t in given):
        raise RuntimeError(f"all tensors must be on devices[0]: {indices[0]}")
    found = [given]
    for index in indices[1:]:
        copies: list[Tensor] = []
        for group in _take_tensors([t.detach() for t in given if not t.is_sparse], buffer_size):
            flat = _on(_flatten_dense_tensors(group), index)
            # Each has a version of its own, for all that they lie in one memory.
            copies += [part.data for part in _unflatten_dense_tensors(flat, group)]
        copies += [t.detach().to(_accelerator(index)) for t in given if t.is_sparse]
        found.append(list(_reorder_tensors_as(copies, given)))
    return found


def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
    """The sum of tensors of several devices, on the device of a number (the current one), which has one."""
    where = _get_device_index(destination, optional=True)
    shape, root = inputs[0].shape, None
    for n, t in enumerate(inputs):
        if t.device.type == "cpu":
            raise AssertionError(f"reduce_add expects all inputs to be on GPUs, but input {n} is on CPU")
        if t.get_device() == where:
            root = n
        if t.shape != shape:
            got, expected = ("x".join(map(str, s)) for s in (t.shape, shape))
            raise ValueError(f"input {n} has invalid size: got {got}, but expected {expected}")
    if root is None:
        raise RuntimeError("reduce_add expects destination to be on the same GPU with one of the tensors")
    if len(inputs) == 1:
        return inputs[0]
    first, *others = [t for n, t in enumerate(inputs) if n != root]
    found: Tensor = inputs[root] + first.to(inputs[root].device, non_blocking=True)
    for t in others:
        found.add_(t.to(found.device, non_blocking=True))
    return found


def reduce_add_coalesced(
    inputs: Iterable[Iterable[Tensor]], destination: Any = None, buffer_size: int = 10485760
) -> tuple[Tensor, ...]:
    """The sums of what stands at each place in lists of tensors, a list for each device, on one device."""
    found: list[Tensor] = []
    order: list[Tensor] = []
    dense: list[tuple[Tensor, ...]] = []
    for place in zip(*inputs, strict=True):
        if all(t.is_sparse for t in place):
            found.append(reduce_add(place, destination))
            order.append(place[0])
        else:
            dense.append(tuple([t.to_dense() if t.is_sparse else t for t in place]))
            order.append(dense[-1][0])
    groups = [_take_tensors(held, buffer_size) for held in zip(*dense, strict=True)]
    for chunks in zip(*groups, strict=True):
        flat = reduce_add([_flatten_dense_tensors(chunk) for chunk in chunks], destination)
        found += [t.data for t in _unflatten_dense_tensors(flat, chunks[0])]
    return _reorder_tensors_as(found, order)


def scatter(
    tensor: Tensor,
    devices: Any = None,
    chunk_sizes: Any = None,
    dim: int = 0,
    streams: Any = None,
    *,
    out: Any = None,
) -> tuple[Tensor, ...]:
    """Parts of a tensor along `dim`, one for each device; or copied to the tensors `out`.

    streams: for each device, the one that its copy runs on.
    """
    tensor = _handle_complex(tensor)
    if out is not None:
        for name, given in (("devices", devices), ("chunk_sizes", chunk_sizes)):
            if given is not None:
                raise RuntimeError(
                    f"'{name}' must not be specified when 'out' is specified, but got {name}={given}"
                )
        return _scattered_to(tensor, out, dim, streams)
    indices = [_get_device_index(d) for d in devices]
    if not indices:
        raise RuntimeError("Expected at least one device to scatter to")
    if chunk_sizes is not None and len(chunk_sizes) != len(indices):
        raise RuntimeError(
            "Expected devices and chunk_sizes to be of same length, but got len(devices) = "
            f"{len(indices)} and len(chunk_sizes) = {len(chunk_sizes)}"
        )
    where = [_accelerator(index) for index in indices]
    parts = tensor.chunk(len(indices), dim) if chunk_sizes is None else tensor.split(list(chunk_sizes), dim)
    found = []
    for n, part in enumerate(parts):
        with _stream_of(streams, n):
            found.append(part if part.device == where[n] else part.to(where[n], non_blocking=True))
    return tuple(found)


def _stream_of(streams: Any, n: int) -> Any:
    return nullcontext() if streams is None or streams[n] is None else streams[n]


def _scattered_to(tensor: Tensor, out: Sequence[Tensor], dim: int, streams: Any) -> tuple[Tensor, ...]:
    if not out:
        raise RuntimeError("Expected at least one output tensor to scatter to")
    _held_by_devices(out, "output", "output tensor")
    dim = dim if dim >= 0 else dim + tensor.dim()
    for n, t in enumerate(out):
        sizes = [*t.shape]
        if len(sizes) == tensor.dim():
            sizes[dim] = tensor.shape[dim]
        if sizes != [*tensor.shape]:
            raise RuntimeError(
                f"Output tensor at index {n} has incorrect shape: {list(t.shape)}. Expected same shape "
                f"except for scatter dim {dim} as the source tensor: {list(tensor.shape)}"
            )
    total = sum(t.shape[dim] for t in out)
    if total != tensor.shape[dim]:
        raise RuntimeError(
            f"Total size for output tensors along scatter dim {dim} does not match the source tensor size "
            f"at dim {dim}. Expected {tensor.shape[dim]}, but got total size {total}"
        )
    for n, (t, part) in enumerate(zip(out, tensor.split([t.shape[dim] for t in out], dim), strict=True)):
        with _stream_of(streams, n):
            t.copy_(part, non_blocking=True)
    return tuple(out)


def gather(tensors: Iterable[Tensor], dim: int = 0, destination: Any = None, *, out: Any = None) -> Tensor:
    """Tensors of several devices, one after the other along `dim`, on one device or in the tensor `out`."""
    given = [_handle_complex(t) for t in tensors]
    if out is not None:
        if destination is not None:
            raise RuntimeError(
                f"'destination' must not be specified when 'out' is specified, but got "
                f"destination={destination}"
            )
        shape = _gathered_shape(given, dim)
        if [*out.shape] != shape:
            raise RuntimeError(f"Expected out tensor to have shape {shape}, but got {list(out.shape)}")
        return _gathered(given, dim, out)
    if destination == -1:
        warn(
            "Using -1 to represent CPU tensor is deprecated. Please use a device object or string instead, "
            'e.g., "cpu".',
            FutureWarning,
        )
    index = _get_device_index(destination, allow_cpu=True, optional=True)
    shape = _gathered_shape(given, dim)
    where = torch.device("cpu") if index == -1 else _accelerator(index)
    channels_last = all(t.is_contiguous(memory_format=torch.channels_last) for t in given if t.dim() == 4)
    last = bool(given[0].dim() == 4 and channels_last and not given[0].is_contiguous())
    layout = torch.channels_last if last else torch.contiguous_format
    return _gathered(given, dim, torch.empty(shape, dtype=given[0].dtype, device=where, memory_format=layout))


def _gathered_shape(tensors: Sequence[Tensor], dim: int) -> list[int]:
    if not tensors:
        raise RuntimeError("Expected at least one tensor to gather from")
    _held_by_devices(tensors, "input", "tensor")
    wanted, total = [*tensors[0].shape], 0
    dim = dim if dim >= 0 else dim + len(wanted)
    for n, t in enumerate(tensors):
        if t.dim() != len(wanted):
            raise RuntimeError(
                "Expected all input tensors to have the same number of dimensions, but tensor at index "
                f"{n}has {t.dim()} dimensions, (expected {len(wanted)})"
            )
        wanted[dim] = t.shape[dim]
        if wanted != [*t.shape]:
            raise RuntimeError(
                f"Input tensor at index {n} has invalid shape {list(t.shape)}, but expected {wanted}"
            )
        total += t.shape[dim]
    return [*wanted[:dim], total, *wanted[dim + 1 :]]


def _gathered(tensors: Sequence[Tensor], dim: int, out: Tensor) -> Tensor:
    for part, t in zip(out.split([t.shape[dim] for t in tensors], dim), tensors, strict=True):
        part.copy_(t, non_blocking=True)
    return out
