"""What a rendezvous is: its handlers, their parameters and results, and who makes them by name."""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from rushlight.distributed.elastic.utils.distributed import get_free_port
from rushlight.distributed.stores import Store


class RendezvousError(Exception):
    """A rendezvous has failed."""


class RendezvousClosedError(RendezvousError):
    """It is closed: nobody can join any more."""


class RendezvousTimeoutError(RendezvousError):
    """Not enough nodes have come in time."""


class RendezvousConnectionError(RendezvousError):
    """What the nodes meet at cannot be reached."""


class RendezvousStateError(RendezvousError):
    """What is stored of it makes no sense."""


class RendezvousGracefulExitError(RendezvousError):
    """This node is not needed; that is no failure."""


@dataclass
class RendezvousStoreInfo:
    """Where the workers' store listens."""

    MASTER_ADDR_KEY: ClassVar[str] = "MASTER_ADDR"
    MASTER_PORT_KEY: ClassVar[str] = "MASTER_PORT"
    master_addr: str
    master_port: int

    @staticmethod
    def build(
        rank: int, store: Store, local_addr: str | None, server_port: int | None = None
    ) -> RendezvousStoreInfo:
        """What rank 0 says to all: its address, and server_port or a free port of its machine."""
        keys = RendezvousStoreInfo.MASTER_ADDR_KEY, RendezvousStoreInfo.MASTER_PORT_KEY
        if rank == 0:
            store.set(keys[0], local_addr or socket.getfqdn())
            store.set(keys[1], str(server_port or get_free_port()))
        address, port = (store.get(key).decode() for key in keys)
        return RendezvousStoreInfo(address, int(port))


class RendezvousInfo:
    """What a node knows when all have come."""

    def __init__(
        self, store: Store, rank: int, world_size: int, bootstrap_store_info: RendezvousStoreInfo | None
    ) -> None:
        self._store, self._rank, self._world_size = store, rank, world_size
        self._bootstrap_store_info = bootstrap_store_info

    @property
    def store(self) -> Store:
        """The agents' store."""
        return self._store

    @property
    def rank(self) -> int:
        """This node's number."""
        return self._rank

    @property
    def world_size(self) -> int:
        """How many nodes there are."""
        return self._world_size

    @property
    def bootstrap_store_info(self) -> RendezvousStoreInfo | None:
        """Where the workers' store listens."""
        return self._bootstrap_store_info


class RendezvousHandler(ABC):
    """One way to meet."""

    @abstractmethod
    def get_backend(self) -> str:
        """Its name."""

    @property
    def use_agent_store(self) -> bool:
        """Whether workers may use the agents' store."""
        return False

    @abstractmethod
    def next_rendezvous(self) -> RendezvousInfo:
        """Wait until all nodes have come. Raises RendezvousClosedError, RendezvousTimeoutError,
        RendezvousConnectionError or RendezvousStateError.
        """

    @abstractmethod
    def is_closed(self) -> bool:
        """Whether it is known that nobody can join any more."""

    @abstractmethod
    def set_closed(self) -> None:
        """Let nobody join any more."""

    @abstractmethod
    def num_nodes_waiting(self) -> int:
        """How many nodes came too late and wait for the next round."""

    @abstractmethod
    def get_run_id(self) -> str:
        """The id of the run, which all nodes of it give."""

    @abstractmethod
    def shutdown(self) -> bool:
        """Close what is open; whether that went well."""


_YES = ("1", "true", "t", "yes", "y")
_NO = ("0", "false", "f", "no", "n")


class RendezvousParameters:
    """What a handler is made of; kwargs: options of its backend."""

    def __init__(
        self,
        backend: str,
        endpoint: str,
        run_id: str,
        min_nodes: int,
        max_nodes: int,
        local_addr: str | None = None,
        **kwargs: Any,
    ) -> None:
        if not backend:
            raise ValueError("The rendezvous backend name must be a non-empty string.")
        if min_nodes < 1:
            raise ValueError(
                f"The minimum number of rendezvous nodes ({min_nodes}) must be greater than zero."
            )
        if max_nodes < min_nodes:
            raise ValueError(
                f"The maximum number of rendezvous nodes ({max_nodes}) must be greater than or equal to the "
                f"minimum number of rendezvous nodes ({min_nodes})."
            )
        self.backend, self.endpoint, self.run_id = backend, endpoint, run_id
        self.min_nodes, self.max_nodes, self.local_addr = min_nodes, max_nodes, local_addr
        self.config = kwargs

    def get(self, key: str, default: Any = None) -> Any:
        """An option."""
        return self.config.get(key, default)

    def get_as_bool(self, key: str, default: bool | None = None) -> bool | None:
        """An option as a bool: of 1, "true", "t", "yes", "y" and their opposites."""
        value = self.get(key, default)
        if value is None or isinstance(value, bool):
            return value
        said = str(value).lower() if isinstance(value, (int, str)) else ""
        if said in _YES or said in _NO:
            return said in _YES
        raise ValueError(
            f"The rendezvous configuration option '{key}' does not represent a valid boolean value."
        )

    def get_as_int(self, key: str, default: int | None = None) -> int | None:
        """An option as an int."""
        value = self.get(key, default)
        try:
            return None if value is None else int(value)
        except ValueError as error:
            raise ValueError(
                f"The rendezvous configuration option '{key}' does not represent a valid integer value."
            ) from error


RendezvousHandlerCreator = Callable[[RendezvousParameters], RendezvousHandler]


class RendezvousHandlerRegistry:
    """Functions that make handlers, by the names of backends."""

    def __init__(self) -> None:
        self._registry: dict[str, RendezvousHandlerCreator] = {}

    def register(self, backend: str, creator: RendezvousHandlerCreator) -> None:
        """Let creator(parameters) make the handlers of a backend. ValueError where another one does."""
        if not backend:
            raise ValueError("The rendezvous backend name must be a non-empty string.")
        known = self._registry.setdefault(backend, creator)
        if known != creator:
            raise ValueError(
                f"The rendezvous backend '{backend}' cannot be registered with '{creator}' as it is already "
                f"registered with '{known}'."
            )

    def create_handler(self, params: RendezvousParameters) -> RendezvousHandler:
        """A handler; ValueError for an unknown backend."""
        creator = self._registry.get(params.backend)
        if creator is None:
            raise ValueError(
                f"The rendezvous backend '{params.backend}' is not registered. Did you forget to call "
                "`register`?"
            )
        handler = creator(params)
        if handler.get_backend() != params.backend:
            raise RuntimeError(
                f"The rendezvous backend '{handler.get_backend()}' does not match the requested backend "
                f"'{params.backend}'."
            )
        return handler


rendezvous_handler_registry = RendezvousHandlerRegistry()
