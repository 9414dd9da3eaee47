"""Files that are written as a whole or not at all.

`replacing(path)` opens a temporary file beside `path`; when the block ends well, the data is
flushed to the disk and the file takes `path`'s name in one step. When it does not (a full disk, an
error, a killed process), what was at `path` is untouched.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from rushlight._engine.serialization.background import Early, beside


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces `path` when the block ends without an error."""
    with replacing_path(path) as temporary, io.BufferedWriter(Early(temporary, "wb")) as file:
        yield file


@contextmanager
def replacing_path(path: str) -> Iterator[str]:
    """The path of an empty file that replaces `path` when the block ends without an error.

    A symbolic link is followed, an existing file keeps its permissions. What is no regular file
    (a pipe, /dev/null) cannot be replaced: its own path is given.
    """
    target = os.path.realpath(path)
    mode = _mode(target)
    if mode is not None and not stat.S_ISREG(mode):
        yield target
        return
    temporary = f"{target}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
    held = os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb")
    try:
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        yield temporary
        os.fsync(held.fileno())
        held.close()
        old = -1
        with suppress(OSError):
            old = os.open(target, os.O_RDONLY)
        os.replace(temporary, target)
        beside(os.close, old)  # a large file's memory is given back meanwhile, which takes long
    except BaseException:
        held.close()
        with suppress(OSError):  # the error that brought us here matters more
            os.unlink(temporary)
        raise
    _sync_directory(os.path.dirname(target))


def _mode(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _sync_directory(path: str) -> None:
    """Make the new name itself durable, where the system can."""
    with suppress(OSError):  # some file systems cannot; the file's data is safe all the same
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
