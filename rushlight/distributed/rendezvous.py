"""How ranks find each other: env://, tcp:// and file://, each of which ends in a store."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from numbers import Integral
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from rushlight.distributed.communication.wire import adopt_mpi
from rushlight.distributed.errors import DistBackendError
from rushlight.distributed.hub.server import in_process
from rushlight.distributed.stores import FileStore, HashStore, PrefixStore, Store, TCPStore, _listener

default_pg_timeout = timedelta(minutes=30)
_hubs: dict[int, None] = {}  # ports at which helpers of this process listen


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, **kwargs: Any
) -> Iterator[tuple[Store, int, int]]:
    """An iterator of (store, rank, world_size), of which PyTorch's schemes give one.

    url: a scheme's (env, tcp, file, or one that was registered); rank, world_size: what the URL does not say,
    written into its query; kwargs: the handler's, such as timeout.
    Raises RuntimeError for unknown schemes, AssertionError where rank and world_size are said twice,
    ValueError for what is missing.
    """
    if not isinstance(url, str):
        raise RuntimeError(f"`url` must be a string, got {url!r} of type {type(url).__name__}")
    for name, number in (("rank", rank), ("world_size", world_size)):
        if not isinstance(number, Integral):
            raise RuntimeError(f"`{name}` must be an integer, got {number!r} of type {type(number).__name__}")
    parts = urlsplit(url)
    told = {"rank": str(rank), "world_size": str(world_size)}
    told = {name: number for name, number in told.items() if number != "-1"}
    if told:
        given = dict(parse_qsl(parts.query))
        if given.keys() & {"rank", "world_size"}:
            raise AssertionError(f"The url: {url} has node-specific arguments(rank, world_size) already.")
        parts = parts._replace(query=urlencode(given | told))
    if parts.scheme not in _HANDLERS:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")
    return _HANDLERS[parts.scheme](urlunsplit(parts), **kwargs)


def register_rendezvous_handler(
    scheme: str, handler: Callable[..., Iterator[tuple[Store, int, int]]]
) -> None:
    """Let `handler(url, timeout=)`, a generator as `rendezvous` is, answer for a scheme.

    The URL's query says rank and world_size, where these are known.
    """
    if scheme in _HANDLERS:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _HANDLERS[scheme] = handler


def _number(given: dict[str, str], name: str, scheme: str) -> int:
    if name not in given:
        what = "world size" if name == "world_size" else name
        raise ValueError(
            f"Error initializing torch.distributed using {scheme}:// rendezvous: {what} parameter missing"
        )
    return int(given[name])


def _env(parts: SplitResult, given: dict[str, str], timeout: timedelta) -> tuple[Store, int, int]:
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


def _tcp(parts: SplitResult, given: dict[str, str], timeout: timedelta) -> tuple[Store, int, int]:
    if parts.port is None:
        raise ValueError("Error initializing torch.distributed using tcp:// rendezvous: port number missing")
    rank, size = _number(given, "rank", "tcp"), _number(given, "world_size", "tcp")
    return _tcp_store(parts.hostname or "", parts.port, rank, size, timeout), rank, size


def _file(parts: SplitResult, given: dict[str, str], timeout: timedelta) -> tuple[Store, int, int]:
    if not parts.path:
        raise ValueError("Error initializing torch.distributed using file:// rendezvous: path missing")
    rank, size = _number(given, "rank", "file"), _number(given, "world_size", "file")
    store = FileStore(parts.path, size)
    store.set_timeout(timeout)
    return store, rank, size


def _once(
    scheme: str, meeting: Callable[[SplitResult, dict[str, str], timedelta], tuple[Store, int, int]]
) -> Callable[..., Iterator[tuple[Store, int, int]]]:
    """A handler of one answer."""

    def handler(
        url: str, timeout: timedelta = default_pg_timeout, **kwargs: Any
    ) -> Iterator[tuple[Store, int, int]]:
        parts = urlsplit(url)
        yield meeting(parts, dict(parse_qsl(parts.query)), timeout)
        raise RuntimeError(f"Unable to perform re-rendezvous using {scheme}:// method")

    return handler


_HANDLERS: dict[str, Callable[..., Iterator[tuple[Store, int, int]]]] = {
    "env": _once("env", _env),
    "tcp": _once("tcp", _tcp),
    "file": _once("file", _file),
}


def _tcp_store(host: str, port: int, rank: int, size: int, timeout: timedelta) -> Store:
    """The store at an address: the launcher's, or that of a helper process which rank 0 starts."""
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        store = TCPStore(host, port, None, False, timeout)
        return PrefixStore(f"attempt_{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
    if size == 1:
        return TCPStore(host, port, 1, True, timeout, multi_tenant=True)
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
