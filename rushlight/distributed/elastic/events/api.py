"""What an event holds (torch.distributed.elastic.events.api)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from enum import Enum

__all__ = ["Event", "EventMetadataValue", "EventSource", "NodeState", "RdzvEvent"]

EventMetadataValue = str | int | float | bool | None


class EventSource(str, Enum):  # noqa: UP042  # its text names the class, as PyTorch's
    """Who tells of an event."""

    AGENT = "AGENT"
    WORKER = "WORKER"


class NodeState(str, Enum):  # noqa: UP042
    """The states of a node that meets others."""

    INIT = "INIT"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"


@dataclass
class _Told:
    """What is told as a JSON text."""

    def __str__(self) -> str:
        return self.serialize()

    def serialize(self) -> str:
        """Its JSON text."""
        return json.dumps(asdict(self))


@dataclass
class Event(_Told):
    """Something that happened in a run; timestamp: milliseconds."""

    name: str
    source: EventSource
    timestamp: int = 0
    metadata: dict[str, EventMetadataValue] = field(default_factory=dict)

    @staticmethod
    def deserialize(data: str | Event) -> Event:
        """The event of a JSON text; an event is returned as it is."""
        if isinstance(data, Event):
            return data
        told = json.loads(data)
        return Event(**{**told, "source": EventSource[told["source"]]})


@dataclass
class RdzvEvent(_Told):
    """Something that happened as nodes met; error_trace: the traceback of a failure."""

    name: str
    run_id: str
    message: str
    hostname: str
    pid: int
    node_state: NodeState
    master_endpoint: str = ""
    rank: int | None = None
    local_id: int | None = None
    error_trace: str = ""

    @staticmethod
    def deserialize(data: str | RdzvEvent) -> RdzvEvent:
        """The event of a JSON text; an event is returned as it is."""
        if isinstance(data, RdzvEvent):
            return data
        told = json.loads(data)
        return RdzvEvent(**{**told, "node_state": NodeState[told["node_state"]]})
