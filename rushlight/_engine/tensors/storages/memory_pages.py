"""The pages of freed memory: kept for the next large results, or given back to the system.

glibc gives large freed blocks back at once, and a new page must be zeroed by the system before it is written:
for a result of some megabytes that takes as long as an addition does. So it is told to keep up to 256 MB at
the heap's end (mallopt(3)), unless the environment sets how it allocates. Other C libraries keep their ways.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from functools import cache
from typing import Any

import numpy as np

# mallopt's numbers of its parameters; how large blocks are kept (with their heads), and before glibc 2.35.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MOST, _MOST_BEFORE = -1, -3, (64 << 20) + 4096, 32 << 20

# Without it Linux refuses a range that is larger than its memory; Python's mmap names it from 3.13 on.
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


def _libc(name: str, *arguments: int) -> Any:
    if sys.platform == "linux":
        return getattr(ctypes.CDLL(None), name, lambda *_: None)(*arguments)
    return None


def keep(size: int = 256 << 20) -> None:
    """Keep up to `size` bytes of freed memory, in blocks of up to 64 MB (32 MB by old libraries)."""
    if not any(name.startswith(("MALLOC_TRIM_", "MALLOC_MMAP_", "GLIBC_TUNABLES")) for name in os.environ):
        _libc("mallopt", _MMAP_THRESHOLD, _MOST) or _libc("mallopt", _MMAP_THRESHOLD, _MOST_BEFORE)
        _libc("mallopt", _TRIM_THRESHOLD, size)


def give_back() -> None:
    """Give all that is free back to the system, between blocks in use too."""
    _libc("malloc_trim", 0)


def forget(a: np.ndarray[Any, Any]) -> None:
    """Give the whole pages of an array of bytes back: what it holds is lost, and it is usable as before."""
    low = -(-a.ctypes.data // mmap.PAGESIZE) * mmap.PAGESIZE
    size = (a.ctypes.data + a.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE - low
    if size > 0 and sys.platform == "linux":
        _madvise()(ctypes.c_void_p(low), ctypes.c_size_t(size), mmap.MADV_DONTNEED)


@cache
def _madvise() -> Any:
    return ctypes.CDLL(None).madvise


class Range:
    """A range of addresses that holds bytes where it is written to: as much as is needed, never moved."""

    def __init__(self, most: int = 1 << 35) -> None:
        self.most = most
        self._bytes: Any = None

    def forget(self) -> None:
        """Give the memory back that it has taken: what it holds is lost, but it does not move."""
        if self._bytes is not None:
            forget(self._bytes)

    def at(self, size: int) -> np.ndarray[Any, Any]:
        """The bytes, from a whole cache line on: `size` at least."""
        if self._bytes is None or self._bytes.size < size:
            try:
                flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
                self._bytes = np.frombuffer(mmap.mmap(-1, max(self.most, size), flags=flags), np.uint8)
            except (OSError, ValueError, OverflowError, AttributeError):  # Windows has no flags
                made = np.empty(size + _LINE, np.uint8)
                self._bytes = made[-made.ctypes.data % _LINE :]
        found: np.ndarray[Any, Any] = self._bytes
        return found


_LINE = 64
