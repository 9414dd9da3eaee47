"""Storages: the flat memory behind tensors, shared by all views, with autograd's version counter."""

from __future__ import annotations

import threading
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from rushlight._engine.core.accelerator import is_away
from rushlight._engine.core.layout import pointer
from rushlight._engine.tensors.storages import memory_pages

memory_pages.keep()
Array = np.ndarray[Any, Any]


class Storage:
    """What all views of one memory share: its bytes (found when first asked for) and a version.

    foreign: the memory belongs to someone else (a NumPy array) and cannot be resized.
    lent: what a tensor was made of that sees a part of someone else's memory: that part is all there is.
    exposed: it was handed out as an array, so that it may be written to unseen.
    pinned: it is page-locked, for copies to and from CUDA devices.
    views: weak references to tensors that autograd must know of when the memory is written to;
    dead ones are dropped when there are `prune_at`.
    handle: a weak reference to the UntypedStorage by which a program knows it; attributes: what that one has
    besides, which is as long as the memory.
    """

    __slots__ = (
        "version",
        "_bytes",
        "inference",
        "foreign",
        "lent",
        "exposed",
        "pinned",
        "views",
        "prune_at",
        "handle",
        "attributes",
        "__weakref__",
    )

    def __init__(self, version: int = 0, lent: Array | None = None) -> None:
        self.version = version
        self._bytes: Array | None = None
        self.lent = lent
        self.foreign = lent is not None
        self.inference = self.exposed = self.pinned = False
        self.views: list[Any] | None = None
        self.prune_at = 64
        self.handle: Any = None
        self.attributes: dict[str, Any] | None = None

    def apart(self, version: int) -> Storage:
        """The same memory with a version counter of its own: writes there are not seen here."""
        made = Storage(version)
        if self.lent is not None:
            self.bytes(self.lent)  # one array, by which what is lent is known
        for name in ("_bytes", "lent", "foreign", "inference", "exposed", "pinned"):
            setattr(made, name, getattr(self, name))
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        from rushlight._engine.tensors.copying import storage_of  # it imports this file

        # A NumPy array pickles itself without a copy, and out of band in protocol 5.
        return storage_of, (self._bytes,)

    def bytes(self, view: Array) -> Array:
        """The whole memory as a 1-d uint8 array; `view` is any array that lies in it."""
        if self._bytes is None:
            self._bytes = (owner(view) if self.lent is None else span(self.lent)).view(np.uint8)
        return self._bytes


# The storages that other processes may see, and the descriptors of their memory (sharing.py).
SHARED: WeakKeyDictionary[Storage, int] = WeakKeyDictionary()


def shared_at(memory: Array) -> Storage | None:
    """The shared storage whose memory begins where this array does; `x.data` has another one of it."""
    return next((s for s in SHARED if s._bytes is not None and address(s._bytes) == address(memory)), None)


class _Fresh(threading.local):
    """What new tensors of a thread have as storage: nothing yet, or the mark of inference mode."""

    storage: Storage | None = None


FRESH = _Fresh()
# One entry per block of inference mode that some thread is in: mostly a look at this list is enough.
INFERRING: list[None] = []
# The mark; a tensor gets a storage of its own when it needs one.
INFERENCE = Storage()
INFERENCE.inference = True


def fresh() -> Storage | None:
    """The storage that a new tensor starts with."""
    return FRESH.storage


def storage(t: Any) -> Storage:
    """A tensor's Storage, made at first need."""
    found: Storage | None = t._storage
    if found is None or found is INFERENCE:
        inference = found is not None
        found = t._storage = Storage()
        found.inference = inference
    return found


def whole(t: Any) -> bool:
    """Whether a tensor is known to be all of its storage."""
    return (
        t._storage is not None
        and t._storage._bytes is not None
        and t._storage._bytes.size == t._geometry.nbytes
    )


def owner(array: Array) -> Array:
    """The whole memory that `array` lies in, as a 1-d array.

    A fresh array is dense in some order of its axes (NumPy keeps its inputs' order), so walking
    the axes by falling stride reads the memory from end to end without a copy.
    """
    if is_away(array):
        return array.whole()
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    for candidate in (base, array):
        if candidate.flags.c_contiguous:
            return candidate.reshape(-1)
        order = sorted(range(candidate.ndim), key=lambda i: -candidate.strides[i])
        turned = candidate.transpose(order)
        if turned.flags.c_contiguous:
            return turned.reshape(-1)
    return span(array)


def span(array: Array) -> Array:
    """The memory between an array's first and last element, as a 1-d array."""
    if is_away(array):
        return array.whole()
    if array.flags.c_contiguous:  # as all without elements are
        return array.reshape(-1)
    steps = sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True))
    plain = array.view(f"V{array.itemsize}")  # as_strided knows no bfloat16
    return np.lib.stride_tricks.as_strided(plain, (1 + steps // array.itemsize,), (array.itemsize,))


def address(array: Array) -> int:
    """The address of an array's first element."""
    return pointer(array) if isinstance(array, np.ndarray) else array.address


def strided(
    flat: Array, dtype: np.dtype[Any], sizes: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> Array:
    """The view of `flat` (bytes) with the given layout, in elements of `dtype`."""
    step = dtype.itemsize
    # Without elements a view may begin behind the end of its memory.
    start = min(offset * step, flat.size) if 0 in sizes else offset * step
    if is_away(flat):
        return flat.relaid(sizes, tuple(s * step for s in strides), start, dtype)
    return np.ndarray(sizes, dtype, flat, start, tuple(s * step for s in strides))
