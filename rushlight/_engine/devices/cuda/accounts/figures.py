"""The figures of an allocator's pool, as PyTorch's memory_stats has them."""

from __future__ import annotations

COUNTED = (
    "allocation",
    "segment",
    "active",
    "inactive_split",
    "allocated_bytes",
    "reserved_bytes",
    "active_bytes",
    "inactive_split_bytes",
    "requested_bytes",
)

# Where figures stand in the lists of `Figures`.
(
    ALLOCATION,
    SEGMENT,
    ACTIVE,
    INACTIVE_SPLIT,
    ALLOCATED_BYTES,
    RESERVED_BYTES,
    ACTIVE_BYTES,
    INACTIVE_SPLIT_BYTES,
    REQUESTED_BYTES,
) = range(len(COUNTED))
Changes = tuple[tuple[int, int], ...]


class Cycle:
    """How often a block came back and went out again, and what each time leaves of it in the figures of free
    parts: how many there were, their bytes.
    """

    __slots__ = ("bytes", "count", "parts")

    def __init__(self, parts: int, size: int) -> None:
        self.count, self.parts, self.bytes = 1, parts, size


class Figures:
    """The figures of a pool: each now, at its peak, and all that was taken away."""

    __slots__ = ("begin", "current", "freed", "peak")

    def __init__(self) -> None:
        count = len(COUNTED)
        self.current, self.peak, self.freed = [0] * count, [0] * count, [0] * count
        self.begin = [0] * count  # what there was when `freed` began

    @property
    def allocated(self) -> list[int]:
        """All that was added."""
        every = zip(self.current, self.freed, self.begin, strict=True)
        return [now + gone - before for now, gone, before in every]

    def restart(self) -> None:
        """What was added and taken away is nothing."""
        self.freed, self.begin = [0] * len(COUNTED), list(self.current)

    def add(self, changes: Changes) -> None:
        """Change figures: (place, amount) each."""
        current, peak = self.current, self.peak
        for place, amount in changes:
            now = current[place] = current[place] + amount
            if amount < 0:
                self.freed[place] -= amount
            elif now > peak[place]:
                peak[place] = now

    def took(self, whole: int, size: int) -> None:
        """A block of `whole` bytes was handed out for `size`: `add`, written out, as it is done most."""
        now, peak = self.current, self.peak
        now[ALLOCATION] = a = now[ALLOCATION] + 1
        now[ACTIVE] = b = now[ACTIVE] + 1
        now[ALLOCATED_BYTES] = c = now[ALLOCATED_BYTES] + whole
        now[ACTIVE_BYTES] = d = now[ACTIVE_BYTES] + whole
        now[REQUESTED_BYTES] = e = now[REQUESTED_BYTES] + size
        if a > peak[ALLOCATION]:
            peak[ALLOCATION] = a
        if b > peak[ACTIVE]:
            peak[ACTIVE] = b
        if c > peak[ALLOCATED_BYTES]:
            peak[ALLOCATED_BYTES] = c
        if d > peak[ACTIVE_BYTES]:
            peak[ACTIVE_BYTES] = d
        if e > peak[REQUESTED_BYTES]:
            peak[REQUESTED_BYTES] = e

    def gave(self, whole: int, size: int) -> None:
        """A block came back whose work is done."""
        now, freed = self.current, self.freed
        now[ALLOCATION] -= 1
        now[ACTIVE] -= 1
        now[ALLOCATED_BYTES] -= whole
        now[ACTIVE_BYTES] -= whole
        now[REQUESTED_BYTES] -= size
        freed[ALLOCATION] += 1
        freed[ACTIVE] += 1
        freed[ALLOCATED_BYTES] += whole
        freed[ACTIVE_BYTES] += whole
        freed[REQUESTED_BYTES] += size

    def cycled(self, whole: int, size: int, cycle: Cycle) -> None:
        """A block came back and went out again for the same size, `cycle.count` times."""
        freed, count = self.freed, cycle.count
        freed[ALLOCATION] += count
        freed[ACTIVE] += count
        freed[ALLOCATED_BYTES] += count * whole
        freed[ACTIVE_BYTES] += count * whole
        freed[REQUESTED_BYTES] += count * size
        freed[INACTIVE_SPLIT] += count * cycle.parts
        freed[INACTIVE_SPLIT_BYTES] += count * cycle.bytes

    def free_for_a_moment(self, parts: int, size: int) -> None:
        """So much more was free, and is no longer: peaks tell."""
        now, peak = self.current, self.peak
        peak[INACTIVE_SPLIT] = max(peak[INACTIVE_SPLIT], now[INACTIVE_SPLIT] + parts)
        peak[INACTIVE_SPLIT_BYTES] = max(peak[INACTIVE_SPLIT_BYTES], now[INACTIVE_SPLIT_BYTES] + size)

    def split(self, sign: int, size: int) -> None:
        """A free part of a segment came, or went."""
        now, freed = self.current, self.freed
        now[INACTIVE_SPLIT] = count = now[INACTIVE_SPLIT] + sign
        now[INACTIVE_SPLIT_BYTES] = total = now[INACTIVE_SPLIT_BYTES] + sign * size
        if sign < 0:
            freed[INACTIVE_SPLIT] += 1
            freed[INACTIVE_SPLIT_BYTES] += size
            return
        if count > self.peak[INACTIVE_SPLIT]:
            self.peak[INACTIVE_SPLIT] = count
        if total > self.peak[INACTIVE_SPLIT_BYTES]:
            self.peak[INACTIVE_SPLIT_BYTES] = total

    def resplit(self, before: int, after: int) -> None:
        """A free part of a segment is of another size now."""
        now, freed = self.current, self.freed
        freed[INACTIVE_SPLIT] += 1
        freed[INACTIVE_SPLIT_BYTES] += before
        now[INACTIVE_SPLIT_BYTES] = total = now[INACTIVE_SPLIT_BYTES] + after - before
        if total > self.peak[INACTIVE_SPLIT_BYTES]:
            self.peak[INACTIVE_SPLIT_BYTES] = total

    def get(self, place: int) -> dict[str, int]:
        """A figure as PyTorch's memory_stats has it."""
        return {kind: getattr(self, kind)[place] for kind in ("current", "peak", "allocated", "freed")}
