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


class StreamContext(nullcontext[None]):
    """Of no stream."""


stream = StreamContext
default_generators: Any = ()  # one for each device
_names = _functions("cuda")
# What a device brings that PyTorch's CPU builds say nothing special of.
_MORE = (
    "stream",
    "StreamContext",
    "ExternalStream",
    "check_error",
    "list_gpu_processes",
    "default_generators",
)
# Where it comes from, in rushlight._engine.devices.cuda.
_MODULES = ("api", "memory_api", "stream_api", "random_api", "graphs")
globals().update(_names)
if accelerator.platform() is not None:
    for _module in _MODULES:
        _there = vars(_import(f"rushlight._engine.devices.cuda.{_module}"))
        globals().update({n: f for n, f in _there.items() if n in _names or n in _MORE})


__getattr__, __dir__ = _lazy.lazy_names(globals(), _lazy.homes(__name__))
