"""The interface to devices beside the CPU: what the engine knows of them before one is in use.

`devices/cuda` registers its `Platform` here when a program first asks for CUDA and there is some: a driver,
or the setting `cuda`. Until then the interface costs nothing: arrays of a device have a class of their own,
which only the slow branches ask for, and kinds of a device have a `backend`, which is None for the CPU's.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np

from rushlight._engine.core.services import service
from rushlight._engine.core.settings import on_change, settings

if TYPE_CHECKING:  # an interface to be checked against, which no program loads
    from rushlight._engine.core.backend import Platform


class DeviceArrayLike(Protocol):
    """An array on a device, as the engine lays out its memory; NumPy's stands for it where types are told."""

    device: Any
    address: int
    ndim: int
    dtype: np.dtype[Any]

    def outline(self) -> np.ndarray[Any, Any]:
        """A NumPy array of the same geometry, whose elements are not to be read."""

    def whole(self) -> np.ndarray[Any, Any]:
        """All bytes of the memory, one after the other."""

    def relaid(
        self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0, dtype: Any = None
    ) -> np.ndarray[Any, Any]:
        """The same memory in another layout; strides and offset (from the first element) in bytes."""


class NoArray:
    """Stands for the class of arrays on a device while there is none: nothing is an instance."""


class Interface:
    """What is registered: the class of arrays on a device, and the platform that owns the devices."""

    array: type = NoArray
    platform: Platform | None = None
    looked = False


# Memory of the host's that programs have had page-locked where it lies (cudaHostRegister): addresses with
# the bytes from there on.
REGISTERED: dict[int, int] = {}


def is_registered(address: int) -> bool:
    """Whether a program has had memory page-locked that an address is in."""
    return any([begin <= address < begin + size for begin, size in REGISTERED.items()])


class Products:
    """torch.backends.cuda.matmul: how products on a device may round."""

    allow_fp16_reduced_precision_reduction = allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False
    fp32_precision = "none"  # or "tf32", "ieee"
    _precision = "highest"  # torch.get_float32_matmul_precision()

    @property
    def allow_tf32(self) -> bool:
        """Whether products of float32 may round their operands to 10 bits."""
        return self.fp32_precision == "tf32"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        self.fp32_precision, self._precision = ("tf32", "high") if allowed else ("ieee", "highest")

    def set_precision(self, precision: str) -> None:
        """torch.set_float32_matmul_precision(): all but "highest" let products round."""
        self.allow_tf32 = precision != "highest"
        self._precision = precision

    def get_precision(self) -> str:
        """torch.get_float32_matmul_precision()."""
        return self._precision

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        switched()


def switched() -> None:
    """Forget what calls came to: a switch was set that says how, or by whom, numbers are computed."""
    for forget in on_change:
        forget()
    if Interface.platform is not None:
        for device in Interface.platform.devices():
            device.prepared.clear()


PRODUCTS = Products()
# A driver of NVIDIA's leaves one of these behind.
_SIGNS = ("/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg")


def wanted() -> bool:
    """Whether CUDA is to be looked for: it is set, or there is a driver, and it is not switched off."""
    setting = settings.cuda
    if setting:
        return bool(setting != "off")
    return any(map(os.path.exists, _SIGNS))


def platform() -> Platform | None:
    """The platform that owns CUDA devices, loaded when this is first asked; None where there is none.

    RuntimeError for a setting that means nothing.
    """
    if not Interface.looked:
        found = service("CUDA devices")() if wanted() else None
        Interface.platform, Interface.looked = found, True
        if found is not None:
            Interface.array = found.array_type
    return Interface.platform


def page_locked(array: Any) -> Any:
    """A host's array in page-locked memory, where the driver of real devices has such; else itself."""
    owner = platform()
    return array if owner is None else owner.page_locked(array)


def asarray(value: Any) -> Any:
    """An array on a device as it is, anything else as NumPy's."""
    return value if value.__class__ is Interface.array else np.asarray(value)


def host(array: Any) -> Any:
    """An array's elements for the host, which waits for those of a device; the host's own as they are."""
    away: bool = type(array) is Interface.array
    return array.device.read(array).copy() if away else array


def is_away(value: Any) -> TypeGuard[DeviceArrayLike]:
    """Whether it is an array on a device."""
    return value.__class__ is Interface.array
