"""The format before PyTorch 1.6: pickles one after another, then the storages' bytes.

In order: a magic number, a protocol version, facts about the machine, the object, the list of the
storages' keys; then, for each key, the number of elements (8 bytes) and the elements.
"""

from __future__ import annotations

import pickle
import struct
import sys
from typing import Any, BinaryIO

import numpy as np

from rushlight._engine.core.dtype import dtype
from rushlight._engine.serialization.pickler import dump
from rushlight._engine.serialization.reading import LoadOptions, location_of
from rushlight._engine.serialization.rebuild import Array, make_storage, storage_dtype, swap_bytes
from rushlight._engine.tensors.storages.typed import TypedStorage

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
_FACTS = {
    "protocol_version": PROTOCOL,
    "little_endian": sys.byteorder == "little",
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}
_SAVED_IN_LITTLE = struct.Struct("<q")


def save_legacy(obj: Any, file: BinaryIO, held: Any, pickle_module: Any, protocol: int) -> None:
    """Write `obj`; `held` collects storages while it is pickled."""
    data = dump(obj, held.fresh, pickle_module, protocol)
    for fact in (MAGIC, PROTOCOL, _FACTS):
        file.write(pickle.dumps(fact, protocol))
    file.write(data)
    keys = sorted(held.storages)
    file.write(pickle.dumps(keys, protocol))
    file.flush()
    for key in keys:
        flat, step = held.storages[key]
        file.write(_SAVED_IN_LITTLE.pack(flat.size // step))
        file.write(memoryview(flat))


def load_legacy(file: Any, plan: LoadOptions) -> Any:
    """The object of a file in the old format, from the file's position on."""
    _refuse_tar(file)
    magic = plan.unpickle(file, _no_storage)
    if magic != MAGIC:
        raise RuntimeError(
            "Invalid magic number; corrupt file? torch.save did not write it: "
            f"expected {MAGIC:#x} first, got {str(magic)[:40]!r}"
        )
    version = plan.unpickle(file, _no_storage)
    if version != PROTOCOL:
        raise RuntimeError(f"Invalid protocol version: expected {PROTOCOL}, got {str(version)[:40]}")
    facts = plan.unpickle(file, _no_storage)
    storages = _Storages(plan, isinstance(facts, dict) and facts.get("little_endian", True))
    found = plan.unpickle(file, storages.load)
    keys = plan.unpickle(file, _no_storage)
    storages.fill(file, [str(location_of(key)) for key in keys])
    return found


def _no_storage(key: Any) -> Any:
    raise pickle.UnpicklingError(f"a storage stands where none can be: {str(key)[:60]}")


def _refuse_tar(file: Any) -> None:
    start = file.tell()
    head = file.read(262)
    file.seek(start)
    if head[257:262] == b"ustar":
        raise RuntimeError(
            "the file is in PyTorch's .tar format of before 2017, which Rushlight "
            "does not read: load it with PyTorch and torch.save it again"
        )


class _Storages:
    """Storages that are made while the object is read, and get their bytes afterwards."""

    def __init__(self, plan: LoadOptions, little: bool) -> None:
        self._plan, self._swapped = plan, little != (sys.byteorder == "little")
        self._flat: dict[str, tuple[Array, dtype]] = {}
        self._placed: dict[str, Any] = {}

    def load(self, key: tuple[Any, ...]) -> Any:
        """The object of a persistent id: a storage, or a module's class beside its source."""
        if location_of(key[0]) == "module":
            return key[1]
        if len(key) != 6:
            raise pickle.UnpicklingError(f"expected a storage's 6 fields in the file, got {len(key)}")
        _, cls, record, location, count, view = key
        record, of = str(location_of(record)), storage_dtype(cls)
        if record not in self._placed:
            flat = np.zeros(count * of.itemsize, np.uint8)
            self._flat[record] = flat, of
            placed = self._plan.place(flat, location_of(location))
            self._placed[record] = getattr(placed, "_untyped_storage", placed)
        if view is None:
            return TypedStorage(wrap_storage=self._placed[record], dtype=of)
        _, offset, length = view
        step = of.itemsize
        part = self._flat[record][0][offset * step : (offset + length) * step]
        return TypedStorage(wrap_storage=make_storage(part), dtype=of)

    def fill(self, file: Any, keys: list[str]) -> None:
        """Read the bytes of all storages, in the order of the file."""
        for key in keys:
            if key not in self._flat:
                raise RuntimeError(
                    f"the file has bytes for a storage {key!r} that nothing uses; it is damaged"
                )
            flat, of = self._flat[key]
            count = _SAVED_IN_LITTLE.unpack(_read(file, 8))[0]
            if count * of.itemsize != flat.size:
                raise RuntimeError(
                    f"storage has wrong byte size: expected {flat.size} got "
                    f"{count * of.itemsize}; the file is damaged"
                )
            _read_into(file, flat)
            if self._swapped:
                swap_bytes(flat, of)
            placed = self._placed[key]
            if placed.device.type == "cuda":  # a copy, made before the bytes were there
                placed._bytes()[:] = flat


def _read_into(file: Any, flat: Array) -> None:
    """Fill an array of bytes from a file, at once where the file can write into memory."""
    readinto, done = getattr(file, "readinto", None), 0
    if readinto is None:
        flat[:] = np.frombuffer(_read(file, flat.size), np.uint8)
        return
    while done < flat.size:
        count = readinto(flat[done:].data)
        if not count:
            raise RuntimeError(
                f"unexpected EOF, expected {flat.size - done} more bytes. The file might be corrupted."
            )
        done += count


def _read(file: Any, count: int) -> bytes:
    data: bytes = file.read(count)
    if len(data) != count:
        raise RuntimeError(
            f"unexpected EOF, expected {count - len(data)} more bytes. The file might be corrupted."
        )
    return data
