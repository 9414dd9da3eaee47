"""The backends that are known by name; packages offer more as entry points "torchrun.handlers"."""

from __future__ import annotations

import logging
from importlib.metadata import entry_points

from rushlight.distributed.elastic.rendezvous.api import (
    RendezvousHandler,
    RendezvousParameters,
    rendezvous_handler_registry as handler_registry,
)
from rushlight.distributed.elastic.rendezvous.static_tcp_rendezvous import create_rdzv_handler

__all__ = ["get_rendezvous_handler"]
log = logging.getLogger(__name__)


def _absent(params: RendezvousParameters) -> RendezvousHandler:
    raise NotImplementedError(
        f"The rendezvous backend '{params.backend}' is not there for agents of a program's own; use "
        "'static', or rushlight-run, whose agents meet by themselves"
    )


def _register_default_handlers() -> None:
    for name in ("etcd", "etcd-v2", "c10d"):
        handler_registry.register(name, _absent)
    handler_registry.register("static", create_rdzv_handler)


def _register_out_of_tree_handlers() -> None:
    found = entry_points(group="torchrun.handlers")
    for name in found.names:
        try:
            handler_registry.register(name, found[name].load()())
        except Exception:  # a package of somebody else
            log.warning("Exception while registering out of tree plugin %s: ", name, exc_info=True)


def get_rendezvous_handler(params: RendezvousParameters) -> RendezvousHandler:
    """The handler of a backend that is registered."""
    return handler_registry.create_handler(params)
