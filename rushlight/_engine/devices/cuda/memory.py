"""A simulated device's memory: a range of addresses that the host cannot read, and the simulator's window on
it.

An address handed out lies in a reserved range that nobody may touch, so a read by a pointer ends the process,
as it does on real hardware. The numbers themselves lie in a second range, the window, which only the
simulator knows; pages of neither exist before something is written to them.
"""

from __future__ import annotations

import ctypes
import mmap
from bisect import insort
from typing import Any

import numpy as np

from rushlight._engine.core.layout import pointer
from rushlight._engine.devices.cuda.allocator import DriverOutOfMemory

_NORESERVE = 0x4000  # mmap's flag on Linux, which Python's module names from 3.13 on
_PRIVATE, _ANONYMOUS, _PROT_NONE, _PROT_RW = mmap.MAP_PRIVATE, mmap.MAP_ANONYMOUS, 0, 3
_DONTNEED = 4
# Segments begin at multiples of this.
GRANULE = 2 << 20
# How many times as many addresses as bytes there are.
ADDRESS_FACTOR = 4

Array = np.ndarray[Any, Any]


def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    ]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return libc


class Memory:
    """The memory of one simulated device: `total` bytes, of which some are the context's own."""

    def __init__(self, total: int, own: int) -> None:
        self.total, self.own, self.used = total, own, 0
        self._libc = _libc()
        # More addresses than memory: what is left between segments never stands in the way of a large one.
        size = -(-total // GRANULE) * GRANULE * ADDRESS_FACTOR + GRANULE
        window, self.base = self._map(size, _PROT_RW), self._map(size, _PROT_NONE)
        # Both ranges begin at a granule.
        window, self.base = -(-window // GRANULE) * GRANULE, -(-self.base // GRANULE) * GRANULE
        self._holes: list[tuple[int, int]] = [(0, size - GRANULE)]  # (offset, size), by offset
        self.shift = window - self.base  # from an address to the window
        self.window: Array = np.ctypeslib.as_array((ctypes.c_uint8 * (size - GRANULE)).from_address(window))
        self.first = window

    def __del__(self) -> None:
        if hasattr(self, "window"):
            self.drop()

    def drop(self) -> None:
        """The pages are gone; the addresses stay reserved, so that nothing else is found there."""
        self._libc.madvise(self.first, self.window.size, _DONTNEED)

    def _map(self, size: int, access: int) -> int:
        found = self._libc.mmap(None, size, access, _PRIVATE | _ANONYMOUS | _NORESERVE, -1, 0)
        if found in (None, ctypes.c_void_p(-1).value):
            raise RuntimeError(
                f"the simulated CUDA device cannot reserve {size} bytes of addresses: choose one with less "
                "memory, as in RUSHLIGHT_CUDA=simulated:4GB"
            )
        return int(found)

    def reserve(self, size: int) -> int:
        """The address of `size` bytes; DriverOutOfMemory where the device has no more."""
        size = -(-size // GRANULE) * GRANULE
        if self.used + size > self.total - self.own:
            raise DriverOutOfMemory(size)
        for i, (at, free) in enumerate(self._holes):
            if free >= size:
                self._holes[i : i + 1] = [(at + size, free - size)] if free > size else []
                self.used += size
                return self.base + at
        raise DriverOutOfMemory(size)

    def release(self, address: int, size: int) -> None:
        """Give memory back; its pages are gone."""
        size = -(-size // GRANULE) * GRANULE
        self.used -= size
        self._libc.madvise(address + self.shift, size, _DONTNEED)
        insort(self._holes, (address - self.base, size))
        merged: list[tuple[int, int]] = []
        for at, free in self._holes:
            if merged and merged[-1][0] + merged[-1][1] == at:
                merged[-1] = merged[-1][0], merged[-1][1] + free
            else:
                merged.append((at, free))
        self._holes = merged

    def seen(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> Array:
        """The window on an array at an address; for the simulator alone."""
        return np.ndarray(shape, dtype, self.window, address - self.base if address else 0, strides)

    def address_of(self, array: Array) -> int | None:
        """The device's address of an array that lies in the window, None for other arrays."""
        at = pointer(array) - self.first
        return self.base + at if 0 <= at < self.window.size else None
