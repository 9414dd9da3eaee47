"""torch.accelerator: programs that are written for any device ask here; without CUDA there is none."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

from rushlight._engine.core import accelerator as _engine
from rushlight._engine.names.absent_devices import functions

__path__: list[str] = []  # modules below it: names/placeholders.tsv

_names = functions("accelerator")
globals().update(_names)
if _engine.platform() is not None:
    _there = vars(import_module("rushlight._engine.devices.cuda.any_api"))
    globals().update({name: found for name, found in _there.items() if name in _names})


def device_index(device: int | None, /) -> AbstractContextManager[Any]:
    """A `with` block in which the device of a number is the current one; None changes nothing."""
    if device is None:
        return nullcontext()
    if _engine.platform() is None:
        globals()["set_device_index"](device)
    return import_module("rushlight.cuda").device(device)
