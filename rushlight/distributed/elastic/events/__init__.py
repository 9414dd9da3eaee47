"""Events of a run, told through Python's logging (torch.distributed.elastic.events)."""

from __future__ import annotations

import logging
import os
import socket
import sys
import traceback

from rushlight.distributed.elastic.events.api import (
    Event,
    EventMetadataValue,
    EventSource,
    NodeState,
    RdzvEvent,
)
from rushlight.distributed.elastic.events.handlers import get_logging_handler

__all__ = [
    "Event",
    "EventMetadataValue",
    "EventSource",
    "NodeState",
    "RdzvEvent",
    "construct_and_record_rdzv_event",
    "get_logging_handler",
    "record",
    "record_rdzv_event",
]

_events_loggers: dict[str, logging.Logger] = {}


def _get_or_create_logger(destination: str = "null") -> logging.Logger:
    """The logger of a destination; it hands nothing on to those above it."""
    known = _events_loggers.get(destination)
    if known is None:
        known = logging.getLogger(f"torchelastic-events-{destination}")
        known.setLevel(os.environ.get("LOGLEVEL", "INFO"))
        known.propagate = False
        known.addHandler(get_logging_handler(destination))
        _events_loggers[destination] = known
    return known


def record(event: Event, destination: str = "null") -> None:
    """Log an event; destination: "console" or "null"."""
    _get_or_create_logger(destination).info(event.serialize())


def record_rdzv_event(event: RdzvEvent) -> None:
    """Log an event of nodes that meet."""
    _get_or_create_logger("dynamic_rendezvous").info(event.serialize())


def construct_and_record_rdzv_event(
    run_id: str,
    message: str,
    node_state: NodeState,
    name: str = "",
    hostname: str = "",
    pid: int | None = None,
    master_endpoint: str = "",
    local_id: int | None = None,
    rank: int | None = None,
) -> None:
    """Log an event of nodes that meet, if anybody listens.

    Its name is "file:name" of the caller; the name's default is the calling function's. A failure has the
    traceback of the exception that is being handled.
    """
    if isinstance(get_logging_handler("dynamic_rendezvous"), logging.NullHandler):
        return
    caller = sys._getframe(1).f_code
    record_rdzv_event(
        RdzvEvent(
            name=f"{os.path.basename(caller.co_filename)}:{name or caller.co_name}",
            run_id=run_id,
            message=message,
            hostname=hostname or socket.getfqdn(),
            pid=pid or os.getpid(),
            node_state=node_state,
            master_endpoint=master_endpoint,
            rank=rank,
            local_id=local_id,
            error_trace=traceback.format_exc() if node_state == NodeState.FAILED else "",
        )
    )
