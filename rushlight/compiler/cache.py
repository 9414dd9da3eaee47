"""Compiled code on disk, found by the content that it was compiled from.

An entry is a file named by a key (a digest of the kernel's text, of the emitters' own source, of
the processor and of LLVM's version): a digest of the code, then the code. Entries are written to a
temporary name and renamed, so that processes may share a directory; damaged ones are ignored, and
so is a directory that cannot be written.
"""
from __future__ import annotations

import os
import tempfile
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from rushlight.base.config import knobs

_DIGEST = 32
# Modules whose text decides what code a kernel's text becomes.
_SOURCES = ("compiler", "derive/types.py", "base/special.py", "base/boxmuller.py")


def directory() -> Path:
    """Where entries are kept."""
    if knobs.cache_dir:
        return Path(knobs.cache_dir)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "rushlight"


@lru_cache(maxsize=None)
def emitter_digest() -> str:
    """A digest of the source that generates code."""
    root = Path(__file__).resolve().parent.parent
    total = sha256()
    for name in _SOURCES:
        place = root / name
        for file in sorted(place.glob("*.py")) if place.is_dir() else [place]:
            total.update(file.read_bytes() if file.exists() else b"absent")
    return total.hexdigest()


def key(*texts: str) -> str:
    """The name of the entry for these texts."""
    total = sha256(emitter_digest().encode())
    for text in texts:
        total.update(b"\0" + text.encode())
    return total.hexdigest()[:40]


def find(name: str) -> bytes | None:
    """The code of an entry, or None if it is absent or damaged."""
    if not knobs.cache:
        return None
    try:
        data = (directory() / name).read_bytes()
    except OSError:
        return None
    code = data[_DIGEST:]
    return code if code and sha256(code).digest() == data[:_DIGEST] else None


def keep(name: str, code: bytes) -> None:
    """Write an entry; a directory that cannot be written is no error."""
    if not knobs.cache:
        return
    place = directory()
    try:
        place.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".new-", dir=place)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(sha256(code).digest() + code)
            os.replace(temporary, place / name)
        except OSError:
            os.unlink(temporary)
    except OSError:
        return
