"""An allocator's books written anew, where an exception, such as a signal's, has left them half written.

What is in use is known without them: a block that a handle is of, or that other streams still use. All else
in a segment is free.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

from rushlight._engine.devices.cuda.accounts.figures import (
    ACTIVE,
    ACTIVE_BYTES,
    ALLOCATED_BYTES,
    ALLOCATION,
    COUNTED,
    REQUESTED_BYTES,
    RESERVED_BYTES,
    SEGMENT,
)

if TYPE_CHECKING:  # it imports this file
    from rushlight._engine.devices.cuda.allocator import Allocator, Block


def mend(allocator: Allocator) -> None:
    """Write the books anew. Who calls it has the allocator's lock."""
    used = _in_use(allocator)
    allocator.free_blocks.clear()
    allocator.cycles.clear()
    for figures in allocator.stats.values():
        figures.current[:] = [0] * len(COUNTED)
    for address, (size, first) in list(allocator.segments.items()):
        inside = sorted([block for block in used if block.segment == address], key=_address)
        _relink(allocator, address, size, first, inside)
    for block in used:
        if block.allocated:
            mine = ((ALLOCATION, 1), (ALLOCATED_BYTES, block.size), (REQUESTED_BYTES, block.requested))
            allocator.count(block.pool, mine)
        allocator.count(block.pool, ((ACTIVE, 1), (ACTIVE_BYTES, block.size)))
    allocator.open_books = False


def _address(block: Block) -> int:
    return block.address


def _in_use(allocator: Allocator) -> set[Block]:
    """The blocks that somebody holds or a stream uses; what waited to be freed, and nobody uses, is free."""
    if gc.get_freeze_count():  # what is frozen is not told
        gc.unfreeze()
    of: Any = allocator.handle
    holders = [h for h in gc.get_referrers(allocator) if h.__class__ is of]
    # Not if its making was cut short, nor if it was freed all the same (checkpoints.py).
    used = {h.block for h in holders if hasattr(h, "block") and h.block.allocated}
    allocator.waiting = [(block, marks) for block, marks in allocator.waiting if block.held]
    used.update([block for block, _ in allocator.waiting])
    freed = allocator.pending.copy()
    for block in freed:
        if block in used:
            continue
        block.held = False
        if block.allocated and allocator.on_free is not None:
            allocator.on_free(block)
        block.allocated = bool(block.streams)
        if block.streams:  # it is freed again, when it is asked whether they are through with it
            used.add(block)
            allocator.pending.append(block)
    for _ in freed:
        allocator.pending.popleft()
    return used


def _relink(allocator: Allocator, address: int, size: int, first: Block, inside: list[Block]) -> None:
    """Chain a segment's blocks, with free ones in between; first: one of the segment's, before."""
    made: list[Block] = []
    at = address
    for block in [*inside, None]:
        end = address + size if block is None else block.address
        if end > at:
            made.append(type(first)(allocator, at, end - at, first.stream, first.pool, address))
        if block is not None:
            made.append(block)
            at = block.address + block.size
    for k, block in enumerate(made):
        block.previous = made[k - 1] if k else None
        block.next = made[k + 1] if k + 1 < len(made) else None
    allocator.segments[address] = size, made[0]
    allocator.count(first.pool, ((SEGMENT, 1), (RESERVED_BYTES, size)))
    for block in made:
        if not (block.allocated or block.held):
            allocator.offer(block)
