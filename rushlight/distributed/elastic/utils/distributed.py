"""Ports and stores for a run (torch.distributed.elastic.utils.distributed)."""

from __future__ import annotations

import socket
from datetime import timedelta
from typing import Any

from rushlight.distributed.stores import TCPStore

__all__ = ["create_c10d_store", "get_free_port", "get_socket_with_port"]


def get_socket_with_port() -> socket.socket:
    """A socket that listens on a free port of this machine; closing it frees the port."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.bind(("localhost", 0))
    found.listen(0)
    return found


def get_free_port() -> int:
    """A port of this machine that is free now."""
    with get_socket_with_port() as found:
        return int(found.getsockname()[1])


def create_c10d_store(
    is_server: bool,
    server_addr: str,
    server_port: int = -1,
    world_size: int = 1,
    timeout: float = 60 * 10,
    wait_for_workers: bool = True,
    retries: int = 3,
    use_libuv: bool | None = None,
) -> Any:
    """A TCPStore; timeout: seconds. A server's port -1 is any free one, for which it tries `retries`
    times.
    """
    if server_port == -1 and world_size > 1:
        raise ValueError(
            f"server_port must be specified when world_size > 1, got server_port={server_port}, "
            f"world_size={world_size}"
        )
    while True:
        port = get_free_port() if server_port == -1 else server_port
        try:
            return TCPStore(
                server_addr, port, world_size, is_server, timedelta(seconds=timeout), wait_for_workers
            )
        except OSError:
            retries -= 1
            if server_port != -1 or retries <= 0:
                raise
