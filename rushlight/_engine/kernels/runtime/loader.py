"""Object code into memory, without LLVM: a linker for what our own emitters produce.

A relocatable ELF file's sections are laid out side by side in one mapping (so that relative
addresses always reach, which two mappings do not promise), followed by a stub per external
function; then the mapping becomes executable. A kernel from the cache on disk so costs a fraction
of a millisecond, and llvmlite is not even imported. Linux on x86-64 and 64-bit ARM.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from rushlight._engine.numerics.ufunc import libm_address

_ALLOC, _NOBITS, _SYMTAB, _RELA = 2, 8, 2, 4
_STUB = 16
_kept: list[Any] = []


class Unlinkable(Exception):
    """The file has something that this linker does not know."""


def supported() -> bool:
    """Whether this system's object files can be loaded here."""
    return sys.platform.startswith("linux") and platform.machine() in _RELOCATIONS


@cache
def _address(name: str) -> int:
    """Where a function of the C library is."""
    found = libm_address(name)
    if found is None:
        found = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    if found is None:
        raise Unlinkable(f"no function {name}")
    return found


# --- relocations: (memory, place, target, symbol + addend, address of place) -> None ---------------


def _absolute(m: Any, at: int, value: int, place: int) -> None:
    struct.pack_into("<Q", m, at, value & (1 << 64) - 1)


def _relative(m: Any, at: int, value: int, place: int) -> None:
    struct.pack_into("<i", m, at, value - place)


def _patch(m: Any, at: int, clear: int, bits: int) -> None:
    word = struct.unpack_from("<I", m, at)[0]
    struct.pack_into("<I", m, at, word & ~clear & 0xFFFFFFFF | bits)


def _page(m: Any, at: int, value: int, place: int) -> None:
    pages = (value >> 12) - (place >> 12)
    _patch(m, at, 0x60FFFFE0, (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5)


def _branch(m: Any, at: int, value: int, place: int) -> None:
    _patch(m, at, 0x3FFFFFF, (value - place) >> 2 & 0x3FFFFFF)


def _low(shift: int, m: Any, at: int, value: int, place: int) -> None:
    _patch(m, at, 0xFFF << 10, (value & 0xFFF) >> shift << 10)


# The psABI's numbers of what LLVM emits for position-independent code of the small model.
_RELOCATIONS: dict[str, dict[int, Callable[..., None]]] = {
    "x86_64": {1: _absolute, 2: _relative, 4: _relative},
    "aarch64": {
        257: _absolute,
        261: _relative,
        275: _page,
        282: _branch,
        283: _branch,
        **{
            kind: partial(_low, k) for kind, k in ((277, 0), (278, 0), (284, 1), (285, 2), (286, 3), (299, 4))
        },
    },
}


def _stub(machine: str, address: int) -> bytes:
    """A jump to any address."""
    if machine == "x86_64":
        return b"\xff\x25\0\0\0\0" + struct.pack("<Q", address) + b"\0\0"
    return struct.pack("<IIQ", 0x58000050, 0xD61F0200, address)  # ldr x16, .+8; br x16


class _Object:
    """The parts of an ELF file."""

    def __init__(self, code: bytes) -> None:
        self.code = code
        (start,) = struct.unpack_from("<Q", code, 40)
        size, count, names = struct.unpack_from("<HHH", code, 58)
        fields = [struct.unpack_from("<IIQQQQIIQQ", code, start + i * size) for i in range(count)]
        self.sections = fields
        self.names = [self.text(fields[names][4] + f[0]) for f in fields]
        table = next(f for f in fields if f[1] == _SYMTAB)
        strings = fields[table[6]][4]
        self.symbols = [struct.unpack_from("<IBBHQQ", code, table[4] + 24 * i) for i in range(table[5] // 24)]
        self.symbol_names = [self.text(strings + s[0]) for s in self.symbols]

    def text(self, offset: int) -> str:
        return self.code[offset : self.code.index(b"\0", offset)].decode()

    def loaded(self) -> list[int]:
        """Numbers of the sections that belong in memory (tables for unwinding do not)."""
        return [
            i
            for i, f in enumerate(self.sections)
            if f[2] & _ALLOC and f[5] and not self.names[i].startswith(".eh_frame")
        ]


def load(code: bytes, symbols: tuple[str, ...], externals: Mapping[str, int]) -> list[int]:
    """Put object code into memory; the addresses of `symbols`.

    Functions that it does not define come from `externals` or the C library. Unlinkable if it uses
    what no emitter of ours produces.
    """
    machine = platform.machine()
    found = _Object(code)
    offsets, end = {}, 0
    for i in found.loaded():
        align = max(found.sections[i][8], 1)
        end = -(-end // align) * align
        offsets[i] = end
        end += found.sections[i][5]
    missing = sorted({n for n, s in zip(found.symbol_names, found.symbols, strict=True) if s[3] == 0 and n})
    stubs = {name: -(-end // _STUB) * _STUB + _STUB * k for k, name in enumerate(missing)}
    size = end + _STUB * (len(missing) + 1)
    memory = mmap.mmap(-1, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for i, offset in offsets.items():
        _, kind, _, _, where, length, *_ = found.sections[i]
        if kind != _NOBITS:
            memory[offset : offset + length] = code[where : where + length]
    for name, offset in stubs.items():
        address = externals.get(name) or _address(name)
        memory[offset : offset + _STUB] = _stub(machine, address)
    values = [
        base + (stubs[n] if s[3] == 0 and n else offsets.get(s[3], 0) + s[4])
        for n, s in zip(found.symbol_names, found.symbols, strict=True)
    ]
    _relocate(found, memory, base, offsets, values, _RELOCATIONS[machine])
    _protect(base, len(memory))
    _kept.append(memory)
    return [values[found.symbol_names.index(name)] for name in symbols]


def _relocate(
    found: _Object,
    memory: Any,
    base: int,
    offsets: Mapping[int, int],
    values: list[int],
    kinds: Mapping[int, Callable[..., None]],
) -> None:
    for section in found.sections:
        if section[1] != _RELA or section[7] not in offsets:
            continue
        for at in range(section[4], section[4] + section[5], 24):
            where, info, addend = struct.unpack_from("<QQq", found.code, at)
            relocate = kinds.get(info & 0xFFFFFFFF)
            if relocate is None:
                raise Unlinkable(f"relocation {info & 0xFFFFFFFF}")
            place = offsets[section[7]] + where
            relocate(memory, place, values[info >> 32] + addend, base + place)


def _protect(base: int, size: int) -> None:
    """Let the mapping be executed, and no longer written."""
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if protect(base, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise Unlinkable(f"the system does not allow generated code (mprotect: error {ctypes.get_errno()})")
    if platform.machine() == "aarch64":
        clear = ctypes.CDLL(None).__clear_cache
        clear.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        clear(base, base + size)
