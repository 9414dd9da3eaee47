"""Page-locked memory of the host's, kept for later where nobody uses it, as in PyTorch: to lock pages takes
long, and to free them waits for the device.
"""

from __future__ import annotations

import threading
from typing import Any

from rushlight._engine.devices.cuda.driver.library import Driver

# Of page-locked memory: all contexts may use it.
PORTABLE = 1
_LEAST = 512


class PageLocked:
    """The page-locked memory of a process, in blocks whose sizes are powers of two."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._free: dict[int, list[int]] = {}
        self._lock = threading.RLock()  # a collector gives memory back at any time

    def take(self, size: int) -> int:
        """The address of memory for so many bytes. A device's context is current."""
        size = _block(size)
        with self._lock:
            free = self._free.get(size)
            address = free.pop() if free else 0
        if not address:
            address = self.driver.handle("cuMemHostAlloc", size, PORTABLE)
        return address

    def give(self, address: int, size: int) -> None:
        """Memory for so many bytes that nobody uses any more, nor any work that is queued."""
        with self._lock:
            self._free.setdefault(_block(size), []).append(address)

    def empty(self) -> None:
        """Give the driver all back that is free. A device's context is current."""
        with self._lock:
            blocks = [address for free in self._free.values() for address in free]
            self._free.clear()
        for address in blocks:
            self.driver.raw("cuMemFreeHost")(address)


def _block(size: int) -> int:
    return max(1 << (size - 1).bit_length(), _LEAST)


def of(driver: Any) -> PageLocked:
    """The process's."""
    found: PageLocked | None = driver.page_locked
    if found is None:
        found = driver.page_locked = PageLocked(driver)
    return found
