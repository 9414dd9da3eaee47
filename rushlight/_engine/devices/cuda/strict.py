"""The strict mode (`simulated,check`): what goes wrong on real hardware now and then is an error, with its
line.

Every block of memory notes which work last wrote it and which work read it, on which stream. Work that reads
what another stream wrote, or writes what another stream reads or wrote, must come after it: by an event, by
wait_stream, or because the host waited. Where nothing says so, the order is chance. Memory that is freed
while another stream still works on it may be handed out again too early, unless record_stream was told. And a
copy to the host that need not be waited for must be waited for before the host looks at it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rushlight._engine.devices.cuda.streams import Mark
from rushlight._engine.names.absent_devices import AcceleratorError
from rushlight._engine.tensors.kind import Kind, kind as kind_of
from rushlight._engine.tensors.lazy_views import empty
from rushlight._engine.tensors.tensor import Tensor

Array = np.ndarray[Any, Any]
_HEAD = "RUSHLIGHT_CUDA=...,check: "


class Access:
    """What was done to memory: on which stream, at which place of its queue, and where the program said
    so.
    """

    __slots__ = ("stream", "place", "what", "line", "graph")

    def __init__(self, stream: Any, place: int, what: str, line: str, graph: Any = None) -> None:
        self.stream, self.place, self.what, self.line = stream, place, what, line
        self.graph = graph  # whose replay it was; one graph's replays never run at the same time

    def __str__(self) -> str:
        return f"{self.what} on stream {self.stream.number} ({self.line})"


class Touched:
    """An array as the checker sees it, which keeps no memory: what a graph's replay reads or writes."""

    __slots__ = ("address", "shape")

    def __init__(self, a: Any) -> None:
        self.address, self.shape = a.handle.address, a.shape

    @property
    def handle(self) -> Touched:
        """Where it lies."""
        return self


class Checker:
    """Keeps a device's accesses, by the addresses where blocks begin."""

    def __init__(self) -> None:
        self.writes: dict[int, Access] = {}
        self.reads: dict[int, dict[Any, Access]] = {}
        # What was found where nothing can be raised: the next call on the device raises it.
        self.found: str | None = None

    def submitted(
        self, stream: Any, what: str, line: str, uses: Sequence[Any], writes: Sequence[Any], graph: Any = None
    ) -> None:
        """Work is queued; AcceleratorError where its order against another stream's is chance."""
        mine = Access(stream, stream.queued + 1, what, line, graph)
        for a in uses:
            if a.handle is not None:
                self._after(stream, mine, self.writes.get(a.handle.address), "reads", a)
                self.reads.setdefault(a.handle.address, {})[stream] = mine
        for a in writes:
            if getattr(a, "handle", None) is not None:
                self._after(stream, mine, self.writes.get(a.handle.address), "writes", a)
                for other in self.reads.pop(a.handle.address, {}).values():
                    self._after(stream, mine, other, "writes", a)
                self.writes[a.handle.address] = mine

    def _after(self, stream: Any, mine: Access, other: Access | None, verb: str, a: Any) -> None:
        if other is None or stream.knows(other.stream, other.place):
            return
        if other.graph is not None and other.graph is mine.graph:
            return
        raise AcceleratorError(
            f"{_HEAD}a race between streams. {mine} {verb} memory of shape {a.shape} that {other} uses, and "
            "nothing orders them: call stream.wait_stream(other), or wait_event() for an event recorded "
            "there, or synchronize()"
        )

    def born(self, address: int) -> None:
        """The block at an address is handed out anew."""
        self.writes.pop(address, None)
        self.reads.pop(address, None)

    def freed(self, block: Any) -> None:
        """A block is free: no other stream may still be at work on it, but those that record_stream told
        of. What graphs' pools own is handed out to captures alone.
        """
        pool = block.stream.pool
        if pool is not None and pool.graphs:
            return
        accesses = [*self.reads.get(block.address, {}).values()]
        if block.address in self.writes:
            accesses.append(self.writes[block.address])
        for access in accesses:
            ordered = access.stream in block.streams or block.stream.knows(access.stream, access.place)
            if not ordered and self.found is None:
                self.found = (
                    f"{_HEAD}memory of {block.requested} bytes, allocated on stream {block.stream.number}, "
                    f"was freed while {access} still uses it: it may be handed out again too early. Call "
                    "tensor.record_stream(stream) where another stream uses a tensor"
                )


class Arriving(Kind):  # its slots are set one by one
    """The kind of a tensor that a copy from a device is under way to: whoever reads it must have waited."""

    __slots__ = ("mark", "line")
    mark: Mark
    line: str

    @property
    def plain(self) -> Kind:  # type: ignore[override]
        """The CPU's kind, which views ask for."""
        self.check()
        return kind_of(self.dtype)

    def check(self) -> None:
        """AcceleratorError until the copy is done."""
        if not self.mark.done():
            raise AcceleratorError(
                f"{_HEAD}the host reads memory before a non_blocking copy to it is done (copied at "
                f"{self.line}): call torch.cuda.synchronize(), or synchronize the stream or an event "
                "recorded after the copy"
            )


def arriving(t: Any, mark: Mark, line: str) -> None:
    """Let reads of a CPU tensor raise until the work before a mark is done."""
    made = object.__new__(Arriving)
    for name in Kind.__slots__:
        if name != "plain":
            setattr(made, name, getattr(t._kind, name))
    made.special, made.mark, made.line = True, mark, line
    empty(t, t._array)
    t._kind = made


def arrived(t: Tensor) -> Array:
    """What `_array` of such a tensor answers: the memory, if the copy is done; else AcceleratorError."""
    t._kind.check()  # type: ignore[attr-defined]  # an Arriving
    t._array, t._kind = t._hidden, kind_of(t._kind.dtype)
    return t._array
