"""The arguments of a recorded call: for as long as it runs they lie in memory that the record owns."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from typing import Any, Self
from weakref import WeakValueDictionary

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.in_place import replay, view_chain
from rushlight._engine.tensors.storages.storage import Storage, address
from rushlight._engine.tensors.tensor import ARRAY, Tensor, storage, wrap
from rushlight._engine.trace.program import mapped
from rushlight._engine.trace.recorder import root
from rushlight._engine.trace.regions import BoundaryNode

_LOCK = threading.Lock()
# Of tensors whose array is not there yet, or that another thread is about to make, these slots are empty.
_SLOTS: tuple[Callable[[Tensor], Any], ...] = (ARRAY.__get__, Tensor.__dict__["_hidden"].__get__)
_LENT: WeakValueDictionary[int, Lent] = WeakValueDictionary()


def collections() -> int:
    """How often Python's collector has run, over whichever generations."""
    return sum([of["collections"] for of in gc.get_stats()])


class Lent:
    """As a context: tensors lie in copies of their memory, and their graph begins anew.

    The call is given the tensors themselves, so that what it keeps of them is theirs, and so is what it does
    to them: writes are done to their own memory at its end. `copies` stand for them in the record.
    taken: another thread has one of them in such a call, and this one is not to be used.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.tensors = [*{id(t): t for t in tensors}.values()]
        with _LOCK:
            self.taken = any(id(t) in _LENT for t in self.tensors)
            _LENT.update({} if self.taken else {id(t): self for t in self.tensors})
        self.copies = [_copied(t) for t in self.tensors]
        of = {id(t): copy for t, copy in zip(self.tensors, self.copies, strict=True)}
        self.given = [of[id(t)] for t in tensors]
        # Whether the record knows of a write to them.
        self.written: Callable[[], bool] = bool
        # What they are outside of the call.
        self._own: list[tuple[Any, Any, int]] = []
        # How often garbage had been collected when the call began.
        self._collected = -1
        # Their storages, what these know of the memory, and the version.
        self._storages: list[tuple[Storage, Any, Any, int]] = []

    def begin(self) -> None:
        """The call is about to run: views of the copies are made from here on."""
        self._collected = collections()

    def __enter__(self) -> Self:
        self._own, self._storages = [], []
        for t, copy in zip(self.tensors, self.copies, strict=True):
            self._own.append((t._array, t._grad_node, t._output_nr))
            s = storage(t)
            self._storages.append((s, s._bytes, s.lent, s.version))
            s._bytes = s.lent = None
            t._array, t._grad_node, t._output_nr = copy._array, copy._grad_node, 0
        return self

    def __exit__(self, *error: Any) -> None:
        for t, copy, own, known in zip(self.tensors, self.copies, self._own, self._storages, strict=True):
            s, version = known[0], known[3]
            s._bytes, s.lent = known[1:3]
            if t._grad_node is copy._grad_node:
                t._grad_node, t._output_nr = own[1:]
            if s.version != version or self.written():
                own[0][...] = copy._array
            if t._array is copy._array:
                t._array = own[0]

    def among(self, output: Any) -> Any:
        """What a call gave, with the copies in the places of the tensors."""
        of = {id(t): copy for t, copy in zip(self.tensors, self.copies, strict=True)}
        return mapped(output, lambda t: of.get(id(t), t))

    def settle(self) -> None:
        """Let what the call has made of the copies' memory lie in the tensors' own."""
        places = {id(root(copy._array)): n for n, copy in enumerate(self.copies)}
        apart = {id(t) for t in (*self.tensors, *self.copies)}
        for holder in self._made() if self.tensors else ():
            memory = _memory(holder)
            place = None if memory is None else places.get(id(root(memory)))
            if place is not None and id(holder) not in apart:
                _move(holder, self.copies[place], self.tensors[place])

    def _made(self) -> list[Tensor]:
        """The tensors that the call may have made."""
        # As long as nothing has been collected since, all these are young.
        young = self._collected == collections()
        return [o for o in gc.get_objects(0 if young else None) if Tensor in type(o).__mro__]


def _memory(t: Tensor) -> Any:
    """The array that a tensor, or a lazy view, has of its memory; None where that is not there."""
    for slot in _SLOTS:
        try:
            found = slot(t)
        except AttributeError:
            continue
        return found if isinstance(found, np.ndarray) else None
    return None


def _move(view: Tensor, copy: Tensor, t: Tensor) -> None:
    """Let a view of a copy be one of the tensor."""
    laid, over, own = view._memory, copy._memory, t._memory
    if over.strides == own.strides:
        flat = storage(t).bytes(own)
        offset = address(laid) - address(over) + address(own) - address(flat)
        seen = np.ndarray(laid.shape, laid.dtype, flat, offset, laid.strides)
    elif (laid.shape, laid.strides, address(laid)) == (over.shape, over.strides, address(over)):
        seen = own
    else:
        base, chain = view_chain(view)
        if base is view or any(again is None for again, _ in chain):
            return
        enabled, LOCAL.enabled = LOCAL.enabled, False
        try:
            seen = replay(base, chain)._memory
        finally:
            LOCAL.enabled = enabled
    apart = view._storage
    if apart is not None and apart is not t._storage:  # `x.data`: what it knows of the memory is its own
        apart._bytes, apart.lent = storage(t)._bytes, storage(t).lent
    if view._kind.lazy:
        view._hidden = seen
    else:
        view._array = seen


def _copied(t: Tensor) -> Tensor:
    """A tensor of memory of its own, of `t`'s versions; it has its strides, for which a program may ask."""
    a = t._array
    values = a.copy("K")
    if values.strides != a.strides and isinstance(a, np.ndarray):
        steps = [(n - 1) * step for n, step in zip(a.shape, a.strides, strict=True)]
        values = np.ndarray(
            a.shape, a.dtype, np.empty(max(sum(steps), 0) + a.itemsize, np.uint8), 0, a.strides
        )
        values[...] = a
    made = wrap(values, t._kind)
    if t._grad_node is not None:
        made._grad_node, made._output_nr = BoundaryNode(t, made), 0
    if t.__class__ is not Tensor:
        made.__class__ = t.__class__
    made._storage = storage(t)
    return made
