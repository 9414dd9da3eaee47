"""torch.cuda.nccl: one process's tensors on several devices, reduced and handed round.

Each function takes a tensor for each device and waits for nothing; the streams of the devices wait for each
other. Processes with a device each have torch.distributed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Sequence
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.core import accelerator
from rushlight._engine.core.callers import warn

__all__ = ["all_gather", "all_reduce", "broadcast", "reduce", "reduce_scatter"]

SUM = 0  # of sum, product, greatest, least and mean
_OPS: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (torch.add, torch.mul, torch.maximum, torch.minimum)
_MEAN = 4


def is_available(tensors: Sequence[Tensor]) -> bool:
    """Whether these can be reduced together: dense, contiguous, each on a CUDA device of its own."""
    if accelerator.platform() is None:
        warn("PyTorch is not compiled with NCCL support")
        return False
    fitting = all(t.is_cuda and t.layout == torch.strided and t.is_contiguous() for t in tensors)
    return fitting and len({t.device for t in tensors}) == len(tensors)


def version() -> tuple[int, ...]:
    """The version of NVIDIA's NCCL, which torch.distributed uses; RuntimeError where it is not installed."""
    from rushlight._engine.devices.cuda.driver import nccl  # loads the library's functions

    number = nccl.version()
    return number // 10000, number % 10000 // 100, number % 100


def _checked(tensors: Any) -> None:
    if not isinstance(tensors, Container) or isinstance(tensors, Tensor):
        raise TypeError("Inputs should be a collection of tensors")


def _alike(tensors: Sequence[Tensor]) -> None:
    if not tensors:
        raise RuntimeError("inputs should not be empty")
    first = tensors[0]
    for t in tensors:
        if not t.is_cuda or t.layout != torch.strided or not t.is_contiguous():
            raise RuntimeError("input and output elements have to be cuda dense Tensors")
        if t.dtype != first.dtype or t.numel() != first.numel():
            raise RuntimeError("all tensors must have the same number of elements and the same type")
    if len({t.device for t in tensors}) < len(tensors):
        raise RuntimeError("inputs must be on unique devices")


def _total(tensors: Sequence[Tensor], op: int, device: torch.device) -> Tensor:
    found = functools.reduce(_OPS[SUM if op == _MEAN else op], [t.detach().to(device) for t in tensors])
    return found.div(len(tensors)).to(found.dtype) if op == _MEAN else found


def _put(into: Tensor, found: Tensor) -> None:
    into.detach().copy_(found.reshape(into.shape))


def all_reduce(
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor] | None = None,
    op: int = SUM,
    streams: Any = None,
    comms: Any = None,
) -> None:
    """Each of `outputs` (`inputs` themselves) becomes the reduction of all `inputs`."""
    _checked(inputs)
    outputs = inputs if outputs is None else outputs
    _checked(outputs)
    _alike(inputs)
    found = _total(inputs, op, inputs[0].device)
    for into in outputs:
        _put(into, found)


def reduce(
    inputs: Sequence[Tensor],
    output: Tensor | Sequence[Tensor] | None = None,
    root: int = 0,
    op: int = SUM,
    streams: Any = None,
    comms: Any = None,
    *,
    outputs: Sequence[Tensor] | None = None,
) -> None:
    """`output` (the root's input) becomes the reduction of all `inputs`."""
    _checked(inputs)
    if outputs is not None and output is not None:
        raise ValueError(
            "'output' and 'outputs' can not be both specified. 'outputs' is deprecated in favor of "
            "'output', taking in a single output tensor. The signature of reduce is: "
            "reduce(inputs, output=None, root=0, op=SUM, streams=None, comms=None)."
        )
    given = outputs if output is None else output
    if given is not None and not isinstance(given, Tensor):
        warn(
            "nccl.reduce with an output tensor list is deprecated. Please specify a single output tensor.",
            FutureWarning,
        )
        given = given[root]
    _alike(inputs)
    into = inputs[root] if given is None else given
    _put(into, _total(inputs, op, into.device))


def broadcast(inputs: Sequence[Tensor], root: int = 0, streams: Any = None, comms: Any = None) -> None:
    """All become the root's."""
    _checked(inputs)
    _alike(inputs)
    for into in inputs:
        if into is not inputs[root]:
            _put(into, inputs[root].detach())


def all_gather(
    inputs: Sequence[Tensor], outputs: Sequence[Tensor], streams: Any = None, comms: Any = None
) -> None:
    """Each of `outputs` becomes all `inputs`, one after the other."""
    _checked(inputs)
    _checked(outputs)
    _alike(inputs)
    for into in outputs:
        _put(into, torch.cat([t.detach().reshape(-1).to(into.device) for t in inputs]))


def reduce_scatter(
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    op: int = SUM,
    streams: Any = None,
    comms: Any = None,
) -> None:
    """Each of `outputs` becomes its part of the reduction of all `inputs`."""
    _checked(inputs)
    _checked(outputs)
    _alike(inputs)
    parts = _total(inputs, op, inputs[0].device).reshape(-1).chunk(len(outputs))
    for into, part in zip(outputs, parts, strict=True):
        _put(into, part)
