"""Tensors that come into a stretch from elsewhere, in an op that is known."""

from __future__ import annotations

import weakref
from typing import Any

from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.recorder import Array, root

_slot = Tensor.__dict__["_a"].__get__


def _nobody() -> None:
    """What stands for a dead reference."""


class Entrance:
    """A place where a tensor with memory of its own came in, and which came in last.

    Two tensors that came in may not share memory if they did not when the op was recorded. What is the same
    tensor with the same array as at the last pass needs no second look, unless something came in before it
    that did not take part in that pass: passes are numbered, `stamp` is the one that brought this tensor,
    `seen` the last one in which it was found to be apart from all that had come in before.
    """

    __slots__ = ("array", "kind", "place", "root", "seen", "shape", "stamp", "strides", "tensor")

    def __init__(self, place: int, kind: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self.place, self.kind, self.shape, self.strides = place, kind, shape, strides
        self.tensor: Any = _nobody
        self.array: Any = _nobody
        self.root, self.seen, self.stamp = 0, -1, -1

    def look(self, region: Any, t: Tensor) -> Array | None:
        """The tensor's array if it may come in here; nothing is noted in the region."""
        try:
            a: Array = _slot(t)
        except AttributeError:
            return None
        s = t._s
        if s is not None and (s.exposed or s.foreign):
            return None
        if a is self.array() and t is self.tensor():
            if self.seen < region.newest and self.root in region.met():
                return None
            return a
        if t._k is not self.kind or a.shape != self.shape or a.strides != self.strides:
            return None
        key = id(root(a))
        if key in region.met():
            return None
        self.tensor, self.array, self.root = weakref.ref(t), weakref.ref(a), key
        self.stamp, self.seen = region.number, -1
        return a

    def enter(self, region: Any, a: Array) -> None:
        """Let it in."""
        self.seen = region.number
        if self.stamp > region.newest:
            region.newest = self.stamp
        region.inputs[self.place] = self.tensor, a
        region.entrances.append(self)


def apart(entrances: tuple[Entrance, ...]) -> bool:
    """Whether what comes in by one op, and may do so one by one, shares no memory."""
    return len({e.root for e in entrances}) == len(entrances)
