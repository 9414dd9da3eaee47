"""How ranks find each other: env://, tcp:// and file://, each of which ends in a store."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from rushlight.distributed.communication.wire import adopt_mpi
from rushlight.distributed.errors import DistBackendError
from rushlight.distributed.hub.server import in_process
from rushlight.distributed.stores import FileStore, HashStore, PrefixStore, Store, TCPStore, _listener

default_pg_timeout = timedelta(minutes=30)
_hubs: dict[int, None] = {}  # ports at which helpers of this process listen


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, timeout: timedelta = default_pg_timeout, **kwargs: Any
) -> Iterator[tuple[Store, int, int]]:
    """Yields (store, rank, world_size). ValueError for what is missing, RuntimeError for unknown schemes."""
    parts = urlsplit(url)
    handler = _HANDLERS.get(parts.scheme)
    if handler is None:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")
    given = {name: values[0] for name, values in parse_qs(parts.query).items()}
    if rank != -1:
        given["rank"] = str(rank)
    if world_size != -1:
        given["world_size"] = str(world_size)
    yield handler(parts, given, timeout)


def register_rendezvous_handler(
    scheme: str, handler: Callable[..., Iterator[tuple[Store, int, int]]]
) -> None:
    """Let `handler(url, timeout=)`, a generator as `rendezvous` is, answer for a scheme."""

    def answer(parts: Any, given: dict[str, str], timeout: timedelta) -> tuple[Store, int, int]:
        return next(handler(parts.geturl(), timeout=timeout))

    if scheme in _HANDLERS:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _HANDLERS[scheme] = answer


def _number(given: dict[str, str], name: str, scheme: str) -> int:
    if name not in given:
        what = "world size" if name == "world_size" else name
        raise ValueError(
            f"Error initializing torch.distributed using {scheme}:// rendezvous: {what} parameter missing"
        )
    return int(given[name])


def _env(parts: Any, given: dict[str, str], timeout: timedelta) -> tuple[Store, int, int]:
    def need(name: str) -> str:
        if not (value := given.get(name.lower()) or os.environ.get(name)):
            raise ValueError(
                "Error initializing torch.distributed using env:// rendezvous: environment "
                f"variable {name} expected, but not set"
            )
        return value

    if "rank" not in given and "RANK" not in os.environ and "PMI_RANK" in os.environ:
        return _started_by_mpi(timeout)
    rank, size = int(need("RANK")), int(need("WORLD_SIZE"))
    return _tcp_store(need("MASTER_ADDR"), int(need("MASTER_PORT")), rank, size, timeout), rank, size


def _started_by_mpi(timeout: timedelta) -> tuple[Store, int, int]:
    """Ranks that mpiexec or srun has started know each other by MPI, and need a store and a hub."""
    wire = adopt_mpi()
    expected = int(os.environ.get("SLURM_NTASKS", wire.size))
    if wire.size != expected:
        raise DistBackendError(
            f"MPI has started with {wire.size} ranks, but SLURM_NTASKS={expected}: use srun --mpi=pmi2"
        )
    port = _start_helper(0, timeout) if wire.rank == 0 else 0
    host, port = wire.told_by_first((socket.gethostname(), port))
    store = TCPStore("127.0.0.1" if host == socket.gethostname() else host, port, None, False, timeout)
    return store, wire.rank, wire.size


def _tcp(parts: Any, given: dict[str, str], timeout: timedelta) -> tuple[Store, int, int]:
    if parts.port is None:
        raise ValueError("Error initializing torch.distributed using tcp:// rendezvous: port number missing")
    rank, size = _number(given, "rank", "tcp"), _number(given, "world_size", "tcp")
    return _tcp_store(parts.hostname, parts.port, rank, size, timeout), rank, size


def _file(parts: Any, given: dict[str, str], timeout: timedelta) -> tuple[Store, int, int]:
    if not parts.path:
        raise ValueError("Error initializing torch.distributed using file:// rendezvous: path missing")
    rank, size = _number(given, "rank", "file"), _number(given, "world_size", "file")
    store = FileStore(parts.path, size)
    store.set_timeout(timeout)
    return store, rank, size


_HANDLERS: dict[str, Callable[[Any, dict[str, str], timedelta], tuple[Store, int, int]]] = {
    "env": _env,
    "tcp": _tcp,
    "file": _file,
}


def _tcp_store(host: str, port: int, rank: int, size: int, timeout: timedelta) -> Store:
    """The store at an address: the launcher's, or that of a helper process which rank 0 starts."""
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        store = TCPStore(host, port, None, False, timeout)
        return PrefixStore(f"attempt_{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
    if size == 1:
        return TCPStore(host, port, 1, True, timeout)
    if rank == 0 and port not in _hubs:
        _start_helper(port, timeout)
    return TCPStore(host, port, None, False, timeout)


def _start_helper(port: int, timeout: timedelta) -> int:
    listener = _listener(port, None)
    port = listener.getsockname()[1]
    in_process(listener, timeout.total_seconds())
    _hubs[port] = None
    return port


def meet(store: Store, rank: int, size: int, timeout: timedelta) -> tuple[str, int, str]:
    """The job's hub: host, port and the job's name, which rank 0 makes up and others read in the store."""
    if rank == 0:
        base: Any = store
        while isinstance(base, PrefixStore):
            base = base.underlying_store
        if isinstance(base, HashStore) and size > 1:
            raise DistBackendError("a HashStore is seen by one process only: use a TCPStore or a FileStore")
        if isinstance(base, TCPStore) and base._hub is None:
            where = f"{base.host} {base.port}"  # the store's own process is a hub
        else:
            where = f"{_address(base)} {_start_helper(0, timeout)}"
        run = os.environ.get("TORCHELASTIC_RUN_ID", "none")
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store.set("hub", f"{where} {socket.gethostname()} {run}.{attempt}.{uuid.uuid4().hex}")
    store.wait(["hub"], timeout)
    host, port, name, job = store.get("hub").decode().split()
    if name == socket.gethostname() and host == name:
        host = "127.0.0.1"
    return host, int(port), job


def _address(store: Any) -> str:
    """Where others reach this process: where they reach its store, or else by its name."""
    return store.host if isinstance(store, TCPStore) else socket.gethostname()
