"""torch.cuda: devices, their memory, streams and events. Without a device it says so, as PyTorch's CPU
builds do.

There what only prepares for a device, or asks how much of it is used, does nothing; what needs one raises
PyTorch's exceptions (AttributeError where its own module says by accident that something inside it is
absent). Which devices there are is the setting RUSHLIGHT_CUDA's to say (docs/cuda.md).
"""

from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module as _import
from typing import Any

from rushlight._engine import lazy as _lazy
from rushlight._engine.core import accelerator
from rushlight._engine.names.absent_devices import (
    AcceleratorError as AcceleratorError,
    OutOfMemoryError as OutOfMemoryError,
    functions as _functions,
)
from rushlight._engine.tensors.construction.legacy import CUDA_TYPES
from rushlight._engine.tensors.storages.typed import CUDA_STORAGES


class StreamContext(nullcontext[None]):
    """Of no stream."""


stream = StreamContext
has_half = True
has_magma = False
default_generators: Any = ()  # one for each device
_names = _functions("cuda")
# What a device brings that PyTorch's CPU builds say nothing special of.
_MORE = (
    "stream",
    "StreamContext",
    "ExternalStream",
    "_sleep",
    "list_gpu_processes",
    "default_generators",
)
globals().update(CUDA_TYPES)  # torch.cuda.FloatTensor ...
globals().update(CUDA_STORAGES)  # torch.cuda.FloatStorage ...
# Where it comes from, in rushlight._engine.devices.cuda.
_MODULES = ("api", "memory_api", "stream_api", "random_api", "graphs")
globals().update(_names)
if accelerator.platform() is not None:
    for _module in _MODULES:
        _there = vars(_import(f"rushlight._engine.devices.cuda.{_module}"))
        globals().update({n: f for n, f in _there.items() if n in _names or n in _MORE})


class cudaStatus:
    """The numbers of two of CUDA's answers."""

    SUCCESS = 0
    ERROR_NOT_READY = 34


def _need_runtime() -> None:
    """AttributeError, as PyTorch's builds for CPUs raise it, where there is no runtime that could fail."""
    if accelerator.platform() is None:
        raise AttributeError("Torch not compiled with CUDA enabled: there is no runtime that could fail")


class CudaError(RuntimeError):
    """A call of CUDA's runtime has failed; `code` is its answer. AttributeError where there is no device."""

    def __init__(self, code: int) -> None:
        _need_runtime()
        runtime = globals()["cudart"]()
        super().__init__(f"{runtime.cudaGetErrorString(code)} ({code})")


class DeferredCudaCallError(Exception):
    """What was put off until a device is used has failed."""


def check_error(res: int) -> None:
    """CudaError for an answer of the runtime's that is an error; AttributeError where there is no device."""
    _need_runtime()
    if res != cudaStatus.SUCCESS:
        raise CudaError(res)


def _lazy_init() -> None:
    """Make the device ready; AssertionError where there is none."""
    globals()["init"]()


def _lazy_call(callable: Any, **kwargs: Any) -> None:
    """Call it when the device is ready: now; where there is none, never."""
    if accelerator.platform() is not None:
        callable()


__getattr__, __dir__ = _lazy.lazy_names(globals(), _lazy.homes("rushlight.cuda"))
