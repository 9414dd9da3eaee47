"""libcuda by ctypes: its functions with their arguments' types, and its errors as exceptions.

`Driver` calls a library's functions by name and raises what they answer. The library is libcuda, or anything
that has functions of the same names (tests have an imitation).
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from rushlight._engine.devices.cuda.allocator import DriverOutOfMemory
from rushlight._engine.names.absent_devices import AcceleratorError

# The oldest driver that has every function below (CUDA 12.0).
OLDEST = 12000
_INT, _UINT, _SIZE, _PTR, _ADDRESS = (
    ctypes.c_int,
    ctypes.c_uint,
    ctypes.c_size_t,
    ctypes.c_void_p,
    ctypes.c_uint64,
)
_TEXT = ctypes.c_char_p
# Arguments of the functions that are used. _PTR: a handle, or a pointer to what is filled in.
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cuInit": (_UINT,),
    "cuDriverGetVersion": (_PTR,),
    "cuGetErrorName": (_INT, _PTR),
    "cuGetErrorString": (_INT, _PTR),
    "cuDeviceGetCount": (_PTR,),
    "cuDeviceGet": (_PTR, _INT),
    "cuDeviceGetName": (_PTR, _INT, _INT),
    "cuDeviceTotalMem_v2": (_PTR, _INT),
    "cuDeviceGetAttribute": (_PTR, _INT, _INT),
    "cuDeviceGetUuid_v2": (_PTR, _INT),
    "cuDeviceCanAccessPeer": (_PTR, _INT, _INT),
    "cuDevicePrimaryCtxRetain": (_PTR, _INT),
    "cuDevicePrimaryCtxRelease_v2": (_INT,),
    "cuCtxSetCurrent": (_PTR,),
    "cuCtxSynchronize": (),
    "cuMemGetInfo_v2": (_PTR, _PTR),
    "cuMemAlloc_v2": (_PTR, _SIZE),
    "cuMemFree_v2": (_ADDRESS,),
    "cuMemHostAlloc": (_PTR, _SIZE, _UINT),
    "cuMemFreeHost": (_PTR,),
    "cuMemHostRegister_v2": (_PTR, _SIZE, _UINT),
    "cuMemHostUnregister": (_PTR,),
    "cuMemcpyHtoDAsync_v2": (_ADDRESS, _PTR, _SIZE, _PTR),
    "cuMemcpyDtoHAsync_v2": (_PTR, _ADDRESS, _SIZE, _PTR),
    "cuMemcpyDtoDAsync_v2": (_ADDRESS, _ADDRESS, _SIZE, _PTR),
    "cuMemcpyPeerAsync": (_ADDRESS, _PTR, _ADDRESS, _PTR, _SIZE, _PTR),
    "cuMemsetD8Async": (_ADDRESS, ctypes.c_ubyte, _SIZE, _PTR),
    "cuStreamCreateWithPriority": (_PTR, _UINT, _INT),
    "cuStreamDestroy_v2": (_PTR,),
    "cuStreamSynchronize": (_PTR,),
    "cuStreamQuery": (_PTR,),
    "cuStreamWaitEvent": (_PTR, _PTR, _UINT),
    "cuStreamBeginCapture_v2": (_PTR, _INT),
    "cuStreamEndCapture": (_PTR, _PTR),
    "cuThreadExchangeStreamCaptureMode": (_PTR,),
    "cuEventCreate": (_PTR, _UINT),
    "cuEventRecord": (_PTR, _PTR),
    "cuEventRecordWithFlags": (_PTR, _PTR, _UINT),
    "cuEventQuery": (_PTR,),
    "cuEventSynchronize": (_PTR,),
    "cuEventElapsedTime": (_PTR, _PTR, _PTR),
    "cuEventDestroy_v2": (_PTR,),
    "cuLinkCreate_v2": (_UINT, _PTR, _PTR, _PTR),
    "cuLinkAddData_v2": (_PTR, _INT, _PTR, _SIZE, _TEXT, _UINT, _PTR, _PTR),
    "cuLinkComplete": (_PTR, _PTR, _PTR),
    "cuLinkDestroy": (_PTR,),
    "cuModuleLoadData": (_PTR, _PTR),
    "cuModuleUnload": (_PTR,),
    "cuModuleGetFunction": (_PTR, _PTR, _TEXT),
    "cuLaunchKernel": (_PTR, *[_UINT] * 7, _PTR, _PTR, _PTR),
    "cuGraphGetNodes": (_PTR, _PTR, _PTR),
    "cuGraphInstantiateWithFlags": (_PTR, _PTR, ctypes.c_uint64),
    "cuGraphLaunch": (_PTR, _PTR),
    "cuGraphExecDestroy": (_PTR,),
    "cuGraphDestroy": (_PTR,),
}
# Answers that mean more than "failed".
SUCCESS, OUT_OF_MEMORY, NO_DEVICE, INVALID_DEVICE, NOT_READY = 0, 2, 100, 101, 600
# After these every call of the process fails: the context is gone.
DEAD = {214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719}
# What asks for memory of tensors, whose allocator gives cached memory back by itself.
_TENSORS_OWN = ("cuMemAlloc_v2",)
# Attributes of devices.
ATTRIBUTES = {
    "major": 75,
    "minor": 76,
    "processors": 16,
    "l2": 38,
    "clock_rate": 13,
    "memory_clock_rate": 36,
    "memory_bus_width": 37,
    "pci_bus_id": 33,
    "pci_device_id": 34,
    "pci_domain_id": 50,
    "is_integrated": 18,
    "is_multi_gpu_board": 84,
    "shared_memory_per_block": 8,
    "shared_memory_per_block_optin": 97,
    "shared_memory_per_multiprocessor": 81,
    "max_threads_per_multi_processor": 39,
    "regs_per_multiprocessor": 82,
}


class DriverError(AcceleratorError):
    """What a function of the driver answers: `code` is its number."""

    code = 0


class NoDriver(RuntimeError):
    """There is no driver, none that is new enough, or no device."""


def _shown(argument: Any) -> str:
    """An argument of a call as an error shows it: a pointer by what it points to, numbers beyond 16 bits in
    hexadecimal, names as they are, data by their length.
    """
    place = getattr(argument, "_obj", None)
    if place is not None:
        return f"&{_shown(getattr(place, 'value', type(place).__name__))}"
    if isinstance(argument, bytes):
        return repr(argument) if len(argument) < 80 else f"<{len(argument)} bytes>"
    if isinstance(argument, int):
        return str(argument) if abs(argument) < 1 << 16 else hex(argument)
    return str(getattr(argument, "value", None) or argument)[:80]


def find() -> Any:
    """libcuda; NoDriver where it cannot be loaded."""
    names = ["nvcuda.dll"] if sys.platform == "win32" else ["libcuda.so.1", "libcuda.so"]
    if sys.platform != "win32":  # where it lies in containers whose loader does not know it
        names += [f"{folder}/libcuda.so.1" for folder in ("/usr/local/nvidia/lib64", "/usr/lib/wsl/lib")]
    reason = ""
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reason = reason or str(error)
    raise NoDriver(
        "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a "
        f"driver from http://www.nvidia.com/Download/index.aspx ({reason}). RUSHLIGHT_CUDA=simulated gives a "
        "device without one"
    )


class Driver:
    """A library's functions, by name. NoDriver where it is too old or has no device."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.functions: dict[str, Callable[..., int]] = {}
        # Where the context died: every later call says so.
        self.dead: str | None = None
        # What gives memory back that is cached, so that the driver has some for itself.
        self.reliefs: list[Callable[[], None]] = []
        self.page_locked: Any = None  # the process's (pinned.py)
        self._devices: dict[int, int] = {}
        code = self.raw("cuInit")(0)
        if code == NO_DEVICE:
            raise NoDriver(
                "No CUDA GPUs are available: the NVIDIA driver is installed, and finds no device "
                f"(CUDA_VISIBLE_DEVICES={os.environ.get('CUDA_VISIBLE_DEVICES')!r})"
            )
        if code:
            raise NoDriver(f"Unexpected error from cuInit: {self.error_text(code)}")
        version = ctypes.c_int()
        self("cuDriverGetVersion", ctypes.byref(version))
        self.version = version.value
        if self.version < OLDEST:
            raise NoDriver(
                f"The NVIDIA driver on your system is too old (found version {self.version}: CUDA "
                f"{self.version // 1000}.{self.version % 1000 // 10}). Please update your GPU driver to one "
                f"for CUDA {OLDEST // 1000}.{OLDEST % 1000 // 10} or newer from "
                "http://www.nvidia.com/Download/index.aspx"
            )

    def raw(self, name: str) -> Callable[..., int]:
        """A function that answers its error number. NoDriver where the library lacks it."""
        found = self.functions.get(name)
        if found is None:
            try:
                found = getattr(self.library, name)
            except AttributeError:
                raise NoDriver(
                    f"The NVIDIA driver on your system is too old: it has no {name}. Please update it to one "
                    f"for CUDA {OLDEST // 1000}.{OLDEST % 1000 // 10} or newer"
                ) from None
            if isinstance(self.library, ctypes.CDLL):
                found.argtypes, found.restype = FUNCTIONS[name], ctypes.c_int
            self.functions[name] = found
        return found

    def __call__(self, name: str, *args: Any) -> None:
        """Call a function; what it answers but success is raised."""
        code = self.raw(name)(*args)
        if code == OUT_OF_MEMORY and name not in _TENSORS_OWN:
            self.relieve()
            code = self.raw(name)(*args)
        if code:
            self.refuse(code, name, args)

    def relieve(self) -> None:
        """Give cached memory back to the driver, which wants some for kernels, graphs or events."""
        for relief in self.reliefs:
            relief()

    def ready(self, name: str, handle: Any) -> bool:
        """Ask whether work is done: False where the driver answers "not ready"."""
        code = self.raw(name)(handle)
        if code == NOT_READY:
            return False
        if code:
            self.refuse(code, name, (handle,))
        return True

    def refuse(self, code: int, name: str, args: Sequence[Any] = ()) -> None:
        """Raise an answer that is no success, with what was asked."""
        call = f"{name}({', '.join([_shown(a) for a in args])})" if args else name
        if code == OUT_OF_MEMORY:
            raise DriverOutOfMemory(f"CUDA error: out of memory (error {code} of {call})")
        if self.dead is None and code in DEAD:
            # for the error alone
            from rushlight._engine.devices.cuda import words

            self.dead = f"first seen by {name} at {words.place()}"
        more = (
            f"\nThe context of the device is lost, {self.dead}; start the process anew" if self.dead else ""
        )
        error = DriverError(
            f"CUDA error: {self.error_text(code)} (error {code} of {call})\nCUDA kernel errors might be "
            "asynchronously reported at some other API call, so the stacktrace below might be incorrect.\n"
            f"For debugging consider passing CUDA_LAUNCH_BLOCKING=1{more}"
        )
        error.code = code
        raise error

    def error_text(self, code: int) -> str:
        """An error number in the driver's words."""
        text = _TEXT()
        if self.raw("cuGetErrorString")(code, ctypes.byref(text)) or text.value is None:
            return f"unknown error {code}"
        return text.value.decode()

    # --- devices --------------------------------------------------------------------------------

    def count(self) -> int:
        """How many devices there are."""
        found = ctypes.c_int()
        self("cuDeviceGetCount", ctypes.byref(found))
        return found.value

    def device(self, index: int) -> int:
        """The driver's handle of a device, by its number."""
        known = self._devices.get(index)
        if known is None:
            found = ctypes.c_int()
            self("cuDeviceGet", ctypes.byref(found), index)
            known = self._devices[index] = found.value
        return known

    def name(self, index: int) -> str:
        """A device's name."""
        buffer = ctypes.create_string_buffer(256)
        self("cuDeviceGetName", buffer, len(buffer), self.device(index))
        return buffer.value.decode()

    def memory(self, index: int) -> int:
        """Bytes of a device's memory."""
        found = ctypes.c_size_t()
        self("cuDeviceTotalMem_v2", ctypes.byref(found), self.device(index))
        return found.value

    def attribute(self, index: int, name: str) -> int:
        """One of ATTRIBUTES."""
        found = ctypes.c_int()
        self("cuDeviceGetAttribute", ctypes.byref(found), ATTRIBUTES[name], self.device(index))
        return found.value

    def uuid(self, index: int) -> str:
        """A device's own number, as nvidia-smi writes it."""
        buffer = (ctypes.c_uint8 * 16)()
        self("cuDeviceGetUuid_v2", buffer, self.device(index))
        return str(UUID(bytes=bytes(buffer)))

    def peers(self, one: int, two: int) -> bool:
        """Whether one device reads another's memory."""
        found = ctypes.c_int()
        self("cuDeviceCanAccessPeer", ctypes.byref(found), self.device(one), self.device(two))
        return bool(found.value)

    # --- making handles -------------------------------------------------------------------------

    def handle(self, name: str, *args: Any) -> int:
        """The handle that a function fills in as its first argument."""
        made = _PTR()
        self(name, ctypes.byref(made), *args)
        return made.value or 0


class Library:
    """Which library is used, libcuda if None: tests put an imitation here. `made`: the driver over it."""

    stand_in: Any = None
    made: Driver | None = None


def driver() -> Driver:
    """The process's driver, initialised. NoDriver where there is none."""
    made, wanted = Library.made, Library.stand_in
    if made is None or (wanted is not None and made.library is not wanted):
        made = Library.made = Driver(find() if wanted is None else wanted)
    return made
