"""Machine code that makes tensors with pending values, and their autograd nodes.

It fills the objects' slots directly: calling the classes would take longer than most of the ops that are put
off.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.autograd.node import Node, next_seq
from rushlight._engine.dispatch.nodes.formula_nodes import keep_result
from rushlight._engine.dispatch.nodes.saved_arguments import Saved, Versioned, kept, saved
from rushlight._engine.tensors import slots
from rushlight._engine.tensors.storages.storage import Storage
from rushlight._engine.tensors.tensor import ARRAY, Tensor, wrap

_SHELL, _NODE = (
    ("_kind", "_grad_node", "_output_nr", "_storage", "_hidden"),
    ("next", "seq", "hooks", "saved"),
)
_SAVED, _KEPT = ("_values", "_shapes", "_kinds", "_results", "_node"), ("tensor", "version")
_new = object.__new__


class Makers(NamedTuple):
    """shell(alive, kind, hidden): an untracked tensor of a kind, noted in the list `alive`.

    record(tensor, class, next, saved): a node of that class, which is the tensor's. keep(tensor, version): a
    Versioned. save(values, shapes, kinds, results): a Saved. peek(tensor): its array, None if it has none.
    second(region, alive, place, kind, hidden, tensor): (a result to be kept by its own node, its version).
    """

    shell: Callable[..., Any]
    record: Callable[..., Any]
    keep: Callable[..., Any]
    save: Callable[..., Any]
    peek: Callable[[Any], Any]
    second: Callable[..., Any]


def _shell(alive: list[Any], kind: Any, hidden: Any) -> Tensor:
    t: Tensor = _new(Tensor)
    t._kind = kind
    t._grad_node = None
    t._output_nr = 0
    t._storage = None
    t._hidden = hidden
    alive.append(weakref.ref(t))
    return t


def _record(t: Tensor, cls: type[Node], following: tuple[Any, ...], saved: Any) -> Node:
    node: Node = _new(cls)
    node.next = following
    node.seq = next_seq()
    node.hooks = None
    node.saved = saved
    t._grad_node = node
    return node


def _keep(t: Tensor, version: int) -> Versioned:
    k: Versioned = _new(Versioned)
    k.tensor, k.version = t, version
    return k


_slot = ARRAY.__get__


def _peek(t: Tensor) -> Any:
    try:
        return _slot(t)
    except AttributeError:
        return None


def _nothing(t: Any) -> None:
    """What is there instead of an array."""


def _second(shell: Callable[..., Any], storage: Callable[[], Storage]) -> Callable[..., Any]:
    def second(
        region: Any, alive: list[Any], place: int, kind: Any, hidden: Any, t: Tensor
    ) -> tuple[Tensor, int]:
        if t._storage is not None:  # in inference mode
            return keep_result(t)
        other: Tensor = shell(alive, kind, hidden)
        t._storage = other._storage = storage()
        region.shares.add(place)
        return other, 0

    return second


def _blank() -> Callable[[], Storage]:
    """Makes storages as their class does."""
    like = Storage()
    names = tuple(n for n in Storage.__slots__ if hasattr(like, n) and n != "__weakref__")
    if not slots.usable([(like, Storage, names)]):
        return Storage
    return _maker(Storage, (), names, *[getattr(like, n) for n in names])


@cache
def makers() -> Makers:
    """These, by machine code where there is any."""
    tensor, node = wrap(np.zeros(1)), Node()
    shell = wrap(np.zeros(1))
    shell._hidden = tensor
    things: list[Any] = [
        (shell, Tensor, _SHELL),
        (tensor, Tensor, ("_array",)),
        (node, Node, _NODE),
        (kept(tensor), Versioned, _KEPT),
        (saved({}, (), (), None), Saved, _SAVED),
    ]
    if not slots.usable(things):
        return Makers(_shell, _record, _keep, saved, _peek, _second(_shell, Storage))
    made = slots.made("shell", (Tensor, None, 0), slots.offsets(Tensor, *_SHELL))
    at = slots.offset(Tensor, "_grad_node")
    return Makers(
        made,
        slots.made("recorder", (next_seq, None), slots.offsets(Node, *_NODE), at),
        _maker(Versioned, _KEPT, ()),
        _maker(Saved, _SAVED[:4], _SAVED[4:], None),
        slots.made("reader", (Tensor, _nothing), slots.offset(Tensor, "_array")),
        _second(made, _blank()),
    )


def _maker(cls: type, given: tuple[str, ...], fixed: tuple[str, ...], *values: Any) -> Callable[..., Any]:
    """Makes instances of a class: some slots are given, others always the same."""
    offsets = [tuple(slots.offset(cls, name) for name in names) for names in (given, fixed)]
    return slots.made("maker", (cls, *values), *offsets)
