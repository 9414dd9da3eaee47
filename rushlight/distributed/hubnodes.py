"""The hub's nodes: the launcher's agents, one per node."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rushlight.distributed.hub import Caller, Command, Hub


class Nodes:
    """The service."""

    def __init__(self, hub: Hub) -> None:
        self.commands: dict[str, Command] = {}

    def knows(self, job: str) -> bool:
        """Whether agents of this hub started the job."""
        return False

    def gone(self, caller: Caller) -> None:
        """A connection has closed."""
