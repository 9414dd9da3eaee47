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

from rushlight._engine.core.layout import Layout, contiguous_strides, extent

_RANGE = 1 << 44


@lru_cache(maxsize=1)
def _nowhere() -> Any:
    size = _RANGE
    while size > 1 << 20:
        try:
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
            return mmap.mmap(-1, size, flags=flags, prot=mmap.PROT_READ)
        except (OSError, ValueError, OverflowError):
            size >>= 1
    return bytes(size)


def meta_array(
    sizes: tuple[int, ...], np_dtype: Any, strides: tuple[int, ...] | None = None, offset: int = 0
) -> np.ndarray[Any, Any]:
    """An array of this shape without data; strides, and where it begins in its memory, are in elements."""
    dtype = np.dtype(np_dtype)
    if math.prod(sizes) * dtype.itemsize > len(_nowhere()):
        # Beyond the address range: every element is the same one, which loses only the strides.
        return np.broadcast_to(np.zeros((), dtype), sizes)
    layout = Layout(sizes, contiguous_strides(sizes) if strides is None else strides)
    # A piece of the range is its storage, as long as a true tensor's.
    buffer = np.frombuffer(_nowhere(), np.uint8, (offset + extent(layout)) * dtype.itemsize)
    return np.ndarray(
        sizes, dtype, buffer, offset * dtype.itemsize, tuple(s * dtype.itemsize for s in layout.strides)
    )
