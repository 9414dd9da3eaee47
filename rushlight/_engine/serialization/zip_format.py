"""The archive behind torch.save since PyTorch 1.6: a zip of stored, 64-byte aligned records.

The writer lays out bytes as PyTorch's does (header flags, 'FB' padding, data descriptors, zip64),
so that a file differs from PyTorch's in its serialization_id alone. The reader takes the directory
from the standard library's zipfile and reads records straight into NumPy memory.
"""

from __future__ import annotations

import mmap
import os
import struct
import zipfile
import zlib
from typing import Any, BinaryIO

import numpy as np

from rushlight._engine.serialization.background import STRETCH
from rushlight._engine.serialization.options import get_crc32_options, get_default_mmap_options

Array = np.ndarray[Any, Any]

ALIGNMENT = 64
MAX_VERSION = 10
_LIMIT = 0xFFFFFFFF
_LOCAL = struct.Struct("<IHHHHHIIIHH")
_CENTRAL = struct.Struct("<IHHHHHHIIIHHHHHII")
_UTF8, _DESCRIPTOR = 0x0800, 0x0008
_PLAIN_UP_TO = 200  # bytes: shorter records are not compressed


class Writer:
    """Writes records in order; `finish` adds version, id and directory."""

    def __init__(self, file: BinaryIO, archive: str) -> None:
        self._file, self._archive = file, archive
        self._offset = 0
        self._directory: list[bytes] = []
        self._names: list[str] = []
        self._checksums = 0

    def write_text(self, name: str, data: bytes) -> None:
        """Add a record of code or the like, which is compressed where that is worth it."""
        if len(data) <= _PLAIN_UP_TO:
            self.write(name, data)
            return
        packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        packed = packer.compress(data) + packer.flush()
        path, start, checksum = f"{self._archive}/{name}".encode(), self._offset, zlib.crc32(data)
        extra = _padding(start + _LOCAL.size + len(path))
        sizes = (checksum, len(packed), len(data), len(path), len(extra))
        self._put(_LOCAL.pack(0x04034B50, 0, _UTF8, zipfile.ZIP_DEFLATED, 0, 0, *sizes))
        self._put(path + extra + packed)
        self._directory.append(_entry(path, _UTF8, checksum, len(data), start, len(packed)))
        self._names.append(name)
        self._checksums = _mix(self._checksums, checksum)

    def write(self, name: str, data: Any) -> None:
        """Add a record: `name` inside the archive, `data` any bytes-like object."""
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        size, start = view.nbytes, self._offset
        path = f"{self._archive}/{name}".encode()
        flags = _UTF8 | (_DESCRIPTOR if size else 0)
        extra = _zip64(size, start, local=True)
        extra += _padding(start + _LOCAL.size + len(path) + len(extra))
        self._put(_LOCAL.pack(0x04034B50, 0, flags, 0, 0, 0, 0, 0, 0, len(path), len(extra)))
        self._put(path + extra)
        checksum = self._put_with_checksum(view)
        if size:
            wide = size >= _LIMIT or start >= _LIMIT
            self._put(struct.pack("<IIQQ" if wide else "<IIII", 0x08074B50, checksum, size, size))
        self._directory.append(_entry(path, flags, checksum, size, start))
        self._names.append(name)
        if size:
            self._checksums = _mix(self._checksums, checksum)

    def _put_with_checksum(self, view: memoryview) -> int:
        if not get_crc32_options():
            self._put(view)
            return 0
        checksum = 0
        for begin in range(0, view.nbytes, STRETCH):  # the disk is at work meanwhile
            part = view[begin : begin + STRETCH]
            self._put(part)
            checksum = zlib.crc32(part, checksum)
        return checksum

    def finish(self, version: str = "version", number: bytes = b"3\n") -> None:
        """Write the format version (into the record `version`), the id of the content, and the directory."""
        from hashlib import blake2b  # which takes 3 ms to load, and no reader needs it

        self.write(version, number)
        names = blake2b("\n".join(sorted(self._names)).encode(), digest_size=8).digest()
        identity = f"{int.from_bytes(names, 'little'):020d}{self._checksums:020d}"
        self.write(".data/serialization_id", identity.encode())
        start, entries = self._offset, b"".join(self._directory)
        self._put(entries)
        count, size, end = len(self._directory), len(entries), self._offset
        self._put(struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 0x031E, 45, 0, 0, count, count, size, start))
        self._put(struct.pack("<IIQI", 0x07064B50, 0, end, 1))
        short = min(count, 0xFFFF)
        self._put(
            struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, short, short, min(size, _LIMIT), min(start, _LIMIT), 0)
        )

    def _put(self, data: Any) -> None:
        self._file.write(data)
        self._offset += len(data)


def _padding(end: int) -> bytes:
    """The 'FB' field that brings the data, which follows it, to the alignment."""
    fill = -(end + 4) % ALIGNMENT
    return b"FB" + fill.to_bytes(2, "little") + b"Z" * fill


def _zip64(size: int, start: int, local: bool) -> bytes:
    """The field for numbers beyond 32 bits; a local header does not know its stored size yet."""
    numbers = [size, 0 if local else size] if size >= _LIMIT else []
    if start >= _LIMIT:
        numbers.append(start)
    return struct.pack(f"<HH{len(numbers)}Q", 1, 8 * len(numbers), *numbers) if numbers else b""


def _entry(path: bytes, flags: int, checksum: int, size: int, start: int, packed: int = -1) -> bytes:
    """A record's line in the directory. packed: the bytes of one that is compressed."""
    extra, short = _zip64(size, start, local=False), min(size, _LIMIT)
    return (
        _CENTRAL.pack(
            0x02014B50,
            0,
            0,
            flags,
            zipfile.ZIP_STORED if packed < 0 else zipfile.ZIP_DEFLATED,
            0,
            0,
            checksum,
            short if packed < 0 else packed,
            short,
            len(path),
            len(extra),
            0,
            0,
            0,
            0,
            min(start, _LIMIT),
        )
        + path
        + extra
    )


def _mix(seed: int, value: int) -> int:
    """PyTorch's hash_combine, in 64 bits."""
    return seed ^ ((value + 0x9E3779B9 + (seed << 6) + (seed >> 2)) & 0xFFFFFFFFFFFFFFFF)


class Reader:
    """Reads records of an archive in a seekable file; raises RuntimeError for a damaged one."""

    def __init__(self, file: Any, name: str) -> None:
        self._file, self._name = file, name
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, OSError, ValueError, struct.error) as error:
            raise _corrupt(name, f"failed finding central directory ({error})") from error
        self._infos = {info.filename: info for info in self._zip.infolist()}
        self._length = file.seek(0, os.SEEK_END)
        self._map: Array | None = None
        self.archive = self._archive_name()
        self._check_version()

    def has(self, name: str) -> bool:
        """Whether there is such a record."""
        return f"{self.archive}/{name}" in self._infos

    def read(self, name: str) -> bytes:
        """The content of a small record."""
        return self.read_array(name).tobytes()

    def size(self, name: str) -> int:
        """The length of a record in bytes."""
        return self._info(name).file_size

    def read_array(self, name: str) -> Array:
        """The content of a record as a fresh, writable uint8 array, held against its checksum."""
        info = self._info(name)
        if info.compress_type != zipfile.ZIP_STORED:
            return self._inflate(info, name)
        start = self._start(info, name)
        data = np.empty(info.file_size, np.uint8)
        self._file.seek(start)
        self._fill(data.data, name)
        if info.CRC and get_crc32_options() and zlib.crc32(data.data) != info.CRC:
            raise _corrupt(
                self._name,
                f"file {name} does not match its checksum (if it was changed on "
                "purpose, load it after torch.serialization.set_crc32_options(False))",
            )
        return data

    def map_array(self, name: str) -> Array:
        """The content of a record as a part of the mapped file; nothing is read yet."""
        info = self._info(name)
        if info.compress_type != zipfile.ZIP_STORED:
            raise RuntimeError(
                f"mmap=True needs records stored as they are, but {name} in "
                f"{self._name} is compressed; load without mmap"
            )
        start = self._start(info, name)
        if self._map is None:
            self._map = _map_file(self._file)
        return self._map[start : start + info.file_size]

    def _info(self, name: str) -> zipfile.ZipInfo:
        info = self._infos.get(f"{self.archive}/{name}")
        if info is None:
            raise RuntimeError(
                f"PytorchStreamReader failed locating file {name}: file not found in archive {self._name}"
            )
        return info

    def _start(self, info: zipfile.ZipInfo, name: str) -> int:
        """Where the data begins: behind the local header and its padding."""
        # A damaged directory may name any place, even one before the file.
        place = info.header_offset
        self._file.seek(place if 0 <= place <= self._length else self._length)
        header = self._file.read(_LOCAL.size)
        if len(header) < _LOCAL.size or header[:4] != b"PK\x03\x04":
            raise _corrupt(self._name, f"file {name} has no local header")
        *_, path, extra = _LOCAL.unpack(header)
        start = info.header_offset + _LOCAL.size + path + extra
        if start + info.file_size > self._length:
            raise _corrupt(self._name, f"file {name} ends beyond the end of the archive")
        return int(start)

    def _fill(self, view: memoryview, name: str) -> None:
        done = 0
        read_into = getattr(self._file, "readinto", None)
        while done < len(view):
            if read_into is not None:
                count = read_into(view[done:])
            else:
                piece = self._file.read(len(view) - done)
                count = len(piece)
                view[done : done + count] = piece
            if not count:
                raise _corrupt(self._name, f"file {name} is cut off")
            done += count

    def _inflate(self, info: zipfile.ZipInfo, name: str) -> Array:
        try:
            data = self._zip.read(info)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise _corrupt(self._name, f"file {name}: {error}") from error
        return np.frombuffer(bytearray(data), np.uint8)

    def _archive_name(self) -> str:
        for path in self._infos:
            if "/" not in path:
                raise RuntimeError(
                    f"file in archive is not in a subdirectory: {path}; "
                    f"{self._name} is a zip file, but torch.save did not write it"
                )
            return path.split("/", 1)[0]
        raise _corrupt(self._name, "the archive is empty")

    def _check_version(self) -> None:
        record = ".data/version" if self.has(".data/version") else "version"  # TorchScript of now
        if not self.has(record):
            raise RuntimeError(
                'Expected hasRecord("version") to be true, but got false: '
                f"{self._name} is a zip file, but torch.save did not write it"
            )
        text = self.read(record).strip()
        if not text.isdigit() or int(text) > MAX_VERSION:
            raise RuntimeError(
                f"Attempted to read a PyTorch file with version {text.decode('latin1')}, but "
                f"the maximum supported version for reading is {MAX_VERSION}"
            )


def _map_file(file: Any) -> Array:
    if get_default_mmap_options() == getattr(mmap, "MAP_SHARED", None):
        with open(file.name, "r+b") as writable:
            mapped = mmap.mmap(writable.fileno(), 0, access=mmap.ACCESS_WRITE)
    else:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    return np.frombuffer(mapped, np.uint8)


def _corrupt(name: str, what: str) -> RuntimeError:
    return RuntimeError(
        f"PytorchStreamReader failed reading zip archive: {what}. {name} is damaged, or was "
        "cut off when it was saved or copied; get it again or use another one."
    )
