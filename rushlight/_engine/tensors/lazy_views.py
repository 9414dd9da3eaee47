"""Lazy views: x.conj(), x.mH, x.conj().imag share memory and are conjugated or negated when they are read.

Their kind is marked, so that no table of kernels knows it, and they have no `_array`: the slot is empty, and
`_hidden` holds the memory. Whoever reads `_array` gets the values in a fresh array that NumPy lets nobody
write to, so code that knows nothing of lazy views is right about them, or raises. `_memory` reads the memory
as it lies: that is for sizes, strides, addresses, and for the few places that make views or write.

Why marks, and not copies: docs/decisions/03-lazy-conjugation.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core.accelerator import asarray
from rushlight._engine.core.recording import TAPE
from rushlight._engine.core.services import service
from rushlight._engine.tensors.kind import Kind, kind
from rushlight._engine.tensors.storages.storage import storage

Array = np.ndarray[Any, Any]


class Pending:
    """Stands in `_hidden` of a tensor whose values are still to be computed (trace/matching.py).

    layout: an array of its sizes and strides without data. owner: what computes the values, by settle().
    place: by which the owner knows them; -1 for none.
    """

    __slots__ = ("layout", "owner", "place")

    def __init__(self, layout: Array, owner: Any, place: int = -1) -> None:
        self.layout, self.owner, self.place = layout, owner, place


def hidden_memory(t: Any, name: str) -> Array:
    """What `_memory` or `_geometry` of a tensor with an empty slot answers."""
    hidden = t._hidden
    found: Array = hidden
    if hidden.__class__ is Pending:
        found = hidden.layout if name == "_geometry" else hidden.owner.values(t)
    return found


def put_off(t: Any) -> bool:
    """Whether the values of `t` are still to be computed."""
    return getattr(t, "_hidden", None).__class__ is Pending


def shared(t: Any, other: Any) -> bool:
    """Whether the values of `t` are put off, and are now those of `other`, too."""
    hidden: Any = getattr(t, "_hidden", None)
    if hidden.__class__ is Pending:
        return bool(hidden.owner.share(t, other))
    listener = getattr(TAPE[-1], "alias", None) if TAPE else None
    if listener is not None:
        listener(t, other)
    return False


def values(t: Any) -> Array:
    """What `_array` of a tensor with an empty slot answers: a lazy view's values, what was put off, and what
    a copy from a device is under way to.
    """
    hidden: Any = getattr(t, "_hidden", None)
    found: Array
    if hidden.__class__ is Pending:
        found = hidden.owner.values(t)
    elif not t._kind.lazy:
        found = service("values that arrive from a device")(t)
    elif t._kind.on_meta:
        found = hidden
    elif TAPE:
        found = read(memory(t), t._kind)._array
    else:
        return _turned_values(t)
    return found


def _turned_values(t: Any) -> Array:
    """A lazy view's values, in an array that cannot be written to."""
    found: Array = asarray(_turned(t._hidden, t._kind))
    if t._kind.backend is not None:
        return found
    found.setflags(write=False)
    return found


def _turned(a: Array, of: Kind) -> Any:
    a = np.conjugate(a) if of.conj else a
    return np.negative(a) if of.neg else a


def read(t: Any, of: Kind) -> Any:
    """A tensor outside the graph, conjugated and negated as `of` says: a fresh one."""
    from rushlight._engine.tensors.geometry import lookup_function  # it imports this file
    from rushlight._engine.tensors.tensor import wrap

    if not TAPE:
        return wrap(_turned(t._array, of))
    for marked, name in ((of.conj, "conj_physical"), (of.neg, "neg")):  # rows, which the recorder sees
        t = lookup_function(name)(t) if marked else t
    return t


def memory(t: Any) -> Any:
    """The same memory, as it lies, outside the graph."""
    from rushlight._engine.tensors.tensor import wrap  # it imports this file

    made = wrap(t._memory, t._kind)
    made._storage = t._storage
    return made


def place(t: Any, array: Array, of: Kind) -> None:
    """Let `t` see this memory, read as `of` says."""
    t._kind = of
    t._array = array
    if of.lazy:
        empty(t, array)


def empty(t: Any, hidden: Any) -> None:
    """Let whoever reads the values of `t` ask `values`, which knows what to do with `hidden`."""
    from rushlight._engine.tensors.tensor import expect_unfilled  # it imports this file

    expect_unfilled(lasting=hidden.__class__ is not Pending)
    t._hidden = hidden
    del t._array


def mark(t: Any, conj: bool, neg: bool) -> Any:
    """`t`, which nobody else holds, its memory read conjugated or negated."""
    if conj or neg:
        storage(t).bytes(t._memory)  # found while an array lies in it
        place(t, t._memory[...], kind(t._kind.dtype, t._kind.device, conj, neg))
    return t
