"""Backends of remote calls by name: how their options and agents are made."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

from rushlight.distributed.rpc import constants
from rushlight.distributed.rpc.agent import TensorPipeAgent
from rushlight.distributed.rpc.options import TensorPipeRpcBackendOptions

__all__ = [
    "BackendType",
    "backend_registered",
    "construct_rpc_backend_options",
    "init_backend",
    "register_backend",
]


class BackendValue(NamedTuple):
    """What makes a backend's options, and its agent."""

    construct_rpc_backend_options_handler: Callable[..., Any]
    init_backend_handler: Callable[..., Any]


def _shown(self: Any) -> str:
    return f"BackendType.{self.name}"


def _made(values: dict[str, BackendValue]) -> Any:
    found: Any = enum.Enum("BackendType", values)  # type: ignore[misc]
    setattr(found, "__repr__", _shown)
    found.__doc__ = "The backends that there are; register_backend() adds others."
    return found


def backend_registered(backend_name: str) -> bool:
    """Whether there is a backend of that name."""
    return backend_name in BackendType.__members__


def register_backend(
    backend_name: str, construct_rpc_backend_options_handler: Any, init_backend_handler: Any
) -> Any:
    """Add a backend: the function of its options, and that of its agent. RuntimeError for a known name."""
    global BackendType
    if backend_registered(backend_name):
        raise RuntimeError(f"RPC backend {backend_name}: already registered")
    known = {member.name: member.value for member in BackendType}
    added = BackendValue(construct_rpc_backend_options_handler, init_backend_handler)
    BackendType = _made({**known, backend_name: added})
    return BackendType[backend_name]


def construct_rpc_backend_options(
    backend: Any,
    rpc_timeout: float = constants.DEFAULT_RPC_TIMEOUT_SEC,
    init_method: str = constants.DEFAULT_INIT_METHOD,
    **kwargs: Any,
) -> Any:
    """A backend's options."""
    return backend.value.construct_rpc_backend_options_handler(rpc_timeout, init_method, **kwargs)


def init_backend(backend: Any, *args: Any, **kwargs: Any) -> Any:
    """A backend's agent, which is ready to be called."""
    return backend.value.init_backend_handler(*args, **kwargs)


def _options(rpc_timeout: float, init_method: str, **kwargs: Any) -> Any:
    kept = {name: value for name, value in kwargs.items() if name not in ("rpc_timeout", "init_method")}
    return TensorPipeRpcBackendOptions(rpc_timeout=rpc_timeout, init_method=init_method, **kept)


def _agent(store: Any, name: str, rank: int, world_size: int | None, rpc_backend_options: Any) -> Any:
    if not isinstance(rpc_backend_options, TensorPipeRpcBackendOptions):
        raise TypeError(
            f"`rpc_backend_options` must be a `TensorPipeRpcBackendOptions`, got {type(rpc_backend_options)}"
        )
    return TensorPipeAgent(store, name, rank, world_size, rpc_backend_options)


BackendType: Any = _made({"TENSORPIPE": BackendValue(_options, _agent)})
