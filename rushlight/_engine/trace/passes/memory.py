"""The memory plan: results that are never needed at the same time share memory.

Each result of a program lives from the entry that makes it to the last that reads it. Lives are laid out in
one arena, first come first served, each at the lowest place that is free for as long as it lasts (or the
largest first, where that takes less of a large arena); the arrays of the entries are then moved there.
"""

from __future__ import annotations

import gc
import os
import threading
from bisect import insort
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from rushlight._engine.core.layout import pointer
from rushlight._engine.ops.row_expressions import COSTLY
from rushlight._engine.tensors.storages import memory_pages
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.passes.kernel_nodes import Kernel
from rushlight._engine.trace.recorder import Array, Entry, arrays, root, roots

_P = ParamSpec("_P")
_R = TypeVar("_R")
_LINE = 64
# Results of fewer bytes stay in the arena, where those that follow each other lie in the same cache lines.
_MUCH = 1 << 16
# An arena of so many bytes is worth a second plan.
_LARGE = 1 << 24
# Addresses for programs that share memory.
_ROOM = 1 << 32
# What programs make meanwhile lies here, the same for all; what runs left in it is lost.
ARENA = memory_pages.Range()


class _Blocks:
    """What lies where in some memory, as time goes on: (from, to, until)."""

    def __init__(self) -> None:
        self.active: list[tuple[int, int, int]] = []

    def find(self, need: int, start: int) -> int:
        """The lowest place of `need` bytes that are free when an entry begins."""
        self.active = [block for block in self.active if block[2] >= start]
        at = 0
        for low, high, _ in sorted(self.active):
            if low - at >= need:
                break
            at = max(at, high)
        return at


class ArenaLayout:
    """Where results lie: `size` of the arena in bytes, `apart` what they would take without sharing it.

    without: memory that lies elsewhere, by its ids. lent: of that, what is handed out after each run and is
    free before it is written to (bytes, by the id of the memory): large results lie there if they are read no
    longer; `borrowed` says where. heirs: results that are written over what lies there (_inherited).
    """

    def __init__(
        self, entries: Sequence[Entry], without: Container[int] = (), lent: Mapping[int, Array] | None = None
    ) -> None:
        lives = {key: life for key, life in _lives(entries).items() if key not in without}
        self.heirs = _inherited(entries, lives)
        self.places: dict[int, int] = {}
        self.borrowed: dict[int, tuple[Array, int]] = {}
        self.apart = sum(int(memory.nbytes) for memory, _, _ in lives.values())
        first: dict[int, int] = {}
        for i, e in reversed([*enumerate(entries)] if lent else []):
            first.update(dict.fromkeys(e.reads() | roots(e.outs), i))
        # The smallest first.
        self._lent = sorted(
            [
                (flat.nbytes, first[key], flat, _Blocks())
                for key, flat in (lent or {}).items()
                if key in first
            ],
            key=lambda one: one[:2],
        )
        self.size = self._place(lives)

    def _place(self, lives: dict[int, tuple[Array, int, int]]) -> int:
        blocks = {
            key: (-(-int(memory.nbytes) // _LINE) * _LINE, start, end)
            for key, (memory, start, end) in lives.items()
            if key not in self.heirs
        }
        for heir, key in self.heirs.items():
            need, start, _ = blocks[key]
            blocks[key] = need, start, lives[heir][2]
        top, arena = 0, _Blocks()
        for key, (need, start, end) in blocks.items():
            if need >= _MUCH and self._borrow(key, need, start, end):
                continue
            at = self.places[key] = arena.find(need, start)
            arena.active.append((at, at + need, end))
            top = max(top, at + need)
        if top >= _LARGE:
            size, places = _by_size({key: blocks[key] for key in self.places})
            top, self.places = (size, places) if size < top else (top, self.places)
        for heir, key in self.heirs.items():
            if key in self.places:
                self.places[heir] = self.places[key]
            else:
                self.borrowed[heir] = self.borrowed[key]
        return top

    def _borrow(self, key: int, need: int, start: int, end: int) -> bool:
        """Put a result into memory that is to be handed out, if it fits in there."""
        for size, until, flat, blocks in self._lent:
            if end < until and size >= need:
                at = blocks.find(need, start)
                if at + need <= size:
                    blocks.active.append((at, at + need, end))
                    self.borrowed[key] = flat, at
                    return True
        return False


def _by_size(blocks: Mapping[int, tuple[int, int, int]]) -> tuple[int, dict[int, int]]:
    """A plan that lays the largest first: its size, and where each of (size, first entry, last) lies."""
    top, places = 0, dict[int, int]()
    laid: list[tuple[int, int, int, int]] = []
    for key, (need, start, end) in sorted(blocks.items(), key=lambda one: (-one[1][0], one[1][1])):
        at = 0
        for low, high, first, last in laid:
            if first <= end and start <= last:
                if low - at >= need:
                    break
                at = max(at, high)
        places[key] = at
        insort(laid, (at, at + need, start, end))
        top = max(top, at + need)
    return top, places


def _inherited(entries: Sequence[Entry], lives: Mapping[int, tuple[Array, int, int]]) -> dict[int, int]:
    """Results that are written over an operand which is read no longer: by the id of their memory, that of
    the first one there.

    A kernel reads what it needs of each vector of elements before it writes there, if they lie alike.
    """
    found: dict[int, int] = {}
    for i, e in enumerate(entries):
        if not (isinstance(e.function, Kernel) and e.kind == "run" and _reads_first(e.function)):
            continue
        given, taken = [*arrays(e.operands)], set[int]()
        for out in e.outs:
            key = id(root(out))
            if key not in lives or lives[key][1] != i or out.nbytes < _MUCH or out.nbytes != root(out).nbytes:
                continue
            for a in given:
                of = id(root(a))
                if (
                    of in lives
                    and of not in taken
                    and lives[of][2] == i
                    and lives[of][1] < i
                    and root(a).nbytes == out.nbytes
                    and all(_alike(b, out) for b in given if id(root(b)) == of)
                ):
                    found[key] = found.get(of, of)
                    taken.add(of)
                    break
    return found


def _reads_first(kernel: Kernel) -> bool:
    """Whether a kernel reads each element for the last time before it writes to that place."""
    ops = {n.op for n in kernel.nodes}
    if not ops.isdisjoint(("at", "fetch")):  # which read anywhere
        return False
    # Reductions may keep costly results where others will lie.
    return kernel.form == "pointwise" or (
        kernel.form == "rows" and ("reduce" not in ops or ops.isdisjoint(COSTLY))
    )


def _alike(a: Array, b: Array) -> bool:
    return a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype


class _Resting:
    """Python's collector of cycles, at rest for as long as a thread asks for that.

    It has a switch, but that is the program's: what reads it meanwhile, or turns it, in whichever thread, is
    to find and to leave its own. So it is the threshold that says "never", unless the program sets another:
    by a number of its own, since a program may set 0, or set again later what it has read meanwhile.
    """

    NEVER = (1 << 31) - 1

    def __init__(self) -> None:
        self._lock = threading.RLock()  # finalizers may run anywhere
        self._count = 0
        self._before = gc.get_threshold()

    def __enter__(self) -> None:
        with self._lock:
            self._count += 1
            if self._count == 1:
                self.resume()
                self._before = gc.get_threshold()
                gc.set_threshold(self.NEVER, *self._before[1:])

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._count = max(self._count - 1, 0)
            if not self._count:
                self.resume()

    def resume(self) -> None:
        """Let garbage be collected as before, unless the program has said otherwise."""
        if gc.get_threshold()[0] == self.NEVER:
            gc.set_threshold(*self._before)

    def called(self) -> None:
        """A call of the program's is over, which may have set what it had read."""
        if gc.get_threshold()[0] == self.NEVER:
            with self._lock:
                if not self._count:
                    self.resume()

    def forked(self) -> None:
        """In a child process other threads end nothing any more."""
        self._lock = threading.RLock()
        if self._count:
            self._count = 1
            self.__exit__()


RESTING = _Resting()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=RESTING.forked)


@contextmanager
def uncollected() -> Iterator[Callable[[], None]]:
    """Python's collector of cycles rests meanwhile, or until what this gives is called: of what a compiler
    makes for a while most dies by itself, and the rest stays, so that looking at all objects again and again
    finds nothing.
    """
    try:
        with ExitStack() as rest:
            rest.enter_context(RESTING)
            yield rest.close
    finally:
        RESTING.called()


def without_collecting(work: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorator of work during which the collector rests."""

    @wraps(work)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with uncollected():
            return work(*args, **kwargs)

    return run


def vacate(programs: Iterable[Any]) -> None:
    """Give back the memory that segments' programs (segment.py) need only while they run."""
    ARENA.forget()
    for made in programs:
        for output in made.outputs:
            if not output.busy:
                memory_pages.forget(output.flat)


class Relocation:
    """Memory that lies elsewhere now: call it with a tree of arrays to get those of them there.

    places: of memory, by its id, the array of bytes that it is part of and from which byte on.
    """

    def __init__(self, places: dict[int, tuple[Array, int]]) -> None:
        self.places = places

    def __call__(self, tree: Any) -> Any:
        cls = tree.__class__
        if cls is np.ndarray or isinstance(tree, np.ndarray):
            owner = tree if tree.base is None else root(tree)
            place = self.places.get(id(owner))
            if place is None:
                return tree
            offset = place[1] + pointer(tree) - pointer(owner)
            return np.ndarray(tree.shape, tree.dtype, place[0], offset, tree.strides)
        if cls is tuple or (isinstance(tree, tuple) and not hasattr(tree, "_fields")):
            return tuple([self(v) for v in tree])
        return [self(v) for v in tree] if isinstance(tree, list) else tree


class Room:
    """Memory that programs run in, one at a time; latest: a weak reference to the node of the last run's
    results, whose backward pass needs what the run has left there.

    shared: the same memory for all of them, as much as the largest needs.
    """

    def __init__(self, shared: bool = False) -> None:
        self._range = memory_pages.Range(_ROOM) if shared else None
        self.busy = threading.Lock()  # held by the thread that runs one
        self.latest: Any = None

    @property
    def pending(self) -> bool:
        """Whether the memory is still needed: the last run's backward pass is still to come."""
        node = None if self.latest is None else self.latest()
        return node is not None and node.saved is not None

    def enter(self) -> bool:
        """Whether a program may run here now; the caller releases `busy` then."""
        return not self.pending and self.busy.acquire(blocking=False)

    def arena(self, size: int) -> Array:
        """Bytes for a program."""
        return np.empty(size, np.uint8) if self._range is None else self._range.at(size)[:size]


class Arena(Relocation):
    """The arena, with what the plan lays there."""

    def __init__(self, plan: ArenaLayout, room: Room) -> None:
        self.array = room.arena(plan.size + _LINE)
        start = -pointer(self.array) % _LINE
        super().__init__({key: (self.array, start + place) for key, place in plan.places.items()})


def pinned(entries: Sequence[Entry]) -> set[int]:
    """Memory that entries are handed in ways in which it cannot be moved."""
    found: set[int] = set()
    for e in entries:
        whole = e.kind == "call" or any(isinstance(v, (Tensor, dict)) for v in e.operands)
        found |= e.reads() if whole else roots(e.given[1])
    return found


def _lives(entries: Sequence[Entry]) -> dict[int, tuple[Array, int, int]]:
    """What runs make and only runs read: {id: (memory, first entry, last entry)}, in order."""
    made: dict[int, tuple[Array, int, int]] = {}
    for i, e in enumerate(entries):
        owners = [root(out) for out in e.outs]
        made.update(
            {
                id(o): (o, i, i)
                for o in owners
                if id(o) not in made and e.kind == "run" and (isinstance(o, np.ndarray) and o.size)
            }
        )
        made.update({key: (*made[key][:2], i) for key in e.reads().union(map(id, owners)) & made.keys()})
    fixed = pinned(entries)
    return {key: life for key, life in made.items() if key not in fixed}
