"""init_rpc(): this process becomes a worker."""

from __future__ import annotations

import itertools
import os
import re
from datetime import timedelta
from numbers import Integral
from typing import Any

import rushlight.distributed as dist
from rushlight.distributed.rpc import api, backend_registry, state
from rushlight.distributed.rpc.gradients import contexts
from rushlight.distributed.rpc.options import RpcBackendOptions
from rushlight.distributed.rpc.rrefs import references

_attempts = itertools.count()
_kept: list[Any] = []  # meetings that others may not have come to yet


def init_rpc(
    name: str,
    backend: Any = None,
    rank: int = -1,
    world_size: int | None = None,
    rpc_backend_options: Any = None,
) -> None:
    """Make this process a worker that calls others and is called.

    name: its own among all; rank, world_size: as init_process_group's, or no world_size where workers come
    and go. backend: BackendType.TENSORPIPE, or a program's own. Waits until all workers are there.
    """
    if backend is not None and not isinstance(backend, backend_registry.BackendType):
        raise TypeError("Argument backend must be a member of BackendType")
    if rpc_backend_options is not None and not isinstance(rpc_backend_options, RpcBackendOptions):
        raise TypeError("Argument rpc_backend_options must be an instance of RpcBackendOptions")
    if backend is None:
        backend = _backend_of(rpc_backend_options)
    if rpc_backend_options is None:
        rpc_backend_options = backend_registry.construct_rpc_backend_options(backend)
    store = _store(rpc_backend_options.init_method, rank, world_size)
    store.set_timeout(timedelta(seconds=rpc_backend_options.rpc_timeout))
    store = dist.PrefixStore(f"rpc_prefix_{next(_attempts)}", store)
    contexts.begin(rank)
    _init_rpc_backend(backend, store, name, rank, world_size, rpc_backend_options)


def _backend_of(options: Any) -> Any:
    """The backend whose options they are."""
    if options is None:
        return backend_registry.BackendType.TENSORPIPE
    for candidate in backend_registry.BackendType:
        if isinstance(options, type(backend_registry.construct_rpc_backend_options(candidate))):
            return candidate
    raise TypeError(f"Could not infer backend for options {options}")


def _store(init_method: str, rank: int, world_size: int | None) -> Any:
    if world_size:
        meeting = dist.rendezvous(init_method, rank=rank, world_size=world_size)
        _kept[:] = [meeting]
        return next(meeting)[0]
    url = init_method
    if url.startswith("env://") and "WORLD_SIZE" not in os.environ:  # any number of workers
        url = f"tcp://{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    if not url.startswith("env://"):
        url += f"{'&' if '?' in url else '?'}world_size=-1"
    return next(dist.rendezvous(url, rank=rank))[0]


def _check(name: Any) -> None:
    """RuntimeError for what is no name of a worker."""
    if not name:
        raise RuntimeError("Worker name must be non-empty.")
    if len(name) >= 128:
        raise RuntimeError(f"Worker name must be shorter than 128. Got {len(name)}.")
    if not re.fullmatch(r"[A-Za-z0-9_:-]*", name):
        raise RuntimeError(f"Worker name must match ^[A-Za-z0-9-_:]*$, but got {name}.")


def _init_rpc_backend(
    backend: Any = None,
    store: Any = None,
    name: Any = None,
    rank: int = -1,
    world_size: int | None = None,
    rpc_backend_options: Any = None,
) -> None:
    """Make the agent and begin."""
    wanted = (
        (backend, backend_registry.BackendType),
        (store, dist.Store),
        (name, str),
        (rank, Integral),
        (world_size, (Integral, type(None))),
        (rpc_backend_options, RpcBackendOptions),
    )
    for value, kind in wanted:
        if not isinstance(value, kind):
            raise RuntimeError(f"Argument {value} must be of type {kind} but got type {type(value)}")
    if state.is_set():
        raise RuntimeError("RPC is already initialized")
    references.begin()
    agent = backend_registry.init_backend(
        backend,
        store=store,
        name=name,
        rank=rank,
        world_size=world_size,
        rpc_backend_options=rpc_backend_options,
    )
    state.put(agent)
    agent.start()


@api._require_initialized
def _get_debug_info() -> dict[str, str]:
    """Figures of references, the agent and contexts, as text."""
    from rushlight.distributed import autograd  # a circle: it is loaded with a program's first mention

    return {
        **references.figures(),
        **state.agent().get_debug_info(),
        **autograd._get_debug_info(),
    }
