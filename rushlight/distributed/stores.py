"""Stores: keys and values that all ranks see. Values are bytes; keys may be waited for."""

from __future__ import annotations

import fcntl
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from weakref import WeakValueDictionary, finalize

from rushlight.distributed.errors import DistNetworkError, DistStoreError
from rushlight.distributed.hub.messages import Connection, ConnectionLost, pack, unpack

Change = Callable[["bytes | None"], "bytes | None"]


def _bytes(value: str | bytes) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise TypeError(f"a store's values are str or bytes, got {type(value).__name__}")


class Store:
    """What stores do.

    A kind of store here says how a value is changed (`_change`), and what it has (`_all`). A program's own
    has set, get, add, compare_set, check, wait, delete_key and num_keys, and what it can of append, multi_get
    and multi_set; those three are made of the others, and `has_extended_api` says whether it has its own.
    """

    _timeout = timedelta(seconds=300)

    def __init__(self) -> None:
        pass

    @property
    def timeout(self) -> timedelta:
        """How long get() and wait() wait, 300 seconds by default."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set it."""
        self._timeout = timeout

    def _change(self, key: str, change: Change) -> bytes | None:
        """Replace the key's value, None where there is none, by what `change` makes of it; that."""
        raise NotImplementedError(f"Not implemented. {type(self).__name__} says not how values are changed")

    def _all(self) -> dict[str, bytes]:
        raise NotImplementedError(f"Not implemented. {type(self).__name__} does not say what it holds")

    def set(self, key: str, value: str | bytes) -> None:
        """Set the key's value."""
        data = _bytes(value)
        self._change(key, lambda old: data)

    def get(self, key: str) -> bytes:
        """The key's value; waits for it, DistStoreError where it does not come within `timeout`."""
        self.wait([key])
        return self._all()[key]

    def add(self, key: str, amount: int) -> int:
        """Add to a number, 0 where there is none; the sum."""
        return int(self._change(key, lambda old: b"%d" % (int(old or b"0") + amount)) or 0)

    def append(self, key: str, value: str | bytes) -> None:
        """Put the value behind what is there."""
        data, held = _bytes(value), b""
        while (found := self.compare_set(key, held, held + data)) != held + data:
            held = found

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Set the value if it is the expected one (or there is none and "" is expected); the value then."""
        expected, desired = _bytes(expected_value), _bytes(desired_value)
        found = self._change(key, lambda old: desired if (old or b"") == expected else old)
        return expected if found is None else found

    def delete_key(self, key: str) -> bool:
        """Delete the key; whether it was there."""
        there: list[bool] = []

        def delete(old: bytes | None) -> None:
            there.append(old is not None)

        self._change(key, delete)
        return there[-1]

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all the keys are there."""
        held = self._all()
        return all(key in held for key in keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait for the keys; DistStoreError where they do not come in time."""
        seconds = (timeout or self._timeout).total_seconds()
        end = time.monotonic() + seconds
        while not self.check(keys):
            if time.monotonic() > end:
                raise DistStoreError(self._late(keys, seconds))
            time.sleep(0.005)

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Wait until world_size callers have come here with this key; DistStoreError where they do not."""
        come = self.add(f"{key}/come", 1)
        done = f"{key}/done/{(come - 1) // world_size}"
        if come % world_size == 0:
            self.set(done, "1")
        self.wait([done], timeout)

    def _late(self, keys: Sequence[str], seconds: float) -> str:
        return _late(keys, seconds)

    def num_keys(self) -> int:
        """How many keys there are."""
        return len(self._all())

    def list_keys(self) -> list[str]:
        """The keys."""
        return list(self._all())

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set several keys."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """Whether append, multi_get and multi_set are steps of their own."""
        return False

    def clone(self) -> Store:
        """A store of the same values, for another thread."""
        return self

    @property
    def _underlying_non_prefix_store(self) -> Store:
        """The store below all prefixes."""
        return self


def _late(keys: Sequence[str], seconds: float) -> str:
    return f"wait timeout after {seconds * 1000:.0f}ms, keys: {', '.join('/' + key for key in keys)}"


class HashStore(Store):
    """A store within one process."""

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def _change(self, key: str, change: Change) -> bytes | None:
        with self._lock:
            value = change(self._values.get(key))
            if value is None:
                self._values.pop(key, None)
            else:
                self._values[key] = value
            return value

    def _all(self) -> dict[str, bytes]:
        return dict(self._values)

    def append(self, key: str, value: str | bytes) -> None:
        """Put the value behind what is there."""
        data = _bytes(value)
        self._change(key, lambda old: (old or b"") + data)

    def _late(self, keys: Sequence[str], seconds: float) -> str:
        return f"Wait timeout after {seconds * 1000:.0f}ms, keys: {', '.join(keys)}"

    def has_extended_api(self) -> bool:
        """Whether append, multi_get and multi_set are steps of their own: True."""
        return True


_OPEN, _CLOSED = "\0open", "\0closed"  # keys of a FileStore: how many stores of it are, and are no more


class _Log:
    """A file of changes of keys, and what the keys have after those that were read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._at, self._held = 0, dict[str, bytes]()

    def _read(self, file: Any) -> None:
        file.seek(self._at)
        buffer = bytearray(file.read())
        self._at += len(buffer)
        while (entry := unpack(buffer)) is not None:
            if len(entry) == 2:
                self._held[entry[0].decode()] = entry[1]
            else:
                self._held.pop(entry[0].decode(), None)
        self._at -= len(buffer)

    @contextmanager
    def _locked(self) -> Iterator[Any]:
        """The file, which nobody else changes, with all changes read."""
        while True:
            with open(self.path, "a+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                if not self._is_there(file):
                    continue  # its last store was closed between the two: there is another file, or none
                self._read(file)
                yield file
                return

    def _is_there(self, file: Any) -> bool:
        """Whether the name still means this file."""
        try:
            return os.path.samestat(os.fstat(file.fileno()), os.stat(self.path))
        except FileNotFoundError:
            return False

    def _write(self, file: Any, key: str, change: Change) -> bytes | None:
        old = self._held.get(key)
        value = change(old)
        if value != old:
            file.write(pack(key) if value is None else pack(key, value))
            file.flush()
            self._read(file)
        return value

    def change(self, key: str, change: Change) -> bytes | None:
        """Replace the key's value, None where there is none, by what `change` makes of it; that."""
        with self._locked() as file:
            return self._write(file, key, change)

    def all(self) -> dict[str, bytes]:
        """What all keys have."""
        with open(self.path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            self._read(file)
        return self._held

    def _count(self, file: Any, key: str, amount: int) -> int:
        return int(self._write(file, key, lambda old: b"%d" % (int(old or b"0") + amount)) or 0)

    def open(self) -> None:
        """There is one store more."""
        with self._locked() as file:
            self._count(file, _OPEN, 1)

    def close(self, world_size: int, pid: int) -> None:
        """A store of it is no more: remove the file if it was the last of as many as there were to be."""
        if pid != os.getpid() or not os.path.exists(self.path):
            return  # a fork's copy; a file that somebody removed
        with self._locked() as file:
            closed, left = self._count(file, _CLOSED, 1), self._count(file, _OPEN, -1)
            if left == 0 and 0 <= world_size <= closed:
                os.unlink(self.path)


class FileStore(Store):
    """A store in a file that all ranks can reach. The file is a log of changes, locked while one is made.

    It is removed when the last store of it has been closed or collected, and these were as many as
    `world_size` says (if it does). How many are open is a key in it, which `num_keys` counts.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self._log = _Log(str(file_name))
        self._log.open()
        finalize(self, self._log.close, world_size, os.getpid())

    @property
    def path(self) -> str:
        """The file's name."""
        return self._log.path

    def _change(self, key: str, change: Change) -> bytes | None:
        return self._log.change(key, change)

    def _all(self) -> dict[str, bytes]:
        return self._log.all()

    def list_keys(self) -> list[str]:
        """The keys."""
        return [key for key in self._all() if key not in (_OPEN, _CLOSED)]

    def append(self, key: str, value: str | bytes) -> None:
        """Put the value behind what is there."""
        data = _bytes(value)
        self._change(key, lambda old: (old or b"") + data)


class _Server:
    """What keeps a TCPStore's values, in a thread of this process, until no store holds it any more."""

    def __init__(self, listener: socket.socket) -> None:
        from rushlight.distributed.hub.server import in_thread  # which has a store of its own

        self._hub = in_thread(listener)
        self.port = self._hub.port

    def __del__(self) -> None:
        if hasattr(self, "_hub"):
            self._hub.stop()
            self._hub.ended(1.0)  # who makes a store at this port next finds it free


_shared: WeakValueDictionary[int, _Server] = WeakValueDictionary()  # servers of several masters, by port


class TCPStore(Store):
    """A store that one process keeps and all reach by TCP.

    host_name, port: where. world_size: how many will use it (with wait_for_workers the constructor waits for
    them). is_master: keep it, in a thread of this process; port 0 is any free one then. timeout: 300 s.
    multi_tenant: masters of one process and port, all made with it, share what is kept.
    master_listen_fd: the descriptor of a bound socket to listen on. use_libuv: what libuvBackend says;
    there is one server.
    Raises DistNetworkError where the port is taken or nobody listens.
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = timedelta(seconds=300),
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        self._timeout, self.host, self.port, self.libuvBackend = timeout, host_name, port, use_libuv
        self._hub = _shared.get(port) if is_master and multi_tenant else None
        if is_master and self._hub is None:
            self._hub = _Server(_listener(port, master_listen_fd))
        if self._hub is not None:
            self.port = self._hub.port
            if multi_tenant:
                _shared[self.port] = self._hub
        self._line = self._connected()
        if world_size is not None and world_size > 0 and wait_for_workers:
            self._wait_for(world_size)

    def _connected(self) -> Connection:
        try:
            return Connection(self.host, self.port, self._timeout.total_seconds())
        except OSError as error:
            raise DistNetworkError(str(error)) from None

    def _wait_for(self, workers: int) -> None:
        here, end = self.add("init/", 1), time.monotonic() + self._timeout.total_seconds()
        while self._hub is not None and here < workers:
            if time.monotonic() > end:
                raise DistStoreError(
                    f"Timed out after {self._timeout.total_seconds():.0f} seconds waiting "
                    f"for clients. {here}/{workers} clients joined."
                )
            time.sleep(0.005)
            here = self.add("init/", 0)

    def __repr__(self) -> str:
        return f"TCPStore({self.host}:{self.port}{', master' if self._hub is not None else ''})"

    def __del__(self) -> None:
        if hasattr(self, "_line"):
            self._line.close()

    def _ask(self, *fields: str | bytes | int | float) -> list[bytes]:
        try:
            kind, *values = self._line.call(*fields)
        except ConnectionLost as error:
            raise DistNetworkError(f"the store at {self.host}:{self.port} has gone: {error}") from None
        if kind == b"timeout":
            raise DistStoreError(
                _late([f.decode() if isinstance(f, bytes) else str(f) for f in fields[2:]], float(fields[1]))
            )
        if kind == b"error":
            raise DistNetworkError(values[0].decode())
        return values

    def get(self, key: str) -> bytes:
        """The value of a key, waited for until the store's timeout (DistStoreError)."""
        return self._ask("get", self._timeout.total_seconds(), key)[0]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys have values; DistStoreError after `timeout`, by default the store's."""
        self._ask("wait", (timeout or self._timeout).total_seconds(), *keys)

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys have values now."""
        return self._ask("check", *keys)[0] == b"1"

    def list_keys(self) -> list[str]:
        """All keys that have values."""
        return [key.decode() for key in self._ask("list_keys")]

    def has_extended_api(self) -> bool:
        """Whether append, multi_get and multi_set are steps of their own: True."""
        return True

    def clone(self) -> TCPStore:
        """Another connection to the same server."""
        return TCPStore(self.host, self.port, None, False, self._timeout)


# What the store's process is asked as it is, and how the answer is read.
_READ: dict[str, Callable[[bytes], Any]] = {
    "set": lambda none: None,
    "add": int,
    "append": lambda none: None,
    "compare_set": bytes,
    "delete_key": b"1".__eq__,
    "num_keys": int,
}
ASKED = (*_READ, "check", "list_keys")


def _asking(name: str) -> Callable[..., Any]:
    def method(self: TCPStore, *values: Any) -> Any:
        plain = values if name == "add" else map(_bytes, values)
        return _READ[name]((self._ask(name, *plain) or [b""])[0])

    return method


def _prefixed(name: str) -> Callable[..., Any]:
    def method(self: PrefixStore, key: str, *values: Any) -> Any:
        given = values if name == "add" else map(_bytes, values)
        return getattr(self.underlying_store, name)(self._key(key), *given)

    return method


def _listener(port: int, descriptor: int | None) -> Any:
    if descriptor is not None:
        bound = socket.socket(fileno=descriptor)
        bound.listen(512)
        return bound
    try:
        return socket.create_server(("", port), backlog=512)
    except OSError as error:
        raise DistNetworkError(
            f"The server socket has failed to listen on any local network address. port: {port}, useIpv6: "
            f"false, code: {-(error.errno or 0)}, name: {error.strerror}"
        ) from None


class PrefixStore(Store):
    """Another store whose keys have a prefix and "/" before them."""

    def __init__(self, prefix: str, store: Store) -> None:
        self._prefix, self.underlying_store = prefix, store

    def _key(self, key: str) -> str:
        return f"{self._prefix}/{key}"

    @property
    def _underlying_non_prefix_store(self) -> Store:
        return self.underlying_store._underlying_non_prefix_store

    @property
    def timeout(self) -> timedelta:
        """How long get and wait of the store below wait."""
        return self.underlying_store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set that of the store below."""
        self.underlying_store.set_timeout(timeout)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait for keys of this prefix."""
        self.underlying_store.wait([self._key(key) for key in keys], timeout)

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all these keys of the prefix have values now."""
        return self.underlying_store.check([self._key(key) for key in keys])

    def num_keys(self) -> int:
        """The number of keys in the store below, those of other prefixes too."""
        return self.underlying_store.num_keys()

    def list_keys(self) -> list[str]:
        """The keys of this prefix, without it."""
        start = self._key("")
        return [key[len(start) :] for key in self.underlying_store.list_keys() if key.startswith(start)]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys of this prefix."""
        return self.underlying_store.multi_get([self._key(key) for key in keys])

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set several keys of this prefix."""
        self.underlying_store.multi_set([self._key(key) for key in keys], [_bytes(value) for value in values])

    def has_extended_api(self) -> bool:
        """What the store below says."""
        return self.underlying_store.has_extended_api()

    def clone(self) -> PrefixStore:
        """The same prefix on another connection."""
        return PrefixStore(self._prefix, self.underlying_store.clone())


for _name in ("set", "get", "add", "append", "compare_set", "delete_key", "num_keys"):
    if _name in _READ:
        setattr(TCPStore, _name, _asking(_name))
    if _name != "num_keys":
        setattr(PrefixStore, _name, _prefixed(_name))
