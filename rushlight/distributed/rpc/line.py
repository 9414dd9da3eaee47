"""A connection between two workers: pieces of bytes, each with its length before it."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress

_LENGTH = struct.Struct("!Q")


class Line:
    """Sends pieces from any thread; a thread of its own hears what the other end sends, until it closes."""

    def __init__(
        self, made: socket.socket, heard: Callable[[Line, bytes], None], closed: Callable[[Line], None]
    ) -> None:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket, self._heard, self._closed = made, heard, closed
        self._sending = threading.Lock()
        self._thread = threading.Thread(target=self._listen, name="rpc line", daemon=True)
        self._thread.start()

    def send(self, piece: bytes) -> None:
        """Send a piece. OSError where the other end has gone."""
        with self._sending:
            self._socket.sendall(_LENGTH.pack(len(piece)))
            self._socket.sendall(piece)

    def close(self) -> None:
        """Close both ends."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _listen(self) -> None:
        try:
            while True:
                (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
                self._heard(self, self._exactly(length))
        except OSError:
            pass
        finally:
            self._closed(self)

    def _exactly(self, length: int) -> bytes:
        buffer = bytearray(length)
        view, at = memoryview(buffer), 0
        while at < length:
            n = self._socket.recv_into(view[at:])
            if n == 0:
                raise ConnectionResetError("the other end has closed the connection")
            at += n
        return bytes(buffer)
