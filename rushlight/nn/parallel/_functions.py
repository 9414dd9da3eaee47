"""The same copies between devices, with gradients (torch.nn.parallel._functions)."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.tensors.kind import backend_of
from rushlight._engine.tensors.tensor import Tensor
from rushlight._utils import _get_device_index
from rushlight.autograd import Function
from rushlight.nn.parallel import comm


def _complex_again(tensors: Any, which: list[bool]) -> Any:
    """Pairs of real numbers as the complex ones that they stand for."""
    return [torch.view_as_complex(t) if yes else t for t, yes in zip(tensors, which, strict=True)]


class Broadcast(Function):
    """Broadcast.apply(devices, *tensors): the tensors on each device, device by device."""

    @staticmethod
    def forward(ctx: Any, target_gpus: Any, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Copies; AssertionError for tensors of the CPU."""
        if any(t.device.type == "cpu" for t in inputs):
            raise AssertionError("Broadcast function not implemented for CPU tensors")
        ctx.target_gpus = [_get_device_index(d, True) for d in target_gpus]
        if not inputs:
            return ()
        ctx.num_inputs, ctx.input_device = len(inputs), inputs[0].get_device()
        which = [t.is_complex() for t in inputs]
        copies = [_complex_again(held, which) for held in comm.broadcast_coalesced(inputs, ctx.target_gpus)]
        plain = [n for n, needed in enumerate(ctx.needs_input_grad[1:]) if not needed]
        ctx.mark_non_differentiable(*[held[n] for n in plain for held in copies])
        return tuple([t for held in copies for t in held])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        """The sums of the copies' gradients."""
        return (None, *ReduceAddCoalesced.apply(ctx.input_device, ctx.num_inputs, *grads))


class ReduceAddCoalesced(Function):
    """ReduceAddCoalesced.apply(device, n, *tensors): sums over devices, of `n` tensors each."""

    @staticmethod
    def forward(ctx: Any, destination: Any, num_inputs: int, *grads: Tensor) -> tuple[Tensor, ...]:
        """The sums, on one device."""
        ctx.target_gpus = [t.get_device() for t in grads[::num_inputs]]
        which = [t.is_complex() for t in grads[:num_inputs]]
        real = [torch.view_as_real(t) if t.is_complex() else t for t in grads]
        held = [real[n : n + num_inputs] for n in range(0, len(real), num_inputs)]
        return tuple(_complex_again(comm.reduce_add_coalesced(held, destination), which))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        """Each summand has the sum's gradient."""
        return (None, None, *Broadcast.apply(ctx.target_gpus, *grads))


class Gather(Function):
    """Gather.apply(device, dim, *tensors): tensors of several devices as one."""

    @staticmethod
    def forward(ctx: Any, target_device: Any, dim: int, *inputs: Tensor) -> Tensor:
        """One after the other along `dim`; AssertionError for tensors of the CPU."""
        if any(t.device.type == "cpu" for t in inputs):
            raise AssertionError("Gather function not implemented for CPU tensors")
        ctx.target_device = "cpu" if target_device == "cpu" else _get_device_index(target_device, True)
        ctx.dim, ctx.input_gpus = dim, tuple([t.get_device() for t in inputs])
        ctx.unsqueezed_scalar = not dim and all(not t.dim() for t in inputs)
        if ctx.unsqueezed_scalar:
            inputs = tuple([t.view(1) for t in inputs])
            warn(
                "Was asked to gather along dimension 0, but all input tensors were scalars; will instead "
                "unsqueeze and return a vector."
            )
        ctx.input_sizes = tuple([t.size(dim) for t in inputs])
        found = comm.gather(inputs, dim, ctx.target_device)
        return torch.view_as_complex(found) if inputs[0].is_complex() else found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        """Each tensor's part, on its device."""
        parts = Scatter.apply(ctx.input_gpus, ctx.input_sizes, ctx.dim, grad)
        return (None, None, *([t[0] for t in parts] if ctx.unsqueezed_scalar else parts))


class Scatter(Function):
    """Scatter.apply(devices, sizes, dim, tensor): the tensor's parts, one on each device."""

    @staticmethod
    def forward(ctx: Any, target_gpus: Any, chunk_sizes: Any, dim: int, input: Tensor) -> tuple[Tensor, ...]:
        """Parts along `dim`, of these sizes or equal ones; from the CPU, by streams of their own."""
        devices = [_get_device_index(d, True) for d in target_gpus]
        ctx.dim, ctx.input_device = dim, -1 if input.device.type == "cpu" else input.get_device()
        streams = None
        if ctx.input_device == -1 and torch.accelerator.is_available():
            streams = [_get_stream(torch.device("cuda", d)) for d in devices]
        parts = comm.scatter(input, devices, chunk_sizes, dim, streams)
        if input.is_complex():
            parts = tuple([torch.view_as_complex(t) for t in parts])
        for t, beside in zip(parts, streams or (), strict=False):
            with torch.cuda.device(t.device):
                current: Any = torch.cuda.current_stream()
                current.wait_stream(beside)
                t.record_stream(current)
        return parts

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        """The parts' gradients as one, where the tensor was."""
        where = "cpu" if ctx.input_device == -1 else ctx.input_device
        return None, None, None, Gather.apply(where, ctx.dim, *grads)


_streams: dict[int, Any] = {}


def _get_stream(device: Any) -> Any:
    """A stream of a device for copies from the CPU; None of the CPU."""
    if device.type == "cpu" or not torch.accelerator.is_available():
        return None
    kept = _streams.get(device.index)
    if kept is None or kept._queue.device is not backend_of(device):
        kept = _streams[device.index] = torch.cuda.Stream(device)
    return kept
