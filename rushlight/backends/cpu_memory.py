"""Large buffers are recycled: glibc keeps freed memory instead of giving it back at every free.

Fresh pages cost more than the arithmetic on them: the system clears each one at its first touch.
Elsewhere than on glibc this does nothing.
"""
from __future__ import annotations

import ctypes
import sys

# mallopt's parameters (malloc.h).
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_HIGHEST = (1 << 30, 1 << 25)
_KEPT_FREE = (1 << 31) - 1


def keep_memory() -> bool:
    """Ask the C library to keep freed memory; whether it could be asked.

    Blocks of up to 1 GiB (32 MiB where glibc allows no more) come from the heap, which does not
    shrink.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    kept = bool(mallopt(_TRIM_THRESHOLD, _KEPT_FREE))
    return kept and any(mallopt(_MMAP_THRESHOLD, size) for size in _HIGHEST)
