"""Compiled code on disk, found by the content that it was compiled from.

An entry is a file named by a key (a digest of the kernel's text, of the emitters' own source, of
the processor and of LLVM's version): a digest of name and code, then the code. Entries are written to a
temporary name and renamed, so that processes may share a directory; damaged ones are ignored, and
so is a directory that cannot be written.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from functools import cache
from hashlib import sha256

from rushlight._engine.core.settings import settings

_DIGEST = 32
# The names of the entries that this process has found or written.
USED: set[str] = set()
# Modules whose text decides what code a kernel's text becomes.
_SOURCES = (
    "kernels",
    "derive/types.py",
    "numerics/error_gamma.py",
    "numerics/box_muller.py",
    "numerics/coefficients.tsv",
)


def directory() -> str:
    """Where entries are kept."""
    if settings.cache_dir:
        return str(settings.cache_dir)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "rushlight")


@cache
def emitter_digest() -> str:
    """A digest of the source that generates code."""
    root = os.path.abspath(__file__).rpartition("kernels")[0]
    total = sha256()
    for name in _SOURCES:
        place = os.path.join(root, name)
        for path in _files(place) if os.path.isdir(place) else [place]:
            with open(path, "rb") as source:
                total.update(source.read())
    return total.hexdigest()


def _files(folder: str) -> list[str]:
    """The sources and tables in a folder and in those below it, in order."""
    return sorted(
        os.path.join(where, file)
        for where, _, files in os.walk(folder)
        for file in files
        if file.endswith((".py", ".tsv"))
    )


def key(*texts: str) -> str:
    """The name of the entry for these texts."""
    total = sha256(emitter_digest().encode())
    for text in texts:
        total.update(b"\0" + text.encode())
    return total.hexdigest()[:40]


def has(name: str) -> bool:
    """Whether there is an entry, whole or not."""
    return bool(settings.cache) and os.path.exists(os.path.join(directory(), name))


def find(name: str) -> bytes | None:
    """The code of an entry, or None if it is absent or damaged."""
    data = entry(name)
    return None if data is None else data[_DIGEST:]


def entry(name: str) -> bytes | None:
    """An entry with its digest, as put() takes it, or None if it is absent or damaged."""
    if not settings.cache:
        return None
    try:
        with open(os.path.join(directory(), name), "rb") as file:
            data = file.read()
    except OSError:
        return None
    if not _whole(name, data):
        return None
    USED.add(name)
    return data


def _whole(name: str, data: bytes) -> bool:
    code = data[_DIGEST:]
    return bool(code) and sha256(name.encode() + code).digest() == data[:_DIGEST]


def keep(name: str, code: bytes) -> None:
    """Write an entry; a directory that cannot be written is no error."""
    if settings.cache:
        put(name, sha256(name.encode() + code).digest() + code)


def put(name: str, data: bytes) -> bool:
    """Write an entry with its digest; False, and nothing is written, if that is another one's."""
    if not _whole(name, data) or os.path.basename(name) != name:
        return False
    USED.add(name)
    place = directory()
    with suppress(OSError):
        os.makedirs(place, exist_ok=True)
        # Unlike any other writer's: another process, or another thread of this one.
        temporary = os.path.join(place, f".new-{os.getpid()}-{threading.get_ident()}")
        try:
            with open(temporary, "xb") as file:
                file.write(data)
            os.replace(temporary, os.path.join(place, name))
        except OSError:
            os.unlink(temporary)
    return True
