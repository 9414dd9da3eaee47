"""Arrays for the meta device: true sizes and strides over memory that does not exist.

A read-only, never-touched mapping of a huge range costs no memory; views of it behave as any
array's do, reading it gives zeros, and writing raises.
"""
from __future__ import annotations

import math
import mmap
from functools import lru_cache
from typing import Any

import numpy as np

_RANGE = 1 << 44


@lru_cache(maxsize=1)
def _nowhere() -> np.ndarray[Any, Any]:
    size = _RANGE
    while size > 1 << 20:
        try:
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
            return np.frombuffer(mmap.mmap(-1, size, flags=flags, prot=mmap.PROT_READ), np.uint8)
        except (OSError, ValueError, OverflowError):
            size >>= 1
    return np.frombuffer(bytes(size), np.uint8)


def meta_array(sizes: tuple[int, ...], np_dtype: Any,
               strides: tuple[int, ...] | None = None) -> np.ndarray[Any, Any]:
    """An array of this shape without data; strides are in elements."""
    dtype = np.dtype(np_dtype)
    if math.prod(sizes) * dtype.itemsize > _nowhere().size:
        # Beyond the address range: every element is the same one, which loses only the strides.
        return np.broadcast_to(np.zeros((), dtype), sizes)
    if strides is None:
        return np.ndarray(sizes, dtype, _nowhere())
    return np.ndarray(sizes, dtype, _nowhere(), 0, tuple(s * dtype.itemsize for s in strides))
