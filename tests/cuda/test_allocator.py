"""The caching allocator against PyTorch's rules, written once more in the plainest way.

The rules are those of c10/cuda/CUDACachingAllocator.cpp without settings: what a request is rounded to, which
pool and which segment it comes from, which free block is taken, when it is split, how neighbours merge, what is
given back when the device has no more. Addresses and figures are compared after every request.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from rushlight._engine.devices.cuda.allocator import Allocator, DriverOutOfMemory

KIB, MIB = 1 << 10, 1 << 20


class Chunk:
    """A part of a segment; `rest`: the parts of the segment in order, itself among them."""

    def __init__(self, address: int, size: int, rest: list[Chunk], small: bool) -> None:
        self.address, self.size, self.rest, self.small, self.used, self.asked = (
            address,
            size,
            rest,
            small,
            False,
            0,
        )


class Driver:
    """Memory of so many bytes: the lowest hole that is large enough."""

    def __init__(self, total: int) -> None:
        self.total, self.taken = total, dict[int, int]()

    def reserve(self, size: int) -> int:
        if sum(self.taken.values()) + size > self.total:
            raise DriverOutOfMemory(size)
        at = 1 << 30
        for address, length in sorted(self.taken.items()):
            if at + size <= address:
                break
            at = address + length
        self.taken[at] = size
        return at

    def release(self, address: int, size: int) -> None:
        assert self.taken.pop(address) == size


class Reference:
    """The rules, over lists that are searched from end to end."""

    def __init__(self, total: int) -> None:
        self.driver = Driver(total)
        self.segments: list[list[Chunk]] = []
        self.peaks: dict[str, int] = {}
        self.retries = self.ooms = 0

    def free_chunks(self, small: bool) -> list[Chunk]:
        return [c for segment in self.segments for c in segment if not c.used and c.small is small]

    def allocate(self, asked: int) -> Chunk | None:
        size = max(-(-asked // 512), 1) * 512
        small = size <= MIB
        found = self.fitting(size, small) or self.segment(size, small)
        if found is None:
            self.retries += 1
            for segment in [s for s in self.segments if len(s) == 1 and not s[0].used]:
                self.driver.release(segment[0].address, segment[0].size)
                self.segments.remove(segment)
            found = self.segment(size, small)
        if found is None:
            self.ooms += 1
            return None
        left = found.size - size
        if left >= 512 if small else left > MIB:
            rest = Chunk(found.address + size, left, found.rest, small)
            found.rest.insert(found.rest.index(found) + 1, rest)
            found.size = size
        found.used, found.asked = True, asked
        self.note()
        return found

    def fitting(self, size: int, small: bool) -> Chunk | None:
        fits = [c for c in self.free_chunks(small) if c.size >= size]
        return min(fits, key=lambda c: (c.size, c.address), default=None)

    def segment(self, size: int, small: bool) -> Chunk | None:
        whole = 2 * MIB if small else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        try:
            address = self.driver.reserve(whole)
        except DriverOutOfMemory:
            return None
        rest: list[Chunk] = []
        rest.append(Chunk(address, whole, rest, small))
        self.segments.append(rest)
        return rest[0]

    def free(self, chunk: Chunk) -> None:
        chunk.used = False
        at = chunk.rest.index(chunk)
        for other in chunk.rest[max(at - 1, 0) : at] + chunk.rest[at + 1 : at + 2]:
            if not other.used:
                chunk.address, chunk.size = min(chunk.address, other.address), chunk.size + other.size
                chunk.rest.remove(other)
        self.note()

    def figures(self) -> dict[str, int]:
        chunks = [c for segment in self.segments for c in segment]
        used = [c for c in chunks if c.used]
        parts = [c for c in chunks if not c.used and len(c.rest) > 1]
        return {
            "allocation": len(used),
            "active": len(used),
            "allocated_bytes": sum(c.size for c in used),
            "active_bytes": sum(c.size for c in used),
            "requested_bytes": sum(c.asked for c in used),
            "segment": len(self.segments),
            "reserved_bytes": sum(c.size for c in chunks),
            "inactive_split": len(parts),
            "inactive_split_bytes": sum(c.size for c in parts),
        }

    def note(self) -> None:
        for name, now in self.figures().items():
            self.peaks[name] = max(self.peaks.get(name, 0), now)


class Stream:
    """What the allocator asks of a stream."""

    pool, number = None, 0


def requests(seed: int, count: int, most: int) -> list[int]:
    """A recorded sequence: bytes that are asked for, or, negative, which of those that are held is freed."""
    draw, held, found = random.Random(seed), 0, list[int]()
    usual = [draw.randrange(1, top) for top in (2 * KIB, 64 * KIB, MIB, 4 * MIB, 9 * MIB, 12 * MIB, 40 * MIB)]
    for _ in range(count):
        if held and (draw.random() < 0.48 or held >= most):
            found.append(-1 - draw.randrange(held))
            held -= 1
        else:
            top = draw.choice((1 * KIB, 100 * KIB, 2 * MIB, 24 * MIB))
            found.append(draw.choice(usual) if draw.random() < 0.5 else draw.randrange(1, top))
            held += 1
    return found


def refused(size: int) -> Exception:
    return MemoryError(size)


@pytest.mark.parametrize(("total", "count", "most"), [(1 << 40, 10_000, 60), (300 * MIB, 3_000, 40)])
def test_places_and_figures_are_those_of_the_rules(total: int, count: int, most: int) -> None:
    driver, reference, stream = Driver(total), Reference(total), Stream()
    ours = Allocator(1 << 44, driver.reserve, driver.release, lambda: None)
    held: list[tuple[Any, Chunk | None]] = []
    for step, n in enumerate(requests(5, count, most)):
        if n < 0:
            ((_, chunk),) = [held.pop(-1 - n)]
            del _
            if chunk is not None:
                reference.free(chunk)
        else:
            chunk = reference.allocate(n)
            try:
                handle = ours.allocate(n, stream, refused)
            except MemoryError:
                handle = None
            assert (handle is None) == (chunk is None), step
            assert chunk is None or handle is None or handle.address == chunk.address, step
            held.append((handle, chunk))
            del handle
        if step % 10 == 0:
            now = {name: ours.figure(name) for name in reference.figures()}
            assert now == reference.figures(), step
    told = ours.statistics()
    for name in ("allocated_bytes", "reserved_bytes", "active", "allocation", "segment", "requested_bytes"):
        assert told[name]["all"]["peak"] == reference.peaks[name], name
    assert (told["num_alloc_retries"], told["num_ooms"]) == (reference.retries, reference.ooms)
    assert (reference.ooms > 0) == (total < 1 << 40)
