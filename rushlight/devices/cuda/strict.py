"""The strict mode (`simulated,check`): what goes wrong on real hardware now and then is an error, with its
line.

Every block of memory notes which work last wrote it and which read it, on which stream. Work that reads what
another stream wrote, or writes what another stream reads or wrote, must come after it: by an event, by
wait_stream, or because the host waited. Where nothing says so, the order is chance.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rushlight.base.absent import AcceleratorError


class Access:
    """What was done to memory: on which stream, at which place of its queue, and where the program said
    so.
    """

    __slots__ = ("stream", "place", "what", "line")

    def __init__(self, stream: Any, place: int, what: str, line: str) -> None:
        self.stream, self.place, self.what, self.line = stream, place, what, line

    def __str__(self) -> str:
        return f"{self.what} on stream {self.stream.number} ({self.line})"


class Checker:
    """Keeps a device's accesses, by the addresses where blocks begin."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self.writes: dict[int, Access] = {}
        self.reads: dict[int, dict[Any, Access]] = {}

    def submitted(self, stream: Any, what: str, line: str, uses: Sequence[Any],
                  writes: Sequence[Any]) -> None:
        """Work is queued; AcceleratorError where its order against another stream's is chance."""
        written = {a.handle.address: a for a in writes if getattr(a, "handle", None) is not None}
        mine = Access(stream, stream.queued + 1, what, line)
        for a in uses:
            if a.handle is not None:
                self._after(stream, mine, self.writes.get(a.handle.address), "reads", a)
                self._kept(stream, mine, a)
                self.reads.setdefault(a.handle.address, {})[stream] = mine
        for address, a in written.items():
            self._after(stream, mine, self.writes.get(address), "writes", a)
            for other in self.reads.pop(address, {}).values():
                self._after(stream, mine, other, "writes", a)
            self.writes[address] = mine

    def _after(self, stream: Any, mine: Access, other: Access | None, verb: str, a: Any) -> None:
        if other is None or stream.knows(other.stream, other.place):
            return
        raise AcceleratorError(
            f"RUSHLIGHT_CUDA=...,check: a race between streams. {mine} {verb} memory of shape {a.shape} "
            f"that {other} "
            f"uses, and nothing orders them. Call stream.wait_stream(other), or record an event there and "
            "wait_event() for it here, or synchronize()")

    def _kept(self, stream: Any, mine: Access, a: Any) -> None:
        block = a.handle.block
        if block.stream is not stream:
            # Freed too early it would be handed out again while this stream still reads it.
            block.streams.add(stream) if block.streams else self._foreign(block, mine)

    def _foreign(self, block: Any, mine: Access) -> None:
        FOREIGN.setdefault(id(block), (block, mine))

    def wrote(self, a: Any) -> None:
        """The host has put new numbers there, all work done."""
        if a.handle is not None:
            self.writes.pop(a.handle.address, None)
            self.reads.pop(a.handle.address, None)


# Blocks used on a stream that is not their own, without record_stream: looked at when they are freed.
FOREIGN: dict[int, tuple[Any, Access]] = {}
