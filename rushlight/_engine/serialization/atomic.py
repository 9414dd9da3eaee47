"""Files that are written as a whole or not at all.

`replacing(path)` opens a temporary file beside `path`; when the block ends well, the data is
flushed to the disk and the file takes `path`'s name in one step. When it does not (a full disk, an
error, a killed process), what was at `path` is untouched; the next save removes what a killed one left.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from rushlight._engine.serialization.background import WritebackFile, beside

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces `path` when the block ends without an error."""
    with replacing_path(path) as temporary, io.BufferedWriter(WritebackFile(temporary, "wb")) as file:
        yield file


@contextmanager
def replacing_path(path: str) -> Iterator[str]:
    """The path of an empty file that replaces `path` when the block ends without an error.

    A symbolic link is followed, an existing file keeps its permissions. What is no regular file
    (a pipe, /dev/null) cannot be replaced: its own path is given. So is that of an empty file: nothing is
    lost if it is written in part, and who made it (tempfile.NamedTemporaryFile) may hold it open.
    """
    target = os.path.realpath(path)
    mode = _mode(target)
    if mode is not None and not (stat.S_ISREG(mode) and os.path.getsize(target)):
        yield target
        return
    _sweep(target)
    temporary, held = _temporary(target)
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


def _temporary(target: str) -> tuple[str, BinaryIO]:
    """The path of a new file beside `target`, and the file, locked as long as it is open."""
    while True:
        path = f"{target}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
        held = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb")
        locked = _locked(held.fileno())
        if locked is None or (locked and os.path.exists(path)):  # nobody swept it before it was locked
            return path, held
        held.close()


def _locked(descriptor: int) -> bool | None:
    """Whether a file is this process's alone from now on, until it is closed or the process ends; None where
    there are no locks.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without them
        return None
    return True


def _sweep(target: str) -> None:
    """Remove what killed processes left of this file: temporary files that nobody has locked."""
    folder, name = os.path.split(target)
    left = re.compile(re.escape(name) + r"\.\d+-[0-9a-f]{8}\.tmp")
    with suppress(OSError):
        for entry in [e for e in os.listdir(folder) if left.fullmatch(e)]:
            path = os.path.join(folder, entry)
            with suppress(OSError), open(path, "rb") as file:
                if _locked(file.fileno()):
                    os.unlink(path)


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
