"""What an allocator has done, while that is recorded: torch.cuda.memory._record_memory_history()."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Collection
from typing import Any

from rushlight._engine.devices.cuda import words

# Of which events the lines that asked for them are kept, by PyTorch's names.
NEVER, STATE, ALLOC, ALL = range(4)
LEVELS = {None: NEVER, "state": STATE, "alloc": ALLOC, "all": ALL}
_FRAMES = 24


def running() -> list[dict[str, Any]]:
    """The frames that run now, innermost first, without this package's."""
    found: list[dict[str, Any]] = []
    frame: Any = sys._getframe(1)
    while frame is not None and len(found) < _FRAMES:
        code = frame.f_code
        if words.is_programs(code.co_filename):
            found.append({"filename": code.co_filename, "line": frame.f_lineno, "name": code.co_name})
        frame = frame.f_back
    return found


def pool_id(stream: Any) -> tuple[int, int]:
    """The name of the pool that a stream's memory is of; that of all memory is (0, 0)."""
    name: tuple[int, int] = (0, 0) if stream.pool is None else stream.pool.handle
    return name


class History:
    """The last events of a device's allocator, and the lines that segments were asked for by.

    level: of which events the lines are kept. skipped: actions that are not noted.
    """

    def __init__(self) -> None:
        self.level = NEVER
        self.events: deque[dict[str, Any]] = deque()
        self.segments: dict[int, list[dict[str, Any]]] = {}
        self.skipped: Collection[str] = ()

    def set(self, level: int, entries: int, skipped: Collection[str]) -> None:
        """How it goes on."""
        self.level, self.skipped = level, skipped
        self.events = deque(self.events, entries)

    def frames(self, level: int) -> list[dict[str, Any]]:
        """The lines that run now, if they are kept of events of a level."""
        return running() if self.level >= level else []

    def note(
        self, action: str, address: int, size: int, stream: Any, frames: list[dict[str, Any]] | None = None
    ) -> None:
        """An event; of "oom" the address is how much of the device is free."""
        if action in self.skipped:
            return
        where = "device_free" if action == "oom" else "addr"
        self.events.append(
            {
                "action": action,
                where: address,
                "size": size,
                "stream": stream.number,
                "pool_id": pool_id(stream),
                "time_us": int(time.time() * 1e6),
                "frames": frames or [],
            }
        )

    def allocated(self, block: Any) -> None:
        """A block is handed out."""
        block.frames = self.frames(STATE)
        told = block.frames if self.level >= ALLOC else None
        self.note("alloc", block.address, block.requested, block.stream, told)

    def freed(self, block: Any, action: str) -> None:
        """A block is given up ("free_requested"), or may be handed out again ("free_completed")."""
        self.note(action, block.address, block.requested, block.stream, self.frames(ALL))

    def refused(self, free: int, size: int, stream: Any) -> None:
        """There is no memory for a request; free: how much the driver still has."""
        self.note("oom", free, size, stream, self.frames(ALLOC))

    def reserved(self, address: int, size: int, stream: Any) -> None:
        """A segment is asked of the driver."""
        frames = self.segments[address] = self.frames(ALLOC)
        self.note("segment_alloc", address, size, stream, frames)

    def released(self, address: int, size: int, stream: Any) -> None:
        """A segment is given back to it."""
        self.segments.pop(address, None)
        self.note("segment_free", address, size, stream, self.frames(ALL))
