"""How processes of a job talk to its hub: messages are lists of byte strings, each with its length before it.

Only the standard library is needed, so that a hub's process starts quickly.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time

_COUNT = struct.Struct("!I")
Field = bytes | str | int | float


class ConnectionLost(ConnectionError):
    """The other end is gone."""


def pack(*fields: Field) -> bytes:
    """One message: its length, then every field with its own. Numbers and text go as text in UTF-8."""
    parts = [f if isinstance(f, bytes) else str(f).encode() for f in fields]
    body = b"".join(_COUNT.pack(len(part)) + part for part in parts)
    return _COUNT.pack(len(body)) + body


def unpack(buffer: bytearray) -> list[bytes] | None:
    """Take one message off the front of the buffer; None while it is incomplete."""
    if len(buffer) < 4:
        return None
    end = 4 + _COUNT.unpack_from(buffer)[0]
    if len(buffer) < end:
        return None
    fields, at = [], 4
    while at < end:
        size = _COUNT.unpack_from(buffer, at)[0]
        fields.append(bytes(buffer[at + 4 : at + 4 + size]))
        at += 4 + size
    del buffer[:end]
    return fields


class Connection:
    """A connection to a hub. `call` asks and waits for the answer, from any thread."""

    def __init__(self, host: str, port: int, timeout: float = 300.0) -> None:
        """Connect, trying again until `timeout` seconds are over; ConnectionError, TimeoutError then."""
        self.socket = connect(host, port, timeout)
        self._buffer = bytearray()
        self._lock = threading.Lock()

    def send(self, *fields: Field) -> None:
        """Send one message; ConnectionLost where nobody hears it."""
        try:
            self.socket.sendall(pack(*fields))
        except OSError as error:
            raise ConnectionLost(str(error)) from None

    def receive(self) -> list[bytes]:
        """The next message; ConnectionLost where there will be none."""
        while (message := unpack(self._buffer)) is None:
            try:
                data = self.socket.recv(1 << 20)
            except OSError as error:
                raise ConnectionLost(str(error)) from None
            if not data:
                raise ConnectionLost("connection closed")
            self._buffer += data
        return message

    def call(self, *fields: Field) -> list[bytes]:
        """Send a message; the answer to it."""
        with self._lock:
            self.send(*fields)
            return self.receive()

    def close(self) -> None:
        """Hang up; a thread that receives gets ConnectionLost."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def connect(host: str, port: int, timeout: float) -> socket.socket:
    """A connected socket; whoever listens there may come later than we, up to `timeout` seconds."""
    end, pause = time.monotonic() + timeout, 0.01
    while True:
        try:
            made = socket.create_connection((host, port), timeout=max(0.1, end - time.monotonic()))
            made.settimeout(None)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made
        except OSError as error:
            if time.monotonic() + pause > end:
                raise TimeoutError(
                    f"The client socket has timed out after {timeout * 1000:.0f}ms while "
                    f"trying to connect to ({host}, {port}): {error}."
                ) from None
        time.sleep(pause)
        pause = min(0.25, pause * 1.5)
