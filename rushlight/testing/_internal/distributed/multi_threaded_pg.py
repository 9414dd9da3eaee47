"""A world whose ranks are threads of one process: the backend "threaded".

_install_threaded_pg() gives each thread a world of its own; each then calls
init_process_group("threaded", rank=, world_size=, store=) with one store that all have, and is a rank. What
a rank gives to an operation is copied into a `Meeting`, and each takes its result from there.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import reduce
from itertools import count
from typing import Any, cast

import numpy as np

from rushlight.distributed import groups
from rushlight.distributed.backends import Backend
from rushlight.distributed.communication.wire import ANYBODY, Array, Done, Request, SoloWire
from rushlight.distributed.groups import ProcessGroup, _World, world
from rushlight.distributed.hub.watch import Watch
from rushlight.distributed.stores import Store

_UFUNCS: dict[str, Callable[[Array, Array], Array]] = {
    "SUM": np.add,
    "PROD": np.multiply,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "BAND": np.bitwise_and,
    "BOR": np.bitwise_or,
    "BXOR": np.bitwise_xor,
}


class Meeting:
    """Where the threads of a group meet: what each has given to an operation, and letters between two."""

    def __init__(self, size: int, over: threading.Event) -> None:
        self.size, self.over = size, over  # over: a rank has failed, and nobody waits any longer
        self._given: dict[int, dict[int, Any]] = {}  # by the number of the operation, and by rank
        self._taken: dict[int, int] = {}
        self._letters: dict[tuple[int, int, int], deque[Array]] = {}  # by sender, receiver and tag
        self._lock = threading.Lock()

    def give(self, number: int, rank: int, what: Any) -> None:
        """A rank's part of an operation."""
        with self._lock:
            self._given.setdefault(number, {})[rank] = what

    def all_given(self, number: int) -> list[Any] | None:
        """What all have given, by rank; None as long as somebody has not. SystemExit when a rank failed."""
        with self._lock:
            given = self._given[number]
            if len(given) < self.size:
                if self.over.is_set():
                    raise SystemExit("Test termination event occurs.")
                return None
            self._taken[number] = self._taken.get(number, 0) + 1
            if self._taken[number] == self.size:
                del self._given[number], self._taken[number]
            return [given[rank] for rank in range(self.size)]

    def send(self, source: int, to: int, tag: int, data: Array) -> None:
        """Put a letter down."""
        with self._lock:
            self._letters.setdefault((source, to, tag), deque()).append(data)

    def receive(self, source: int, to: int, tag: int) -> tuple[int, Array] | None:
        """The next letter, with its sender; None: there is none yet. SystemExit when a rank failed."""
        with self._lock:
            for sender in range(self.size) if source == ANYBODY else (source,):
                letters = self._letters.get((sender, to, tag))
                if letters:
                    return sender, letters.popleft()
        if self.over.is_set():
            raise SystemExit("Test termination event occurs.")
        return None


class _Met:
    """An operation of all ranks that is under way; `take` has what all gave."""

    def __init__(self, meeting: Meeting, number: int, take: Callable[[list[Any]], None]) -> None:
        self._meeting, self._number, self._take = meeting, number, take

    def Test(self, status: Any = None) -> bool:
        """Whether all have come; then this rank has its result."""
        given = self._meeting.all_given(self._number)
        if given is None:
            return False
        self._take(given)
        return True


class _Letter:
    """A letter that is waited for; `source` is who sent it."""

    def __init__(self, meeting: Meeting, source: int, to: int, tag: int, into: Array) -> None:
        self._meeting, self._place, self._into = meeting, (source, to, tag), into
        self.source = source

    def Test(self, status: Any = None) -> bool:
        """Whether it has come."""
        found = self._meeting.receive(*self._place)
        if found is None:
            return False
        self.source = found[0]
        _put(self._into, found[1])
        return True


def _put(into: Array, data: Array) -> None:
    into.reshape(-1).view(np.uint8)[:] = data.reshape(-1).view(np.uint8)


def _copy(data: Array | None) -> Array | None:
    return None if data is None else data.reshape(-1).copy()


class ThreadWire(SoloWire):
    """The wire of a group of threads."""

    def __init__(self, meeting: Meeting, rank: int) -> None:
        self.rank, self.size, self._meeting = rank, meeting.size, meeting
        self._numbers = count()

    def _meet(self, what: Any, take: Callable[[list[Any]], None]) -> Request:
        number = next(self._numbers)
        self._meeting.give(number, self.rank, what)
        return _Met(self._meeting, number, take)

    def allreduce(self, data: Array, op: str) -> Request:
        """`data` becomes the reduction of all ranks'."""
        return self._meet(_copy(data), lambda given: _put(data, reduce(_UFUNCS[op], given)))

    def reduce(self, data: Array, op: str, root: int) -> Request:
        """... on the root."""
        return self._meet(
            _copy(data), lambda given: _put(data, reduce(_UFUNCS[op], given) if self.rank == root else data)
        )

    def broadcast(self, data: Array, root: int) -> Request:
        """`data` becomes the root's."""
        return self._meet(_copy(data) if self.rank == root else None, lambda given: _put(data, given[root]))

    def allgather(self, source: Array, into: Array) -> Request:
        """`into` becomes all ranks' `source`, one by one."""
        return self._meet(_copy(source), lambda given: _put(into, np.concatenate(given)))

    def gather(self, source: Array, into: Array | None, root: int) -> Request:
        """... on the root."""

        def take(given: list[Any]) -> None:
            if into is not None and self.rank == root:
                _put(into, np.concatenate(given))

        return self._meet(_copy(source), take)

    def scatter(self, source: Array | None, into: Array, root: int) -> Request:
        """`into` becomes this rank's part of the root's `source`."""
        given = _copy(source) if self.rank == root else None
        return self._meet(given, lambda all_: _put(into, np.split(all_[root], self.size)[self.rank]))

    def reduce_scatter(self, source: Array, into: Array, counts: Sequence[int], op: str) -> Request:
        """`into` becomes this rank's part of the reduction of `source`."""
        parts = np.cumsum([0, *counts])
        mine = slice(parts[self.rank], parts[self.rank + 1])
        return self._meet(
            _copy(source), lambda given: _put(into, reduce(_UFUNCS[op], [each[mine] for each in given]))
        )

    def alltoall(self, source: Array, into: Array, sent: Sequence[int], received: Sequence[int]) -> Request:
        """Part r of `source` goes to rank r, part r of `into` is rank r's for this one."""
        parts = np.split(source.reshape(-1).copy(), np.cumsum(sent)[:-1])
        return self._meet(
            parts, lambda given: _put(into, np.concatenate([each[self.rank] for each in given]))
        )

    def barrier(self) -> Request:
        """Over when all have come."""
        return self._meet(None, lambda given: None)

    def send(self, data: Array, to: int, tag: int) -> Request:
        """To a rank, under a tag."""
        self._meeting.send(self.rank, to, tag, data.reshape(-1).copy())
        return Done()

    def receive(self, data: Array, source: int, tag: int) -> Request:
        """From a rank or ANYBODY, under a tag."""
        return _Letter(self._meeting, source, self.rank, tag, data)


class ProcessLocalGroup(ProcessGroup, own=True):
    """A group of threads of this process."""

    over = threading.Event()  # of the present ranks
    _meetings: dict[str, Meeting] = {}

    @classmethod
    def exception_handle(cls, exc: BaseException) -> None:
        """A rank has failed: others that wait for it end."""
        cls.over.set()

    @classmethod
    def reset(cls) -> None:
        """Others are the ranks now, of whom nobody has failed; threads that are left of the last ones end."""
        cls.over.set()
        cls.over = threading.Event()
        cls._meetings.clear()

    def getBackendName(self) -> str:
        """ "threaded"."""
        return "threaded"


def _create_threaded_pg(
    prefix_store: Store, rank: int, world_size: int, timeout: timedelta
) -> ProcessLocalGroup:
    """This thread's part of a group whose ranks have the same store."""
    known = ProcessLocalGroup._meetings
    if rank == 0:
        first = Meeting(world_size, ProcessLocalGroup.over)
        known[str(id(first))] = first
        prefix_store.set("meeting", str(id(first)))
    meeting = known[prefix_store.get("meeting").decode()]
    ranks, wire = list(range(world_size)), ThreadWire(meeting, rank)
    made = ProcessLocalGroup._made("", "threaded", ranks, wire, Watch(), timeout, "threaded", prefix_store)
    return cast(ProcessLocalGroup, made)


class ThreadLocalWorld(_World):
    """A world for each thread: what it knows is kept by thread."""


class WorldData(threading.local):
    """What one thread knows of its world."""

    def __init__(self) -> None:
        self.of = _World()


_by_thread: list[WorldData] = []  # one while worlds are threads'


def _kept(name: str) -> property:
    """An attribute of a world that each thread has its own of."""

    def of(self: Any) -> Any:
        return getattr(_by_thread[-1].of, name)

    def become(self: Any, value: Any) -> None:
        setattr(_by_thread[-1].of, name, value)

    return property(of, become)


for _name in vars(_World()):
    setattr(ThreadLocalWorld, _name, _kept(_name))


def _install_threaded_pg() -> _World:
    """From now on each thread has a world of its own; the world."""
    ProcessLocalGroup.reset()
    _by_thread.append(WorldData())
    world.__class__ = ThreadLocalWorld
    return groups.world


def _uninstall_threaded_pg() -> None:
    """All threads have the process's world again."""
    if _by_thread:
        _by_thread.pop()
    if not _by_thread:
        world.__class__ = _World


Backend.register_backend("threaded", _create_threaded_pg, devices=["cpu", "cuda"])
