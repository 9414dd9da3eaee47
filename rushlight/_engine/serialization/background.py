"""Work beside the writing of a file: the way to the disk, and what its place held before."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

# A large record is written in stretches; while one is, the last one goes to the disk.
STRETCH, LARGE = 1 << 25, 1 << 22


def beside(call: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    """Start call(*args) on a thread; a function that waits for what it gives, None after an OSError.

    Where no thread can start any more, as at the end of the program, it is called here and now.
    """
    found: list[Any] = []

    def run() -> None:
        with suppress(OSError):
            found.append(call(*args))

    def wait() -> Any:
        if thread.ident is not None:
            thread.join()
        return found[0] if found else None

    thread = threading.Thread(target=run)
    try:
        thread.start()
    except RuntimeError:
        run()
    return wait


class WritebackFile(io.FileIO):
    """A file whose data starts for the disk while more is written."""

    def write(self, data: Any) -> int:
        """Write the beginning of `data`, or all of it; how many bytes that is."""
        count = super().write(memoryview(data)[:STRETCH])
        if count >= LARGE and hasattr(os, "posix_fadvise"):
            with suppress(OSError):  # it is no file on a disk
                os.posix_fadvise(self.fileno(), self.tell() - count, count, os.POSIX_FADV_DONTNEED)
        return count
