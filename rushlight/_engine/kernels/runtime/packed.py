"""Machine code that comes with the package: usual kernels, for common sets of instructions.

`python tools/kernel_pack.py` writes a file per set before a wheel is built: the digest of the emitters'
source, the length of the index, the index (a digest of kind and text, size, offset), and the code. A file
that other emitters made is of no use and is left alone; where there is none kernels are compiled, to the
same bits.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from hashlib import sha256
from struct import Struct, error as StructError
from zlib import compress, decompress

from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.runtime import cache

_HEAD, _ENTRY = Struct("<32sQ"), Struct("<20sIQ")


def path(of: str) -> str:
    """The file of a set of instructions."""
    return os.path.join(os.path.dirname(__file__), f"{of}.kernels")


@functools.cache
def _index() -> tuple[str, dict[bytes, tuple[int, int]]]:
    """The file for this processor, and where in it each kernel is."""
    chosen = next(iter(target.sets()), None) if settings.packed else None
    if chosen is None:
        return "", {}
    try:
        with open(path(chosen), "rb") as file:
            digest, size = _HEAD.unpack(file.read(_HEAD.size))
            if digest.hex() != cache.emitter_digest():
                return "", {}
            entries = _ENTRY.iter_unpack(file.read(size))
            return path(chosen), {name: (offset, length) for name, length, offset in entries}
    except (OSError, StructError):
        return "", {}


def _name(kind: str, text: str) -> bytes:
    return sha256(f"{kind}\0{text}".encode()).digest()[:20]


def has(kind: str, text: str) -> bool:
    """Whether there is machine code of these."""
    return _name(kind, text) in _index()[1]


def find(kind: str, text: str) -> bytes | None:
    """The machine code of what native.address calls so, or None."""
    file, entries = _index()
    place = entries.get(_name(kind, text))
    if place is None:
        return None
    with open(file, "rb") as opened:
        opened.seek(place[0])
        return decompress(opened.read(place[1]))


def write(file: str, codes: Mapping[tuple[str, str], bytes]) -> None:
    """Write a file of codes by kind and text."""
    small = {_name(*source): compress(code, 9) for source, code in sorted(codes.items())}
    offset, index = _HEAD.size + _ENTRY.size * len(small), b""
    for name, code in small.items():
        index += _ENTRY.pack(name, len(code), offset)
        offset += len(code)
    with open(file, "wb") as opened:
        opened.write(_HEAD.pack(bytes.fromhex(cache.emitter_digest()), len(index)))
        opened.write(b"".join([index, *small.values()]))
