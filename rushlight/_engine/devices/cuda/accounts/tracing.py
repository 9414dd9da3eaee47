"""Who hears of what happens on devices: of events, memory, streams, and of the host's waiting
(torch.cuda._gpu_trace).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from rushlight._engine.core import accelerator

_logger = logging.getLogger("torch.utils._traceback")


class CallbackRegistry:
    """Functions that are told of one kind of thing, once torch._C._activate_gpu_trace() was called."""

    active = False  # of all kinds

    def __init__(self, name: str) -> None:
        self.name = name
        self.callback_list: list[Callable[..., None]] = []

    def add_callback(self, cb: Callable[..., None]) -> None:
        """Let a function hear of it, too."""
        self.callback_list.append(cb)

    def fire_callbacks(self, *args: Any) -> None:
        """Tell all; what one of them raises is logged."""
        for callback in self.callback_list:
            try:
                callback(*args)
            except Exception:
                _logger.exception("Exception in callback for %s registered with gpu trace", self.name)


EVENT_CREATION = CallbackRegistry("CUDA event creation")
EVENT_DELETION = CallbackRegistry("CUDA event deletion")
EVENT_RECORD = CallbackRegistry("CUDA event record")
EVENT_WAIT = CallbackRegistry("CUDA event wait")
MEMORY_ALLOCATION = CallbackRegistry("CUDA memory allocation")
MEMORY_DEALLOCATION = CallbackRegistry("CUDA memory deallocation")
STREAM_CREATION = CallbackRegistry("CUDA stream creation")
DEVICE_SYNCHRONIZATION = CallbackRegistry("CUDA device synchronization")
STREAM_SYNCHRONIZATION = CallbackRegistry("CUDA stream synchronization")
EVENT_SYNCHRONIZATION = CallbackRegistry("CUDA event synchronization")


def tell(kind: CallbackRegistry, *args: Any) -> None:
    """Tell who wants to hear of such things, if tracing is on."""
    if CallbackRegistry.active and kind.callback_list:
        kind.fire_callbacks(*args)


def _activate_gpu_trace() -> None:
    """Trace from now on."""
    CallbackRegistry.active = True
    platform: Any = accelerator.platform()
    for device in platform.devices() if platform is not None else ():
        listen(device.allocator)


def listen(allocator: Any) -> None:
    """Tell of what an allocator hands out and is given back from now on."""
    with allocator.lock:
        allocator.sweep()
    if allocator.on_allocate is None:
        allocator.on_allocate = _allocated
        allocator.on_free = _freed(allocator.on_free)


def _allocated(block: Any) -> None:
    tell(MEMORY_ALLOCATION, block.address)


def _freed(before: Callable[[Any], None] | None) -> Callable[[Any], None]:
    def freed(block: Any) -> None:
        if before is not None:
            before(block)
        tell(MEMORY_DEALLOCATION, block.address)

    return freed
