"""Copies between devices (torch.nn.parallel.comm): there is one device here, so they say so."""

from __future__ import annotations

from typing import Any

from rushlight._engine.core.device import device as Device
from rushlight._engine.tensors.tensor import Tensor

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]
_NONE = (
    "Cannot access accelerator device when none is available: Rushlight computes on the CPU. For "
    "several processes use torch.nn.parallel.DistributedDataParallel with the gloo backend"
)


def accelerators(devices: Any) -> list[int]:
    """Numbers of devices; ValueError for the CPU."""
    found = []
    for one in devices:
        if isinstance(one, str):
            one = Device(one)
        if isinstance(one, Device):
            if one.type == "cpu":
                raise ValueError(f"Expected a non cpu device, but got: {one}")
            one = one.index or 0
        found.append(int(one))
    return found


def scatter(
    tensor: Tensor,
    devices: Any = None,
    chunk_sizes: Any = None,
    dim: int = 0,
    streams: Any = None,
    *,
    out: Any = None,
) -> list[Any]:
    """Refused: RuntimeError."""
    raise RuntimeError(_NONE)


def gather(tensors: Any, dim: int = 0, destination: Any = None, *, out: Any = None) -> Tensor:
    """Refused: RuntimeError."""
    raise RuntimeError(_NONE)


def broadcast(tensor: Tensor, devices: Any = None, *, out: Any = None) -> list[Any]:
    """Refused: RuntimeError."""
    raise RuntimeError(_NONE)


def broadcast_coalesced(tensors: Any, devices: Any, buffer_size: int = 10485760) -> list[Any]:
    """Refused: RuntimeError."""
    raise RuntimeError(_NONE)


def reduce_add(inputs: Any, destination: Any = None) -> Tensor:
    """Refused: AssertionError for tensors of the CPU."""
    raise AssertionError("reduce_add expects all inputs to be on GPUs, but input 0 is on CPU")


def reduce_add_coalesced(inputs: Any, destination: Any = None, buffer_size: int = 10485760) -> Any:
    """Refused: AssertionError for tensors of the CPU."""
    return reduce_add([one[0] for one in inputs], destination)


class Gather:
    """What puts together tensors of several devices."""

    @staticmethod
    def apply(target_device: Any, dim: int, *inputs: Tensor) -> Tensor:
        """Refused: AssertionError for tensors of the CPU."""
        raise AssertionError("Gather function not implemented for CPU tensors")


class Broadcast:
    """What copies tensors to several devices."""

    @staticmethod
    def apply(target_gpus: Any, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Refused: AssertionError for tensors of the CPU."""
        if not inputs:
            return ()
        raise AssertionError("Broadcast function not implemented for CPU tensors")
