"""What a CUDA device says: PyTorch's words for its errors, and the program's line that they are about."""

from __future__ import annotations

import os
import sys
from typing import Any

# The folder of the package: what lies in it is not the program's.
_PACKAGE = os.path.join(os.path.dirname(str(sys.modules[__name__.partition(".")[0]].__file__)), "")
_ADVICE = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below "
    "might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
)


# What a forked child hears of a device that its parent has used.
FORKED = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
    "'spawn' start method"
)


# What CUDA says, by the ends of its errors' names.
_OF_CUDA = {
    "StreamCaptureUnsupported": "operation not permitted when stream is capturing",
    "StreamCaptureInvalidated": "operation failed due to a previous error during capture",
    "StreamCaptureMerge": "operation would result in a merge of separate capture sequences",
    "StreamCaptureUnjoined": "capturing stream has unjoined work",
    "StreamCaptureIsolation": "dependency created on uncaptured work in another stream",
    "StreamCaptureImplicit": "operation would make the legacy stream depend on a capturing blocking stream",
    "CapturedEvent": "operation not permitted on an event last recorded in a capturing stream",
    "StreamCaptureWrongThread": "attempt to terminate a thread-local capture sequence from another thread",
    "InvalidResourceHandle": "invalid resource handle",
}


def of_cuda(name: str) -> str:
    """The text of an error, by its name in CUDA without "cudaError"."""
    return (
        f"CUDA error: {_OF_CUDA[name]}\nSearch for `cudaError{name}' in https://docs.nvidia.com/cuda/"
        f"cuda-runtime-api/group__CUDART__TYPES.html for more information.\n{_ADVICE}"
    )


# What follows where something that cannot be captured was tried in a capture.
SPOILT = of_cuda("StreamCaptureInvalidated")


def capturing(what: str) -> str:
    """The text for what is not allowed while a graph is captured."""
    return f"{of_cuda('StreamCaptureUnsupported')}It was {what}, at {place()}"


def is_programs(file: str) -> bool:
    """Whether a file of code is the program's, not this package's."""
    return not file.startswith(_PACKAGE) and not file.startswith("<")


def place() -> str:
    """The line of the program that is running: the innermost one outside the package."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if is_programs(file):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"


def device_assert(error: BaseException, what: str, line: str) -> str:
    """The text after a kernel met numbers that it cannot work with."""
    message = f"{what}: {error}" + (
        f", queued at {line}" if line else "; CUDA_LAUNCH_BLOCKING=1 raises at the line"
    )
    return (
        "CUDA error: device-side assert triggered\nSearch for `cudaErrorAssert' in "
        "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.\n"
        f"{_ADVICE}It was {message}"
    )


def invalid_ordinal(index: int, count: int) -> str:
    """The text for a device number that is not there."""
    there = "0" if count == 1 else f"0 to {count - 1}"
    return (
        "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\n"
        f"{_ADVICE}There is no device {index}: the numbers are {there}"
    )


def other_device() -> str:
    """The text for two events of two devices, between which there is no time."""
    return f"{of_cuda('InvalidResourceHandle')}The events are of two devices"


def two_devices(one: Any, two: Any) -> RuntimeError:
    """The error for operands that lie on two devices."""
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {one} and {two}!"
    )


def size(count: int) -> str:
    """A number of bytes as PyTorch writes it."""
    for unit, step in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= step:
            return f"{count / step:.2f} {unit}"
    return f"{count} bytes"


def out_of_memory(device: Any, wanted: int) -> str:
    """The text where a device has no such memory."""
    memory, allocator = device.memory, device.allocator
    allocated, reserved = allocator.figure("allocated_bytes"), allocator.figure("reserved_bytes")
    allowed = ""
    if allocator.fraction < 1:
        allowed = f"{size(int(allocator.total * allocator.fraction))} allowed; "
    return (
        f"CUDA out of memory. Tried to allocate {size(wanted)}. GPU {device.index} has a total capacity of "
        f"{size(memory.total)} of which {size(memory.total - memory.own - memory.used)} is free. "
        f"{allowed}Including non-PyTorch memory, this process has {size(memory.own + memory.used)} memory in "
        f"use. Of the allocated memory {size(allocated)} is allocated by PyTorch, and "
        f"{size(reserved - allocated)} is reserved by PyTorch but unallocated. If reserved but unallocated "
        "memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid "
        "fragmentation.  See documentation for Memory Management  "
        "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )
