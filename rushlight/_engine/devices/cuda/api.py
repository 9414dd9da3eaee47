"""torch.cuda where there is a device: which there are, and which of them is used."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import wraps
from typing import Any

from rushlight._engine.core import accelerator
from rushlight._engine.core.device import device as _torch_device
from rushlight._engine.devices.cuda.accounts import tracing
from rushlight._engine.devices.cuda.platform import Platform
from rushlight._engine.devices.cuda.rows import Rows
from rushlight._engine.names.absent_devices import AcceleratorError, OutOfMemoryError  # noqa: F401

# What PyTorch's builds are made for; the simulated device takes kernels for any of them.
_ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")


def platform() -> Platform:
    """The platform; AssertionError where there is none."""
    found = accelerator.platform()
    if not isinstance(found, Platform):
        raise AssertionError("Torch not compiled with CUDA enabled")
    return found


def index_of(given: Any, optional: bool = True) -> int:
    """A device's number from a number, a name, a torch.device or a torch.cuda.device; None and "cuda" are the
    current one.

    ValueError for a device of another type, RuntimeError for a number that is not there.
    """
    if given is None and optional:
        return platform().current
    if isinstance(given, device):
        given = given.idx
    if isinstance(given, int) and not isinstance(given, bool):
        return platform().checked(given) if given >= 0 else platform().current
    where = given if isinstance(given, _torch_device) else _torch_device(given)
    if where.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {where}")
    return platform().current if where.index is None else platform().checked(where.index)


def backend(given: Any = None) -> Rows:
    """The device that an argument of torch.cuda's functions means."""
    return platform().device(index_of(given))


def is_available() -> bool:
    """Whether there is a CUDA device."""
    return accelerator.platform() is not None


def is_initialized() -> bool:
    """Whether a device has been used."""
    return bool(platform().initialized)


def _is_compiled() -> bool:
    """Whether this build knows CUDA devices: it does, where one is there."""
    return True


def _is_in_bad_fork() -> bool:
    """Whether this is a forked child of a process that has used a device, and so may use none."""
    return platform().forked


def init() -> None:
    """Make the current device ready; ops do that by themselves."""
    backend()


def device_count() -> int:
    """How many devices there are."""
    return platform().count


def current_device() -> int:
    """The number of this thread's current device."""
    return platform().current


def set_device(device: Any) -> None:
    """Make a device this thread's current one; nothing for a negative number."""
    if not (isinstance(device, int) and device < 0):
        platform().current = index_of(device)


def _properties(given: Any) -> _CudaDeviceProperties:
    index = index_of(given)
    return _CudaDeviceProperties(platform().cards[index], index)


class _CudaDeviceProperties:
    """What get_device_properties tells."""

    name: str
    uuid: str
    gcnArchName: str
    total_memory: int  # bytes
    major: int
    minor: int
    multi_processor_count: int
    L2_cache_size: int  # bytes
    warp_size: int
    max_threads_per_multi_processor: int
    regs_per_multiprocessor: int
    shared_memory_per_block: int  # bytes
    clock_rate: int  # kHz
    memory_clock_rate: int  # kHz
    memory_bus_width: int  # bits

    def __init__(self, card: Any, index: int) -> None:
        self.name, self.total_memory, (self.major, self.minor) = card.name, card.memory, card.capability
        self.multi_processor_count, self.L2_cache_size = card.processors, card.l2
        self.warp_size, self.max_threads_per_multi_processor = 32, 2048 if card.capability[0] != 7 else 1024
        self.regs_per_multiprocessor, self.shared_memory_per_block = 65536, 49152
        self.shared_memory_per_block_optin = {7: 65536, 8: 101376, 9: 232448}.get(card.capability[0], 232448)
        self.shared_memory_per_multiprocessor = self.shared_memory_per_block_optin + 1024
        self.is_integrated = self.is_multi_gpu_board = 0
        self.gcnArchName = card.name
        self.uuid = f"00000000-0000-0000-0000-{index:012x}"
        self.pci_bus_id, self.pci_device_id, self.pci_domain_id = index, 0, 0
        self.clock_rate, self.memory_clock_rate, self.memory_bus_width = 1410000, 1215000, 5120
        for name, value in platform().driver_attributes(index).items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count}, "
            f"uuid={self.uuid}, pci_bus_id={self.pci_bus_id}, pci_device_id={self.pci_device_id}, "
            f"pci_domain_id={self.pci_domain_id}, L2_cache_size={self.L2_cache_size >> 20}MB)"
        )


def get_device_properties(device: Any = None) -> _CudaDeviceProperties:
    """Name, memory, capability and more of a device."""
    return _properties(device)


def get_device_name(device: Any = None) -> str:
    """The card's name; a simulated one says so."""
    return str(_properties(device).name)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """(major, minor) of the compute capability."""
    found = _properties(device)
    return found.major, found.minor


def get_arch_list() -> list[str]:
    """The architectures that kernels are made for."""
    return list(_ARCHITECTURES)


def get_gencode_flags() -> str:
    """The same as flags of NVIDIA's compiler."""
    return " ".join(f"-gencode compute=compute_{a[3:]},code={a}" for a in _ARCHITECTURES)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current device computes in bfloat16."""
    return including_emulation or get_device_capability()[0] >= 8


def is_tf32_supported() -> bool:
    """Whether the current device has TF32."""
    return get_device_capability()[0] >= 8


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether one device reads another's memory; simulated ones all do."""
    return bool(platform().peers(index_of(device, False), index_of(peer_device, False)))


def current_blas_handle() -> int:
    """A number that stands for the handle of cuBLAS; there is none on a simulated device."""
    return id(backend())


def synchronize(device: Any = None) -> None:
    """Wait until all work of a device's streams is done; what failed in it is raised."""
    backend(device).synchronize()
    tracing.tell(tracing.DEVICE_SYNCHRONIZATION)


def ipc_collect() -> None:
    """Nothing: memory is not shared with other processes."""


def get_sync_debug_mode() -> int:
    """What happens where the host waits for a device: 0 nothing, 1 a warning, 2 an error."""
    return int(platform().sync_mode)


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Set what happens where the host waits for a device: "default", "warn" or "error", or 0, 1, 2."""
    names = ("default", "warn", "error")
    if isinstance(debug_mode, str):
        if debug_mode not in names:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
        debug_mode = names.index(debug_mode)
    platform().sync_mode = debug_mode


class device:
    """The current device within a `with` block; a negative number or None changes nothing."""

    def __init__(self, device: Any) -> None:
        none = device is None or (isinstance(device, int) and device < 0)
        self.idx = -1 if none else index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> device:
        self.prev_idx = current_device()
        set_device(self.idx)
        return self

    def __exit__(self, *raised: object) -> None:
        set_device(self.prev_idx)


class device_of(device):
    """The device of a tensor or storage within a `with` block; nothing for one of the CPU."""

    def __init__(self, obj: Any) -> None:
        where = obj.device
        super().__init__(where.index if where.type == "cuda" else -1)


_INVALID_HANDLE, _REGISTERED_ALREADY, _NOT_REGISTERED = 400, 712, 713


class _Runtime:
    """What torch.cuda.cudart() gives: a few functions of NVIDIA's runtime, which answer with an error
    number.
    """

    class cudaError:
        """Names of results."""

        success = 0

    def cudaProfilerStart(self) -> int:
        """Nothing."""
        return 0

    cudaProfilerStop = cudaProfilerStart

    def cudaMemGetInfo(self, device: int = 0) -> tuple[int, int]:
        """(free, total) bytes."""
        memory = platform().device(device).memory
        return memory.total - memory.own - memory.used, memory.total

    def cudaHostRegister(self, pointer: int, size: int, flags: int) -> int:
        """Have memory of the host's page-locked where it lies; an error's number where it is already."""
        if any([b < pointer + size and pointer < b + n for b, n in accelerator.REGISTERED.items()]):
            return _REGISTERED_ALREADY
        code = platform().host_registered("cuMemHostRegister_v2", pointer, size, flags)
        if not code:
            accelerator.REGISTERED[pointer] = size
        return code

    def cudaHostUnregister(self, pointer: int) -> int:
        """End it; an error's number where it was not."""
        if accelerator.REGISTERED.pop(pointer, None) is None:
            return _NOT_REGISTERED
        return platform().host_registered("cuMemHostUnregister", pointer)

    def cudaStreamCreate(self, pointer: int) -> int:
        """A new stream of the current device; its handle is written to the address `pointer`."""
        handle = backend(None).own_stream().number
        ctypes.c_void_p.from_address(pointer).value = handle
        return 0

    def cudaStreamDestroy(self, stream: int) -> int:
        """End a stream, by its handle, once its work is done; an error's number where there is none."""
        if any([d.end_stream(stream) for d in platform().devices()]):
            return 0
        return _INVALID_HANDLE

    def cudaGetErrorString(self, error: int) -> str:
        """The text of an error number."""
        return _ERRORS.get(int(error), f"error {error}")


# NVIDIA's texts of the runtime's errors, by cudaError_t.
_ERRORS = {
    0: "no error",
    1: "invalid argument",
    2: "out of memory",
    3: "initialization error",
    4: "driver shutting down",
    9: "invalid configuration argument",
    35: "CUDA driver version is insufficient for CUDA runtime version",
    98: "invalid device function",
    100: "no CUDA-capable device is detected",
    101: "invalid device ordinal",
    201: "invalid device context",
    209: "no kernel image is available for execution on the device",
    400: "invalid resource handle",
    600: "device not ready",
    700: "an illegal memory access was encountered",
    702: "the launch timed out and was terminated",
    710: "device-side assert triggered",
    712: "part or all of the requested memory range is already mapped",
    713: "pointer does not correspond to a registered memory region",
    716: "misaligned address",
    719: "unspecified launch failure",
    801: "operation not supported",
    900: "operation not permitted when stream is capturing",
    999: "unknown error",
}


def cudart() -> _Runtime:
    """A few functions of NVIDIA's runtime."""
    init()
    return _Runtime()


def _unknown(name: str) -> Callable[..., Any]:
    def refused(*args: Any, **kwargs: Any) -> Any:
        raise ModuleNotFoundError(
            f"torch.cuda.{name} is not there: nvidia-smi, or the package nvidia-ml-py, reads it off a card"
        )

    return wraps(refused)(refused)


utilization, memory_usage, temperature, power_draw, clock_rate, device_memory_used = map(
    _unknown, ("utilization", "memory_usage", "temperature", "power_draw", "clock_rate", "device_memory_used")
)
