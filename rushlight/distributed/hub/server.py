"""The hub of a job: the process, or thread, that keeps the store, starts MPI and tells who has failed.

A hub is one loop over connections. What it answers are *services*: the store's (store.py), those of a
job's ranks (jobs.py) and of the launcher's agents (nodes.py). It runs in rank 0's helper process, in
the launcher's agent of the first node, or as the thread of a `TCPStore(is_master=True)`; never in a process
that starts MPI, whose start holds the interpreter's lock. Only the standard library is needed.
"""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from rushlight.distributed.hub.messages import Field, pack, unpack

Command = Callable[["Caller", list[bytes]], None]


class Caller:
    """One connection as the hub sees it. `role` is what the caller said it was."""

    def __init__(self, hub: Hub, sock: socket.socket) -> None:
        self.hub, self.socket = hub, sock
        self.role: Any = None
        self.text: Command | None = None  # what takes lines of text, once the caller speaks those
        self.closed = False
        self._in, self._out = bytearray(), bytearray()
        sock.setblocking(False)

    def reply(self, *fields: Field) -> None:
        """Send a message."""
        self.send(pack(*fields))

    def send(self, data: bytes) -> None:
        """Send bytes, at once as far as they go."""
        self._out += data
        self.flush()

    def flush(self) -> None:
        """Send what is still to be sent; the rest when the socket says so."""
        try:
            while self._out:
                del self._out[: self.socket.send(self._out)]
        except BlockingIOError:
            pass
        except OSError:
            return self.hub.drop(self)
        self.hub.watch_writes(self, bool(self._out))
        return None

    def read(self) -> None:
        """Take what has come and answer every whole message in it."""
        try:
            data = self.socket.recv(1 << 20)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        if not data:
            return self.hub.drop(self)
        self._in += data
        while not self.closed and self._one_message():
            pass
        return None

    def _one_message(self) -> bool:
        if self.text is not None:
            line, found, rest = self._in.partition(b"\n")
            if not found:
                return False
            self._in = rest
            self.text(self, [bytes(line)])
            return True
        message = unpack(self._in)
        if message is None:
            return False
        command = self.hub.commands.get(message[0].decode(errors="replace"))
        if command is None:
            self.hub.drop(self)
            return False
        command(self, message[1:])
        return True


class Hub:
    """A listening socket and the services behind it. `run` serves until `stop`, or until nobody is left."""

    def __init__(self, listener: socket.socket) -> None:
        # who only talks to a hub needs none of its services
        from rushlight.distributed.hub.jobs import Jobs
        from rushlight.distributed.hub.nodes import Nodes
        from rushlight.distributed.hub.store import Values

        self.listener = listener
        self.port: int = listener.getsockname()[1]
        self.callers: set[Caller] = set()
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, Callable[[], None]]] = []
        self._stopping, self._over = False, threading.Event()
        self._thread: threading.Thread | None = None
        self._wake, self._woken = socket.socketpair()
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self.values, self.jobs, self.nodes = Values(self), Jobs(self), Nodes(self)
        self.commands: dict[str, Command] = self.values.commands | self.jobs.commands | self.nodes.commands

    def run(self, alone_for: float | None = None) -> None:
        """Serve; with `alone_for` until the last caller has gone, or none has come for so many seconds."""
        self._thread = threading.current_thread()
        idle_end = None if alone_for is None else time.monotonic() + alone_for
        while not self._stopping:
            soonest = min((when for when, _ in self._timers), default=None)
            waits = [t for t in (soonest, None if self.callers else idle_end) if t is not None]
            pause = max(0.0, min(waits) - time.monotonic()) if waits else None
            for key, events in self._selector.select(pause):
                self._serve(key, events)
            self._ring()
            if self.callers:
                idle_end = None if alone_for is None else time.monotonic() + 0.5
            elif idle_end is not None and time.monotonic() >= idle_end:
                break
        self._close()

    def _serve(self, key: selectors.SelectorKey, events: int) -> None:
        if key.fileobj is self._woken:
            self._woken.recv(4096)
        elif key.fileobj is self.listener:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            caller = Caller(self, sock)
            self.callers.add(caller)
            self._selector.register(sock, selectors.EVENT_READ, caller)
        else:
            if events & selectors.EVENT_WRITE and not key.data.closed:
                key.data.flush()
            if events & selectors.EVENT_READ and not key.data.closed:
                key.data.read()

    def _ring(self) -> None:
        now = time.monotonic()
        due = [timer for timer in self._timers if timer[0] <= now]
        self._timers = [timer for timer in self._timers if timer[0] > now]
        for _, action in sorted(due, key=lambda timer: timer[0]):
            action()

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Call the action in so many seconds (from any thread)."""
        self._timers.append((time.monotonic() + seconds, action))
        self._wake.send(b"!")

    def watch_writes(self, caller: Caller, wanted: bool) -> None:
        """Whether the loop is to tell when the caller's socket takes more."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if wanted else 0)
        if not caller.closed and self._selector.get_key(caller.socket).events != events:
            self._selector.modify(caller.socket, events, caller)

    def drop(self, caller: Caller) -> None:
        """Close a connection; the services hear of it."""
        if caller.closed:
            return
        caller.closed = True
        self.callers.discard(caller)
        self._selector.unregister(caller.socket)
        caller.socket.close()
        for service in (self.values, self.jobs, self.nodes):
            service.gone(caller)

    def stop(self) -> None:
        """End `run` (from any thread)."""
        self._stopping = True
        self._wake.send(b"!")

    def ended(self, seconds: float) -> None:
        """Wait until `run` has ended and the port is free; not in its thread, nor in a fork without it."""
        thread = self._thread
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            self._over.wait(seconds)

    def _close(self) -> None:
        for caller in list(self.callers):
            caller.closed = True
            caller.socket.close()
        self.callers.clear()
        self._selector.close()
        for sock in (self.listener, self._wake, self._woken):
            sock.close()
        self._over.set()


def in_thread(listener: socket.socket) -> Hub:
    """A hub that a daemon thread of this process runs."""
    hub = Hub(listener)
    threading.Thread(target=hub.run, name="rushlight-hub", daemon=True).start()
    return hub


def in_process(listener: socket.socket, alone_for: float) -> None:
    """A hub in a process of its own, which ends by itself when its callers have gone."""
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
    code = (
        f"import sys; sys.path.insert(0, {root!r})\n"
        f"from rushlight.distributed.hub.server import main; main({listener.fileno()}, {alone_for!r})"
    )
    # Its own session: an interrupt from the keyboard is for the ranks, and the hub outlives them.
    subprocess.Popen(
        [sys.executable, "-S", "-c", code],
        pass_fds=[listener.fileno()],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    listener.close()


def main(descriptor: int, alone_for: float) -> None:
    """What the helper process runs."""
    Hub(socket.socket(fileno=descriptor)).run(alone_for)
