"""A socket between the main process and a worker: whole messages, some with a file descriptor.

The main process never waits in it: what the socket does not take at once stays in a list until the
socket is writable, so that neither side can hold up the other. The worker's end waits.
"""

from __future__ import annotations

import os
import socket
import struct
import weakref
from collections import deque
from typing import Any

_HEADER = struct.Struct("<QB")
_READ = 1 << 16
# The ends that this process talks through: a forked child has no use for them, and as long as it
# held them its siblings would not notice the end of this process.
_OPEN: weakref.WeakSet[Channel] = weakref.WeakSet()


def _close_inherited() -> None:
    for channel in list(_OPEN):
        channel.close()


os.register_at_fork(after_in_child=_close_inherited)


class Closed(Exception):
    """The other end is gone."""


class Channel:
    """One end. `waits`: sending and receiving block, as they should in a worker."""

    def __init__(self, end: socket.socket, waits: bool) -> None:
        self._socket, self._waits = end, waits
        self._unsent: deque[bytes] = deque()
        self._read = bytearray()
        self._descriptors: deque[int] = deque()

    def ours(self) -> Channel:
        """This end, for use in the main process."""
        self._socket.setblocking(False)
        _OPEN.add(self)
        return self

    def fileno(self) -> int:
        """The socket's descriptor; -1 when closed."""
        return self._socket.fileno()

    def __reduce__(self) -> tuple[Any, ...]:
        return Channel, (self._socket, self._waits)

    def close(self) -> None:
        """Give up this end; the other one sees the end of the stream."""
        _OPEN.discard(self)
        self._socket.close()
        while self._descriptors:
            os.close(self._descriptors.popleft())

    # --- sending ------------------------------------------------------------------------------

    def send(self, body: bytes, descriptor: int | None = None) -> None:
        """Send a message, from an end that waits; Closed if nobody is there."""
        message = _HEADER.pack(len(body), descriptor is not None) + body
        try:
            if descriptor is not None:
                message = message[socket.send_fds(self._socket, [message], [descriptor]) :]
            self._socket.sendall(message)
        except (BrokenPipeError, ConnectionResetError):
            raise Closed from None

    def post(self, body: bytes) -> None:
        """Send a message without waiting; `flush` later if `unsent`."""
        self._unsent.append(_HEADER.pack(len(body), False) + body)
        self.flush()

    @property
    def unsent(self) -> bool:
        """Whether messages wait for the socket."""
        return bool(self._unsent)

    def flush(self) -> None:
        """Give the socket what it takes."""
        try:
            while self._unsent:
                message = self._unsent.popleft()
                sent = self._socket.send(message)
                if sent < len(message):
                    self._unsent.appendleft(message[sent:])
        except BlockingIOError:
            self._unsent.appendleft(message)
        except OSError:
            # Nobody is there: whoever receives next will notice.
            self._unsent.clear()

    # --- receiving ----------------------------------------------------------------------------

    def receive(self) -> list[tuple[bytes, int | None]]:
        """The messages that have come in, with the descriptor that came along; Closed at the end.

        An end that waits returns at least one. The caller closes the descriptors.
        """
        found: list[tuple[bytes, int | None]] = []
        while not found:
            try:
                data, descriptors, flags, _ = socket.recv_fds(self._socket, _READ, 16)
            except BlockingIOError:
                return found
            except ConnectionResetError:
                data, descriptors, flags = b"", [], 0
            self._descriptors += descriptors
            if flags & socket.MSG_CTRUNC:
                raise RuntimeError(
                    "Too many open files. Communication with the workers is no longer "
                    "possible: raise the limit with `ulimit -n`, or use fewer workers"
                )
            if not data:
                raise Closed
            self._read += data
            found = self._messages()
            if not self._waits:
                break
        return found

    def _messages(self) -> list[tuple[bytes, int | None]]:
        found, start, have = [], 0, len(self._read)
        while have - start >= _HEADER.size:
            length, carries = _HEADER.unpack_from(self._read, start)
            end = start + _HEADER.size + length
            if have < end:
                break
            body = bytes(self._read[start + _HEADER.size : end])
            found.append((body, self._descriptors.popleft() if carries else None))
            start = end
        del self._read[:start]
        return found


def pair() -> tuple[Channel, Channel]:
    """Two ends: the main process's and the worker's."""
    main, worker = socket.socketpair()
    return Channel(main, False).ours(), Channel(worker, True)
