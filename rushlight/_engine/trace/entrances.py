"""Tensors that come into a segment from outside (parameters, arguments of the call) as operands of a known
op.

An Entrance is the place of one such tensor in the trace. Another tensor may come in there at a later call, if
it has the same kind, sizes and strides, and shares memory with the same other tensors or with none.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from operator import call, is_
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.autograd.node import AccumulateGrad, Node
from rushlight._engine.core.layout import pointer
from rushlight._engine.dispatch.nodes.saved_arguments import Versioned, kept
from rushlight._engine.tensors import slots
from rushlight._engine.tensors.storages.storage import Storage, storage
from rushlight._engine.tensors.tensor import ARRAY, Tensor, wrap
from rushlight._engine.trace.recorder import Array, root

_slot = ARRAY.__get__


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


def looked(e: str, t: str, a: str, cls: str, tracked: bool) -> str:
    """Code of whether a tensor of a class, tracked or not, may come in at an entrance, which names its array:
    Entrance.look, after that part of it which is enough for what came in there last. Others are names.
    """
    return (
        f"(({a} := come({e}, {t}, {cls}, {tracked or None}, region.newest)) is not None or "
        f"{t}.__class__ is {cls} and {t}._grad_node is {'not None' if tracked else 'None'} and "
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


class Looks(NamedTuple):
    """What matchers and programs ask most often.

    come(entrance, tensor, class, tracked, newest): the tensor's array, if it is what came in there last, is
    of that class, and has a node or (tracked: None) has none; None otherwise. met(entrances, inputs, arrays,
    places, roots): note what came in, as Region.met() says. edges(node, other, class, class of what it
    saved): where a node leads to that is the other one, has no hooks and these classes; else None.
    leaf(node, ref, class): the leaf of an AccumulateGrad without hooks, if it is what the weak reference
    leads to, is of that class, tracked, and has no gradient; else None. falling(node, ...): whether each was
    made before the one in front of it. lasts(kept): whether a Versioned's tensor has that version.
    now(tensor): it with its version. led(refs, places, things): whether each weak reference leads to what a
    dict has at its place. copies(arrays): a list of copies, in C order.
    """

    come: Callable[..., Array | None]
    met: Callable[..., Any]
    edges: Callable[..., Any]
    leaf: Callable[..., Any]
    falling: Callable[..., bool]
    lasts: Callable[[Any], bool]
    now: Callable[[Tensor], Versioned]
    led: Callable[..., bool]
    copies: Callable[[Sequence[Array]], list[Array]]


def _come(e: Entrance, t: Any, cls: Any, tracked: Any, newest: int) -> Array | None:
    if t.__class__ is not cls or (t._grad_node is None) is not (tracked is None):
        return None
    s = t._storage
    if t is not e.tensor() or e.seen < newest or (s is not None and (s.exposed or s.foreign)):
        return None
    try:
        a: Array = _slot(t)
    except AttributeError:
        return None
    return a if a is e.array() else None


def _met(entrances: Sequence[Entrance], inputs: Any, arrays: Any, places: Any, roots: Any) -> None:
    for e in entrances:
        arrays[e.place] = inputs[e.place][1]
        places[e.key] = e.known
        roots.setdefault(e.root, []).append(e.place)


def _edges(node: Any, other: Any, cls: Any, of_saved: Any) -> Any:
    alike = node is other and node.__class__ is cls and node.hooks is None
    return node.next if alike and node.saved.__class__ is of_saved else None


def _leaf(node: Any, ref: Callable[[], Any], cls: Any) -> Any:
    if node.__class__ is not AccumulateGrad or node.hooks is not None:
        return None
    t = node._leaf()
    known = t is not None and t is ref() and t.__class__ is cls and t._grad_node is not None
    return t if known and getattr(t, "_grad", None) is None else None


def _falling(*nodes: Node) -> bool:
    return all([a.seq > b.seq for a, b in pairwise(nodes)])


def _lasts(of: Any) -> bool:
    if of.__class__ is not Versioned:
        return False
    s = of.tensor._storage
    return bool(of.version == (0 if s is None else s.version))


def _led(refs: Sequence[Callable[[], Any]], places: Sequence[int], things: dict[int, Any]) -> bool:
    return all(map(is_, map(call, refs), map(things.__getitem__, places)))


def _copies(arrays: Sequence[Array]) -> list[Array]:
    return [a.copy() for a in arrays]


@cache
def looks() -> Looks:
    """These, by machine code where there is any."""
    t = wrap(np.zeros(1))
    t._grad, s = t, storage(t)
    node, end, entrance = Node(), AccumulateGrad(t), Entrance(0, None, (), (), None)
    things: list[Any] = [
        (t, Tensor, ("_array", "_grad_node", "_storage", "_grad")),
        (s, Storage, ("version", "inference", "exposed", "foreign")),
        (node, Node, ("next", "seq", "hooks", "saved")),
        (end, AccumulateGrad, ("_leaf",)),
        (kept(t), Versioned, ("tensor", "version")),
        (entrance, Entrance, _ENTRANCE),
    ]
    usable = slots.usable(things)
    t._grad = None
    if not usable:
        return Looks(_come, _met, _edges, _leaf, _falling, _lasts, kept, _led, _copies)
    of = {cls: slots.offsets(cls, *names) for _, cls, names in things}
    leaf = of[Node] | of[AccumulateGrad]
    at, version = of[Tensor]["_storage"], of[Storage]["version"]
    return Looks(
        slots.made("come", (None, False), of[Tensor], of[Storage], of[Entrance]),
        slots.made("met", (), of[Entrance]),
        slots.made("edges", (None,), of[Node]),
        slots.made("leaf", (None, AccumulateGrad), leaf, of[Tensor]),
        slots.made("falling", (), of[Node]["seq"]),
        slots.made("lasts", (None, Versioned), at, version, of[Versioned]),
        slots.made("now", (Versioned, kept, None, 0, False), at, of[Storage], of[Versioned]),
        slots.made("led", ()),
        slots.made("copies", ()),
    )


_ENTRANCE = ("array", "key", "known", "place", "root", "seen", "tensor")
