"""TensorBoard's files: protocol-buffer messages in frames with masked CRC-32C checksums.

A message is a dict {field number: value}; the value's type says how it is written. So few messages are needed
that their numbers stand where they are written, and no package has to be installed.
"""

from __future__ import annotations

import struct
from functools import cache
from math import isqrt
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def message(fields: dict[int, Any]) -> bytes:
    """The bytes of a message.

    int and bool are varints, float a double, np.float32 a float, str and bytes themselves, a dict a message
    inside, a float64 array packed doubles; a list repeats its field, None leaves it out.
    """
    return b"".join(
        _field(number, v)
        for number, value in fields.items()
        for v in (value if isinstance(value, list) else [value])
        if v is not None
    )


def _field(number: int, value: Any) -> bytes:
    if isinstance(value, float):
        return _varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, np.float32):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return _varint(number << 3) + _varint(int(value) & 0xFFFFFFFFFFFFFFFF)
    if isinstance(value, dict):
        data = message(value)
    elif isinstance(value, str):
        data = value.encode()
    elif isinstance(value, bytes):
        data = value
    else:
        data = value.astype("<f8").tobytes()
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


def frame(data: bytes) -> bytes:
    """A record: length, its checksum, the data, its checksum."""
    length = struct.pack("<Q", len(data))
    return length + _masked(length) + data + _masked(data)


def _masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


# --- CRC-32C --------------------------------------------------------------------------------------


@cache
def _table() -> Array:
    found: Array = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        found = found >> 1 ^ np.where(found & 1, np.uint32(0x82F63B78), np.uint32(0))
    return found


def crc32c(data: bytes) -> int:
    """The Castagnoli checksum. Long data is cut into rows that go through the table side by side."""
    width = isqrt(len(data))
    rows = len(data) // width if width else 0
    matrix = np.frombuffer(data, np.uint8, rows * width).reshape(rows, width)
    states = _through(np.zeros(rows, np.uint32), matrix)
    # What a row's length of zeros makes of each bit: checksums are linear.
    bits = _through(np.uint32(1) << np.arange(32, dtype=np.uint32), np.zeros((32, width), np.uint8))
    whole = 0xFFFFFFFF
    for state in states.tolist():
        on = bits[(whole >> np.arange(32)) & 1 == 1]
        whole = state ^ int(np.bitwise_xor.reduce(on))
    rest = np.frombuffer(data, np.uint8)[rows * width :].reshape(1, -1)
    return int(_through(np.array([whole], np.uint32), rest)[0]) ^ 0xFFFFFFFF


def _through(states: Array, rows: Array) -> Array:
    table = _table()
    for column in rows.T:
        states = table[(states ^ column) & 255] ^ states >> 8
    return states
