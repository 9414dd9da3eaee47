"""A rendezvous of nodes whose ranks are known: a TCPStore that rank 0 serves."""

from __future__ import annotations

from datetime import timedelta

from rushlight.distributed.elastic.rendezvous.api import (
    RendezvousHandler,
    RendezvousInfo,
    RendezvousParameters,
    RendezvousStoreInfo,
)
from rushlight.distributed.elastic.rendezvous.utils import parse_rendezvous_endpoint
from rushlight.distributed.stores import PrefixStore, TCPStore

__all__ = ["StaticTCPRendezvous", "create_rdzv_handler"]
_TIMEOUT = 600


class StaticTCPRendezvous(RendezvousHandler):
    """Nodes meet at a store of rank 0; timeout: seconds."""

    def __init__(
        self, master_addr: str, master_port: int, rank: int, world_size: int, run_id: str, timeout: int
    ) -> None:
        self.master_addr, self.master_port, self.run_id = master_addr, master_port, run_id
        self.rank, self.world_size = rank, world_size
        self.timeout = timedelta(seconds=timeout)
        self._store: TCPStore | None = None

    def get_backend(self) -> str:
        """What registers it: static."""
        return "static"

    @property
    def use_agent_store(self) -> bool:
        """Workers may."""
        return True

    def next_rendezvous(self) -> RendezvousInfo:
        """Connect to the store, or serve it; ranks are as they were said."""
        if self._store is None:
            self._store = TCPStore(
                self.master_addr,
                self.master_port,
                self.world_size,
                self.rank == 0,
                self.timeout,
                multi_tenant=True,
            )
        place = RendezvousStoreInfo(self.master_addr, self.master_port)
        return RendezvousInfo(PrefixStore(self.run_id, self._store), self.rank, self.world_size, place)

    def is_closed(self) -> bool:
        """Never."""
        return False

    def set_closed(self) -> None:
        """Nothing: nobody joins later."""

    def num_nodes_waiting(self) -> int:
        """None."""
        return 0

    def get_run_id(self) -> str:
        """The id of the run."""
        return self.run_id

    def shutdown(self) -> bool:
        """Nothing is left open."""
        return True


def create_rdzv_handler(params: RendezvousParameters) -> RendezvousHandler:
    """A handler; ValueError where the rank, the host or the port is not said."""
    if "rank" not in params.config:
        raise ValueError("rank is absent in RendezvousParameters.Try add --node-rank to the cmd request")
    endpoint = params.endpoint.strip()
    if not endpoint:
        raise ValueError(
            "endpoint is absent in RendezvousParametersTry add --master-port and --master-addr to the cmd "
            "request"
        )
    host, port = parse_rendezvous_endpoint(endpoint, -1)
    if port == -1:
        raise ValueError(f"Port is absent in endpoint: {endpoint}. Try launching with --master-port")
    rank, timeout = int(params.config["rank"]), int(params.config.get("timeout", _TIMEOUT))
    return StaticTCPRendezvous(host, port, rank, params.max_nodes, params.run_id, timeout)
