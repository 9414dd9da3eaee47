"""The caching allocator of a device's memory, with PyTorch's rounding, splitting and figures.

A request is rounded up to 512 bytes. Requests of at most 1 MiB are cut out of segments of 2 MiB (the small
pool), others out of segments of 20 MiB, or of their own size rounded up to 2 MiB from 10 MiB on (the large
pool). A free block of the same stream that fits best is taken and split where enough is left over; freed
neighbours in a segment are merged. Segments go back to the driver when nothing else helps, or when asked for.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from rushlight._engine.devices.cuda.accounts import mending
from rushlight._engine.devices.cuda.accounts.figures import (
    ACTIVE,
    ACTIVE_BYTES,
    ALLOCATED_BYTES,
    ALLOCATION,
    COUNTED,
    REQUESTED_BYTES,
    RESERVED_BYTES,
    SEGMENT,
    Changes,
    Cycle,
    Figures,
)
from rushlight._engine.devices.cuda.accounts.history import History, pool_id
from rushlight._engine.devices.cuda.accounts.options import Current
from rushlight._engine.names.absent_devices import OutOfMemoryError

ROUND = 512
SMALL = 1 << 20
SMALL_SEGMENT = 2 << 20
LARGE_SEGMENT = 20 << 20
LARGE_OWN = 10 << 20
LARGE_ROUND = 2 << 20
POOLS = ("all", "small_pool", "large_pool")

NOBODY: frozenset[Any] = frozenset()


class DriverOutOfMemory(OutOfMemoryError):
    """What a driver raises that has no such memory left."""


class Block:
    """A piece of device memory that belongs to one allocation, or is free and waits for the next one.

    address: where it begins. size: in bytes, rounded up; requested: in bytes, as asked for. stream: the
    stream whose work it was allocated for; streams: others that use it (record_stream), which must be done
    with it before it is used again. previous, next: its neighbours in the same segment, with which it merges
    when free.
    """

    __slots__ = (
        "owner",
        "address",
        "size",
        "requested",
        "stream",
        "pool",
        "previous",
        "next",
        "allocated",
        "streams",
        "segment",
        "held",
        "frames",
    )

    def __init__(self, owner: Any, address: int, size: int, stream: Any, pool: str, segment: int) -> None:
        self.owner, self.address, self.size, self.stream, self.pool = owner, address, size, stream, pool
        self.requested = 0
        self.previous: Block | None = None
        self.next: Block | None = None
        self.allocated = False
        self.streams: set[Any] | frozenset[Any] = NOBODY
        self.segment = segment  # the address where its segment begins
        self.held = False  # freed, while another stream still uses it
        self.frames: Any = ()  # the lines that asked for it, while history is recorded

    def order(self) -> tuple[int, int]:
        """The key that free blocks are sorted by: the best fit comes first."""
        return self.size, self.address


def chain(first: Block) -> Iterator[Block]:
    """The blocks of a segment."""
    block: Block | None = first
    while block is not None:
        yield block
        block = block.next


class Handle:
    """What arrays keep of a block: when the last one is gone, the block is free again."""

    __slots__ = ("block", "address", "size", "allocator", "__weakref__")

    def __init__(self, allocator: Allocator, block: Block, size: int) -> None:
        self.allocator, self.block, self.address, self.size = allocator, block, block.address, size

    def __del__(self) -> None:
        block, allocator = self.block, self.allocator
        if block.streams or allocator.on_free is not None or allocator.history is not None:
            allocator.free(block)
        else:
            allocator.pending.append(block)


def _splits(pool: str, left: int) -> bool:
    """Whether a block is split of which so much is left over."""
    return left >= ROUND if pool == "small_pool" else left > SMALL


def rounded(size: int) -> int:
    """A request's size, as it is handed out unless options say otherwise."""
    return (size + ROUND - 1) & -ROUND or ROUND


def wanted(size: int) -> int:
    """A request's size, as it is handed out, by the options of allocators (accounts/options.py)."""
    special = Current.special
    return (special.rounded(size) if special is not None else 0) or rounded(size)


def segment_size(size: int) -> int:
    """How much is asked of the driver for a request of this rounded size."""
    if size <= SMALL:
        return SMALL_SEGMENT
    if size < LARGE_OWN:
        return LARGE_SEGMENT
    return -(-size // LARGE_ROUND) * LARGE_ROUND


class Allocator:
    """The allocator of one device.

    reserve(size) -> address gets memory of the driver or raises DriverOutOfMemory; release(address, size)
    gives it back; settle() waits for the work of all streams.
    """

    handle = Handle  # what is kept of a block that is in use

    def __init__(
        self,
        total: int,
        reserve: Callable[[int], int],
        release: Callable[[int, int], None],
        settle: Callable[[], None],
    ) -> None:
        self.total, self.reserve, self.release, self.settle = total, reserve, release, settle
        self.fraction = 1.0
        # Not reentrant: a block that is freed while this thread is at work in here must wait, too.
        self.lock = threading.Lock()
        # Whether somebody writes to the books; still so at the next look where an exception came between.
        self.open_books = False
        self.free_blocks: dict[tuple[str, Any], list[tuple[tuple[int, int], Block]]] = {}
        self.segments: dict[int, tuple[int, Block]] = {}  # address -> (size, first block)
        self.stats = {pool: Figures() for pool in POOLS}
        self._all = self.stats["all"]
        self.retries = self.ooms = self.driver_allocations = self.driver_frees = self.sync_all = 0
        self.waiting: list[tuple[Block, list[Any]]] = []
        # Freed since the allocator last looked, in their order: whoever asks for memory or figures frees
        # them.
        self.pending: deque[Block] = deque()
        # Blocks that came back and went out again, with nothing else between: see `_returns`.
        self.cycles: dict[Block, Cycle] = {}
        self.history: History | None = None  # while it is recorded
        # Told of every block that is freed; of every one that is handed out.
        self.on_free: Callable[[Block], None] | None = None
        self.on_allocate: Callable[[Block], None] | None = None

    # --- figures --------------------------------------------------------------------------------

    def count(self, pool: str, changes: Changes) -> None:
        """Add to figures of a pool and of all: (place, amount) each."""
        self._all.add(changes)
        self.stats[pool].add(changes)

    def figure(self, name: str, kind: str = "current") -> int:
        """A figure of both pools."""
        with self.lock:
            self.sweep()
            return int(getattr(self._all, kind)[COUNTED.index(name)])

    def reset_peaks(self) -> None:
        """Peaks are what is now."""
        with self.lock:
            self.sweep()
        for figures in self.stats.values():
            figures.peak = list(figures.current)

    def reset_accumulated(self) -> None:
        """What was allocated and freed is nothing."""
        with self.lock:
            self.sweep()
        for figures in self.stats.values():
            figures.restart()
        self.retries = self.ooms = 0

    # --- allocating -----------------------------------------------------------------------------

    def allocate(self, size: int, stream: Any, error_of: Callable[[int], Exception]) -> Handle:
        """Memory of `size` bytes for work on a stream.

        Where there is none, raises error_of(size): the device's OutOfMemoryError, whose text is
        words.out_of_memory. Whether there is any, `_ask` decides, for a limit that a program has set, and the
        driver (of a simulated device, memory.Memory.reserve).
        """
        with self.lock:
            pending = self.pending
            if pending or self.waiting or self.cycles:
                if len(pending) == 1:
                    block = pending[0]
                    if block.requested == size and block.stream is stream and self._returns(block):
                        made = Handle(self, block, size)
                        pending.popleft()
                        return made
                self.sweep()
            elif self.open_books:
                mending.mend(self)
            self.open_books = True
            found = self._find(wanted(size), stream)
            if found is not None:
                found.allocated, found.requested = True, size
                self._all.took(found.size, size)
                self.stats[found.pool].took(found.size, size)
                if self.history is not None:
                    self.history.allocated(found)
                if self.on_allocate is not None:
                    self.on_allocate(found)
                made = Handle(self, found, size)
                self.open_books = False
                return made
            self.open_books = False
        raise error_of(size)

    def _returns(self, block: Block) -> bool:
        """Whether a freed block would be handed out again for the same request, as it lies: then nothing
        changes. Known once, it holds until other blocks are freed or handed out.
        """
        known = self.cycles.get(block)
        if self.waiting or self.history is not None or self.on_allocate is not None or Current.special:
            return False
        if known is not None:
            known.count += 1
            return True
        before, after = block.previous, block.next
        if block.streams or block.frames or (before is not None and not (before.allocated or before.held)):
            return False
        joined = after is not None and not (after.allocated or after.held)
        need, whole = rounded(block.requested), block.size + (after.size if joined and after else 0)
        if _splits(block.pool, whole - need) != joined or (joined and block.size != need):
            return False
        free = self.free_blocks.get((block.pool, block.stream), ())
        at = bisect_left(free, ((need, 0),))
        if joined and at < len(free) and free[at][1] is after:
            at += 1
        if at < len(free) and free[at][0] < (whole, block.address):
            return False  # which fits better
        self.cycles[block] = self._first_cycle(block, after if joined else None)
        return True

    def _first_cycle(self, block: Block, after: Block | None) -> Cycle:
        """What the figures hear of a block that comes back and goes out again; after: what it joins."""
        if after is None:
            part = block.previous is not None or block.next is not None
            cycle, more = Cycle(int(part), block.size * part), (int(part), block.size * part)
        elif block.previous is None and after.next is None:
            cycle, more = Cycle(1, after.size), (0, 0)
        else:
            cycle, more = Cycle(2, 2 * after.size + block.size), (0, block.size)
        for figures in (self._all, self.stats[block.pool]):
            figures.free_for_a_moment(*more)
        return cycle

    def _find(self, size: int, stream: Any) -> Block | None:
        pool = "small_pool" if size <= SMALL else "large_pool"
        free = self.free_blocks.get((pool, stream))
        if free and len(free) == 1 and free[0][1].size > size and Current.special is None:
            found = self._cut(free, size)
            if found is not None:
                return found
        block = self._cached(size, pool, stream)
        if block is None:
            block = self._new(size, pool, stream)
        return None if block is None else self._split(block, size)

    def _cut(self, free: list[tuple[tuple[int, int], Block]], size: int) -> Block | None:
        """The front of the only free block, which is larger; None where it is not split."""
        block = free[0][1]
        left = block.size - size
        if (block.previous is None and block.next is None) or not _splits(block.pool, left):
            return None
        self._all.resplit(block.size, left)
        self.stats[block.pool].resplit(block.size, left)
        made = Block(self, block.address, size, block.stream, block.pool, block.segment)
        made.previous, made.next = block.previous, block
        if made.previous is None:
            self.segments[block.segment] = self.segments[block.segment][0], made
        else:
            made.previous.next = made
        block.previous, block.address, block.size = made, block.address + size, left
        free[0] = (left, block.address), block
        return made

    def _cached(self, size: int, pool: str, stream: Any) -> Block | None:
        free = self.free_blocks.get((pool, stream))
        if not free:
            return None
        at = bisect_left(free, ((size, 0),))
        if at == len(free):
            return None
        special = Current.special
        if special is not None and pool == "large_pool" and not special.fits(size, free[at][1].size):
            return None
        block = free.pop(at)[1]
        self._note_split(block, -1)
        return block

    def _new(self, size: int, pool: str, stream: Any) -> Block | None:
        want = segment_size(size)
        address = self._ask(want)
        if address is None:
            self.retries += 1
            self._settled()
            block = self._cached(size, pool, stream)
            if block is not None:
                return block
            self._give_all_back()
            address = self._ask(want)
        if address is None:
            self.ooms += 1
            if self.history is not None:
                self.history.refused(self.total - self._all.current[RESERVED_BYTES], size, stream)
            return None
        block = Block(self, address, want, stream, pool, address)
        self.segments[address] = want, block
        if self.history is not None:
            self.history.reserved(address, want, stream)
        self.count(pool, ((SEGMENT, 1), (RESERVED_BYTES, want)))
        return block

    def _ask(self, size: int) -> int | None:
        if self._all.current[RESERVED_BYTES] + size > int(self.total * self.fraction):
            return None
        try:
            address = self.reserve(size)
        except DriverOutOfMemory:
            return None
        self.driver_allocations += 1
        return address

    def _split(self, block: Block, size: int) -> Block:
        left = block.size - size
        special = Current.special
        whole = special is not None and block.pool == "large_pool" and size >= special.max_split_size
        if not whole and _splits(block.pool, left):
            rest = Block(self, block.address + size, left, block.stream, block.pool, block.segment)
            rest.previous, rest.next = block, block.next
            if rest.next is not None:
                rest.next.previous = rest
            block.next, block.size = rest, size
            self.offer(rest)
        return block

    def offer(self, block: Block) -> None:
        # No two have an address in common, so blocks themselves are never compared.
        insort(self.free_blocks.setdefault((block.pool, block.stream), []), (block.order(), block))
        self._note_split(block, 1)

    def _note_split(self, block: Block, sign: int) -> None:
        """A free part of a segment counts as an inactive split."""
        if block.previous is not None or block.next is not None:
            self._all.split(sign, block.size)
            self.stats[block.pool].split(sign, block.size)

    # --- freeing --------------------------------------------------------------------------------

    def free(self, block: Block) -> None:
        """The block's last user is gone, and others hear of it at once; called at any time, also while the
        allocator is at work.
        """
        self.pending.append(block)
        if not self.lock.acquire(blocking=False):
            return
        try:
            self.sweep()
        finally:
            self.lock.release()

    def _free(self, block: Block) -> None:
        if not block.allocated:
            return
        if self.on_free is not None:
            self.on_free(block)
        block.allocated = False
        if self.history is not None:
            self.history.freed(block, "free_requested")
        if not block.streams:
            self._completed(block)
            self._all.gave(block.size, block.requested)
            self.stats[block.pool].gave(block.size, block.requested)
            self._merge(block)
            return
        self.count(
            block.pool,
            ((ALLOCATION, -1), (ALLOCATED_BYTES, -block.size), (REQUESTED_BYTES, -block.requested)),
        )
        marks = [stream.mark() for stream in block.streams if stream is not block.stream]
        if any(not mark.done() for mark in marks):
            block.held = True
            self.waiting.append((block, marks))
            block.streams = NOBODY
            return
        block.streams = NOBODY
        self._unused(block)

    def sweep(self) -> None:
        """Blocks that were freed, and those that other streams are through with, are free. Who calls it has
        the lock.
        """
        if self.open_books:
            mending.mend(self)
        self.open_books = True
        self._sweep()
        self.open_books = False

    def _sweep(self) -> None:
        for block, cycle in self.cycles.items():
            for figures in (self._all, self.stats[block.pool]):
                figures.cycled(block.size, block.requested, cycle)
        self.cycles.clear()
        while self.pending:
            self._free(self.pending[0])
            self.pending.popleft()
        if not self.waiting:
            return
        still = []
        for block, marks in self.waiting:
            if all(mark.done() for mark in marks):
                block.held = False
                self._unused(block)
            else:
                still.append((block, marks))
        self.waiting = still

    def _completed(self, block: Block) -> None:
        if self.history is not None:
            self.history.freed(block, "free_completed")
        block.frames = ()

    def _unused(self, block: Block) -> None:
        """A block that other streams are through with."""
        self._completed(block)
        self.count(block.pool, ((ACTIVE, -1), (ACTIVE_BYTES, -block.size)))
        self._merge(block)

    def _rejoined(self, block: Block) -> bool:
        """Put a block in front of the only free one, which follows it; whether that is how it is."""
        after = block.next
        if after is None or after.allocated or after.held:
            return False
        free = self.free_blocks[block.pool, block.stream]
        before = block.previous
        if len(free) > 1 or not (before is not None and (before.allocated or before.held)):
            return False
        whole = after.size + block.size
        self._all.resplit(after.size, whole)
        self.stats[block.pool].resplit(after.size, whole)
        after.address, after.size, after.previous = block.address, whole, before
        before.next = after
        free[0] = (whole, after.address), after
        return True

    def _merge(self, block: Block) -> None:
        if self._rejoined(block):
            return
        for other in (block.previous, block.next):
            if other is None or other.allocated or other.held:
                continue
            self._withdraw(other)
            if other is block.previous:
                block.address, block.previous = other.address, other.previous
                if block.previous is not None:
                    block.previous.next = block
            else:
                block.next = other.next
                if block.next is not None:
                    block.next.previous = block
            block.size += other.size
        if block.previous is None:
            self.segments[block.segment] = self.segments[block.segment][0], block
        self.offer(block)

    def _withdraw(self, block: Block) -> None:
        free = self.free_blocks[block.pool, block.stream]
        free.pop(bisect_left(free, (block.order(),)))
        self._note_split(block, -1)

    # --- giving back ----------------------------------------------------------------------------

    def _give_back(self, block: Block) -> None:
        self._withdraw(block)
        del self.segments[block.address]
        self.release(block.address, block.size)
        if self.history is not None:
            self.history.released(block.address, block.size, block.stream)
        self.driver_frees += 1
        self.count(block.pool, ((SEGMENT, -1), (RESERVED_BYTES, -block.size)))

    def _whole(self, pool: Any) -> list[Block]:
        # A pool that is in use keeps what is freed there.
        return [
            block
            for (_, stream), free in self.free_blocks.items()
            if (stream.pool is None or not stream.pool.users) and (pool is None or stream.pool is pool)
            for _, block in free
            if block.previous is None and block.next is None
        ]

    def empty(self) -> None:
        """Give all segments back to the driver in which nothing is in use."""
        with self.lock:
            self.sweep()
            self._settled()
            self._emptied()

    def _settled(self) -> None:
        """Wait for streams that work on blocks which are free but for that."""
        self.sync_all += 1
        if self.waiting:
            self.settle()
            self._sweep()

    def relieve(self, pool: Any = None) -> None:
        """As empty(), where nobody is at work in here: the driver has no memory for itself. pool: only what
        is a pool's (graphs.Pool), which is gone.
        """
        if self.lock.acquire(blocking=False):
            try:
                self._emptied(pool)
            finally:
                self.lock.release()

    def _emptied(self, pool: Any = None) -> None:
        self.sweep()
        self.open_books = True
        self._give_all_back(pool)
        self.open_books = False

    def _give_all_back(self, pool: Any = None) -> None:
        self._sweep()
        for block in self._whole(pool):
            self._give_back(block)
        # Pools come and go, and their streams with them.
        self.free_blocks = {of: free for of, free in self.free_blocks.items() if free}

    # --- reports --------------------------------------------------------------------------------

    def statistics(self) -> dict[str, Any]:
        """PyTorch's memory_stats, nested."""
        with self.lock:
            self.sweep()
            found: dict[str, Any] = {
                name: {pool: self.stats[pool].get(place) for pool in POOLS}
                for place, name in enumerate(COUNTED)
            }
            nothing = dict.fromkeys(("current", "peak", "allocated", "freed"), 0)
            found.update(
                num_alloc_retries=self.retries,
                num_ooms=self.ooms,
                max_split_size=Current.options.split_limit,
                num_sync_all_streams=self.sync_all,
                num_device_alloc=self.driver_allocations,
                num_device_free=self.driver_frees,
                oversize_allocations=dict(nothing),
                oversize_segments=dict(nothing),
            )
            return found

    def snapshot(self) -> list[dict[str, Any]]:
        """The segments by address, with their blocks."""
        with self.lock:
            self.sweep()
            found: list[dict[str, Any]] = []
            segments = self.history.segments if self.history is not None else {}
            for address, (size, first) in sorted(self.segments.items()):
                blocks: list[dict[str, Any]] = []
                for block in chain(first):
                    state = (
                        "active_allocated"
                        if block.allocated
                        else "active_pending_free"
                        if block.held
                        else "inactive"
                    )
                    blocks.append(
                        {
                            "address": block.address,
                            "size": block.size,
                            "requested_size": block.requested if block.allocated else 0,
                            "state": state,
                            "frames": list(block.frames),
                        }
                    )
                active = sum(b["size"] for b in blocks if b["state"] != "inactive")
                found.append(
                    {
                        "address": address,
                        "total_size": size,
                        "stream": first.stream.number,
                        "segment_type": first.pool.partition("_")[0],
                        "segment_pool_id": pool_id(first.stream),
                        "allocated_size": sum(b["size"] for b in blocks if b["state"] == "active_allocated"),
                        "active_size": active,
                        "requested_size": sum(b["requested_size"] for b in blocks),
                        "is_expandable": False,
                        "frames": segments.get(address, []),
                        "blocks": blocks,
                    }
                )
            return found
