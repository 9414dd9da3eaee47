"""Tensors that come into a segment from outside (parameters, arguments of the call) as operands of a known
op.

An Entrance is the place of one such tensor in the trace. Another tensor may come in there at a later call, if
it has the same kind, sizes and strides, and shares memory with the same other tensors or with none.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from rushlight._engine.kernels.runtime.team import pointer
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.recorder import Array, root


def _nobody() -> None:
    """What stands for a dead reference."""


class Entrance:
    """A place where a tensor came in, and which came in last.

    share: the place of what came in before and is the same memory, seen in the same way; None for none.
    What is the same tensor with the same array as at the last pass needs no second look at that, unless
    something came in before it that did not take part in that pass: passes are numbered, `stamp` is the one
    that brought this tensor, `seen` the last one in which it was compared with all that had come in before.
    What comes in anew keeps the stamp of what it takes the place of if no other entrance of the trace has, or
    had, the memory of either: others need not be compared with it.
    """

    __slots__ = (
        "array",
        "key",
        "kind",
        "known",
        "looks",
        "place",
        "root",
        "seen",
        "shape",
        "share",
        "stamp",
        "strides",
        "tensor",
    )

    def __init__(
        self, place: int, kind: Any, shape: tuple[int, ...], strides: tuple[int, ...], share: int | None
    ) -> None:
        self.place, self.kind, self.shape, self.strides, self.share = place, kind, shape, strides, share
        self.tensor: Any = _nobody
        self.array: Any = _nobody
        self.root, self.seen, self.stamp = 0, -1, -1
        # How often something else has come in than before.
        self.looks = 0
        # The tensor's id, and what a region's `places` have for it.
        self.key, self.known = 0, (place, self.tensor)

    def look(self, region: Any, t: Tensor, a: Array | None) -> Array | None:
        """The array `a` of a tensor (None: it has none) if it may come in here; nothing is noted in the
        region.
        """
        s = t._storage
        if a is None or (s is not None and (s.exposed or s.foreign)):
            return None
        before = self.root
        if a is self.array():
            if t is self.tensor():
                known = self.seen >= region.newest or region.twin(a, before) == self.share
                return a if known else None
            key = before
        elif a.shape == self.shape and a.strides == self.strides:
            key = id(a if a.base is None else root(a))
        else:
            return None
        if t._kind is not self.kind:
            return None
        lying = region.lying
        others, left = lying.get(key, 0) - (key == before), lying.get(before, 0)
        alone = not others and left < 2 and self.share is None and self.stamp >= 0
        if (not alone or region.newest == region.number) and region.twin(a, key) != self.share:
            return None
        if not alone:
            self.stamp = region.number
        if key != before:
            lying[key] = others + 1
            if left > 1:
                lying[before] = left - 1
            else:
                lying.pop(before, None)
        self.tensor, self.array, self.root = weakref.ref(t), weakref.ref(a), key
        self.key, self.known, self.seen = id(t), (self.place, self.tensor), -1
        self.looks += 1
        return a


def looked(e: str, t: str, a: str, s: str) -> str:
    """Code of whether a tensor may come in at an entrance, which names its array: Entrance.look, after that
    part of it which is enough for what came in there last. The arguments are names.
    """
    return (
        f"({t} is {e}.tensor() and {e}.seen >= region.newest and ({a} := peek({t})) is not None and {a} is "
        f"{e}.array() and (({s} := {t}._storage) is None or not ({s}.exposed or {s}.foreign)) or "
        f"({a} := {e}.look(region, {t}, peek({t}))) is not None)"
    )


def entered(e: str, place: int, a: str) -> list[str]:
    """Code that lets it in."""
    return [
        f"{e}.seen = region.number",
        f"if {e}.stamp > region.newest:",
        f"    region.newest = {e}.stamp",
        f"region.inputs[{place}] = {e}.tensor, {a}",
        f"region.entrances.append({e})",
        f"{a} = None",
    ]


class Together:
    """Entrances of one call. What may come in there one by one is to lie in different memory, or at least to
    be seen in it in different ways.

    at: how often these had been looked at in all when that was so; it is so as long as nothing else comes in.
    """

    __slots__ = ("at", "entrances")

    def __init__(self, entrances: tuple[Entrance, ...]) -> None:
        self.entrances, self.at = entrances, -1

    def look(self) -> bool:
        """Whether that is so of what has come in."""
        entrances = self.entrances
        if len({e.root for e in entrances}) < len(entrances):
            seen = [(pointer(a), a.shape, a.strides, a.dtype) for a in [e.array() for e in entrances]]
            if len(set(seen)) < len(seen):
                return False
        self.at = sum([e.looks for e in entrances])
        return True


def apart(c: str, entrances: Sequence[str]) -> str:
    """Code of whether it is so; the arguments are names."""
    return f"({c}.at == {' + '.join([f'{e}.looks' for e in entrances])} or {c}.look())"
