"""In-place ops in a region (matching.py).

A pointwise write to a pending tensor whose memory nobody else sees becomes a functional op, whose result the
tensor takes. A write to memory that came from outside is put off like any op, if only its own tensors hold
that memory: their slots are emptied meanwhile.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.node import AccumulateGrad
from rushlight._engine.dispatch.dispatcher import function
from rushlight._engine.ops.table import ROWS, Row
from rushlight._engine.tensors.lazy_views import Pending, empty
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.program import LENDERS
from rushlight._engine.trace.recorder import Array, Entry
from rushlight._engine.trace.shells import makers
from rushlight._engine.trace.trace import Step, bump

_peek, _base = makers().peek, Tensor.__dict__["_view_of"].__get__
_new = object.__new__
# References to what an array is a view of, as _alone() counts them: the array's, its own, getrefcount()'s.
_OF_BASE = 3


def filled(t: Tensor) -> bool:
    """Whether a tensor has an array."""
    return _peek(t) is not None


def free(region: Any, t: Tensor) -> bool:
    """Whether a pending tensor is no view, and has a storage that nobody else has."""
    try:
        if _base(t) is not None:
            return False
    except AttributeError:
        pass
    own = region.private.get(id(t))
    return t._storage is None or (own is not None and own() is t)


def _nothing(a: Array) -> Array:
    """An array without memory of its own, for a layout."""
    return np.empty((1,) * a.ndim, a.dtype)


def _functional(row: Row) -> bool:
    """Whether a row that is computed by hand, in place, does what it does otherwise, and writes that."""
    return row.kind == "opaque" and bool(row.inplace) and not Entry("run", function(row), ()).draws


def _alone(a: Array, holders: Sequence[Tensor]) -> bool:
    """Whether nothing else sees what an array is a view of; these are the tensors that have it.

    Copies and what was loaded are views of the bytes that their storage has.
    """
    base = a.base
    if not isinstance(base, np.ndarray) or base.base is not None:
        return False
    storages = {id(t._storage): t._storage for t in holders if t._storage is not None}
    return sys.getrefcount(base) <= _OF_BASE + sum([s._bytes is base for s in storages.values()])


class Writes:
    """What a region (matching.py) does with them."""

    events: int  # of the region: what has happened that no trail tells

    def functional(self: Any, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Of an op that writes to a result of this segment which nobody else sees: another result instead."""
        target = args[0] if args else row and kwargs.get(row.params[0].name)
        if (
            target.__class__ is not Tensor
            or row is None
            or (row.kind != "pointwise" and not _functional(row))
            or not self.pending(target)
            or not free(self, target)
        ):
            return None
        if (
            LOCAL.transforms
            or target._grad_node.__class__ is AccumulateGrad
            or target._kind.special
            or self.shared(self.place_of(target))
        ):
            return None
        stand = self._stand(target)
        made = self.within(
            function(row),
            tuple([stand if v is target else v for v in args]),
            {name: stand if v is target else v for name, v in kwargs.items()},
        )
        if (
            made.__class__ is not Tensor
            or made is target
            or not self.pending(made)
            or (made._kind, made._geometry.shape, made._geometry.strides)
            != (target._kind, target._geometry.shape, target._geometry.strides)
        ):
            return None
        self._become(target, made, stand)
        return target

    def _stand(self: Any, target: Tensor) -> Tensor:
        """Another tensor of what the target held, for nodes that keep it."""
        t: Tensor = _new(Tensor)
        t._kind, t._grad_node, t._output_nr, t._storage = (
            target._kind,
            target._grad_node,
            target._output_nr,
            None,
        )
        hidden = getattr(target, "_hidden", None)
        if hidden is None:
            t._array = target._array
        else:
            t._hidden = hidden
        self.know(t, self.place_of(target))
        return t

    def _become(self: Any, target: Tensor, made: Tensor, stand: Tensor) -> None:
        if made._grad_node is not None:
            target._grad_node, target._output_nr = made._grad_node, made._output_nr
        first, tracked = self.place_of(made), made._grad_node is not None
        if self.shared(self.place_of(made)):  # its node keeps it: a later write is not to reach that
            before, LOCAL.enabled = LOCAL.enabled, False
            try:
                made = self.within(ROWS["clone"], (made,), {})
            finally:
                LOCAL.enabled = before
        hidden, place = getattr(made, "_hidden", None), self.place_of(made)
        if self.trail is None or hidden is None:
            self.events += 1
        else:
            old = target._hidden
            self.trail.append((self.node, "become", target, stand, old, first, hidden, tracked))
        if hidden is None:
            target._array = made._array
        else:
            if filled(target):
                del target._array
            target._hidden = hidden
        self.know(target, place)
        bump(target, 1)
        self.private[id(target)] = weakref.ref(target)

    def empty(self: Any, step: Step, origins: Mapping[int, int]) -> bool:
        """Whether what came in and is written to is seen by its tensors alone; their slots are emptied.

        origins: of the step's operands that are written to, the places whose memory they are of.
        """
        self.met()
        for k in step.writes:
            a = self.arrays.get(origins[k])
            if a is None:
                continue
            held = [(ref(), b) for ref, b in self.inputs.values() if b is a]
            holders = [t for t, _ in held if t is not None]
            emptied = [t for t, b in self.emptied if b is a]
            if emptied and all(any(t is e for e in emptied) for t in holders):
                continue
            lender = LENDERS.get(id(a.base))
            known = (
                (lender is not None)
                + sum(map(filled, holders))
                + sum([b is a for b in self.arrays.values()])
                + (2 * len(held) + len(emptied))
            )
            if (
                origins[k] in self.real
                or sys.getrefcount(a) > known + 2
                or not (a.base is None or (_alone(a, holders) if lender is None else lender.alone(a)))
            ):
                return False
            for t in holders:
                if filled(t):
                    self.emptied.append((t, a))
                    layout = np.lib.stride_tricks.as_strided(_nothing(a), a.shape, a.strides, writeable=False)
                    empty(t, Pending(layout, self.trace))
        return True
