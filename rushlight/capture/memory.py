"""The memory plan: results that are never needed at the same time share memory.

Each result of a program lives from the entry that makes it to the last that reads it. Lives are laid out in
one arena, first come first served, each at the lowest place that is free for as long as it lasts; the
arrays of the entries are then moved there.
"""
from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from rushlight.capture.recorder import Entry, root, roots
from rushlight.compiler.team import pointer
from rushlight.tensor.tensor import Tensor

Array = np.ndarray[Any, Any]
_LINE = 64


class Plan:
    """Where results lie: `size` of the arena in bytes, `apart` what they would take without sharing it."""

    def __init__(self, entries: Sequence[Entry], ends: dict[int, int],
                 given: Sequence[tuple[Array, int]] = ()) -> None:
        lives = _lives(entries, ends, given)
        self.places: dict[int, int] = {}
        self.apart = sum(int(memory.nbytes) for memory, _, _ in lives.values())
        self.size = self._place(lives)

    def _place(self, lives: dict[int, tuple[Array, int, int]]) -> int:
        top, active = 0, []
        for key, (memory, start, end) in lives.items():
            active = [block for block in active if block[2] >= start]
            at, need = 0, -(-int(memory.nbytes) // _LINE) * _LINE
            for low, high, _ in sorted(active):
                if low - at >= need:
                    break
                at = max(at, high)
            self.places[key] = at
            active.append((at, at + need, end))
            top = max(top, at + need)
        return top


class Moved:
    """Memory that lies elsewhere now: call it with a tree of arrays to get those of them there.

    places: of memory, by its id, the array of bytes that it is part of and from which byte on.
    """

    def __init__(self, places: dict[int, tuple[Array, int]]) -> None:
        self.places = places

    def __call__(self, tree: Any) -> Any:
        if isinstance(tree, np.ndarray):
            owner = root(tree)
            place = self.places.get(id(owner))
            if place is None:
                return tree
            offset = place[1] + pointer(tree) - pointer(owner)
            return np.ndarray(tree.shape, tree.dtype, place[0], offset, tree.strides)
        if isinstance(tree, tuple) and not hasattr(tree, "_fields"):
            return tuple([self(v) for v in tree])
        return [self(v) for v in tree] if isinstance(tree, list) else tree


class Room(Moved):
    """The arena, with what the plan lays there."""

    def __init__(self, plan: Plan) -> None:
        self.array = np.empty(plan.size + _LINE, np.uint8)
        start = -pointer(self.array) % _LINE
        super().__init__({key: (self.array, start + place) for key, place in plan.places.items()})


def give_back() -> None:
    """What recording has freed, to the system: glibc keeps it else, as pieces between arrays that live on."""
    getattr(ctypes.CDLL(None), "malloc_trim", int)(0)


def pinned(entries: Sequence[Entry]) -> set[int]:
    """Memory that entries are handed in ways in which it cannot be moved."""
    found: set[int] = set()
    for e in entries:
        whole = e.kind == "call" or any(isinstance(v, (Tensor, dict)) for v in e.operands)
        found |= e.reads() if whole else roots(e.given[1])
    return found


def _lives(entries: Sequence[Entry], ends: dict[int, int],
           given: Sequence[tuple[Array, int]]) -> dict[int, tuple[Array, int, int]]:
    """What runs make and only runs read: {id: (memory, first entry, last entry)}, in order.

    ends: until when results are looked at from outside. given: inputs, and before which entry they come.
    """
    made: dict[int, tuple[Array, int, int]] = {}
    fixed = pinned(entries)
    inputs: dict[int, list[Array]] = {}
    for a, i in given:
        inputs.setdefault(i, []).append(root(a))
    for i, e in enumerate(entries):
        for owner in inputs.pop(i, ()):
            made[id(owner)] = owner, i, max(i, ends.get(id(owner), i))
        for key in e.reads() & made.keys():
            made[key] = (*made[key][:2], max(i, made[key][2]))
        for out in e.outs:
            owner = root(out)
            if id(owner) in made:
                made[id(owner)] = (*made[id(owner)][:2], max(i, made[id(owner)][2]))
            elif e.kind == "run" and isinstance(owner, np.ndarray) and owner.size:
                made[id(owner)] = owner, i, max(i, ends.get(id(owner), i))
    return {key: life for key, life in made.items() if key not in fixed}
