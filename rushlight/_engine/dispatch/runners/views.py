"""Views: rows whose result sees the operand's memory, by NumPy's own function or by the row's map of layouts.

A ViewStep is how one view is taken; it holds for all tensors of the same kind and layout, so plans keep it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.in_place import remember, unrecorded
from rushlight._engine.autograd.node import AccumulateGrad
from rushlight._engine.core.dtype import from_numpy_dtype
from rushlight._engine.core.layout import Layout, extent
from rushlight._engine.dispatch.interpreters import MODES, PLAIN, listening
from rushlight._engine.dispatch.nodes import transposed
from rushlight._engine.dispatch.nodes.declared import Rules
from rushlight._engine.dispatch.runners.array_bodies import by_keyword
from rushlight._engine.dispatch.tensor_rows import TENSOR_ROWS
from rushlight._engine.ops.table import Row
from rushlight._engine.tensors.geometry import Geometry
from rushlight._engine.tensors.kind import kind
from rushlight._engine.tensors.lazy_views import mark
from rushlight._engine.tensors.meta import meta_array
from rushlight._engine.tensors.of_class import Attribute
from rushlight._engine.tensors.storages.storage import INFERENCE, strided
from rushlight._engine.tensors.tensor import WRAPPED, Tensor, storage

Run = Callable[..., Any]
Step = tuple[Any, Run, tuple[Any, ...], Run, tuple[Any, ...]]  # a ViewStep
_new, _reference = object.__new__, weakref.ref
_ARRAY: Any = np.ndarray


def _laid(t: Tensor, seen: Any) -> tuple[Any, ...]:
    """The way to a view of a device's array that NumPy saw so, which holds for all arrays of its layout."""
    a: Any = t._memory
    made = a.device.view(a, seen)
    return _relaid, made.shape, made.strides, made.address - a.address, made.dtype


def _relaid(a: Any, *how: Any) -> Any:
    return a.relaid(*how)


def see(step: Step, t: Tensor) -> Tensor:
    """The view of `t` by a ViewStep."""
    s = t._storage
    if s is None or s is INFERENCE:
        s = storage(t)
    out: Tensor = _new(Tensor)
    out._kind, again, rest, function, args = step
    out._array = function(t._memory, *args)
    out._grad_node = None
    out._output_nr = 0
    out._storage = s
    out._view_of = (t, again, rest, step)
    g = t._grad_node
    if g is not None and not LOCAL.enabled:
        unrecorded(out)
    if g.__class__ is not AccumulateGrad:  # as in track_view
        known = s.views
        if known is None or len(known) >= s.prune_at:
            remember(out, s)
        else:
            known.append(_reference(out))
    return out


def see_each(steps: Sequence[Step], t: Tensor) -> tuple[Tensor, ...]:
    """`see` by each of several steps."""
    if t._grad_node is not None:
        return tuple([see(step, t) for step in steps])
    s = t._storage
    if s is None or s is INFERENCE:
        s = storage(t)
    memory, found = t._memory, []
    for step in steps:
        out: Tensor = _new(Tensor)
        out._kind, again, rest, function, args = step
        out._array = function(memory, *args)
        out._grad_node = None
        out._output_nr = 0
        out._storage = s
        out._view_of = (t, again, rest, step)
        found.append(out)
    known = s.views
    if known is None or len(known) + len(found) > s.prune_at:
        for out in found:
            remember(out, s)
    else:
        known += map(_reference, found)
    return tuple(found)


# By kind, how a matrix is seen turned: permute(1, 0), whatever its sizes.
_turned: dict[Any, Step] = {}


# The property's own function, which Tensor.T no longer is.
_transposed: Callable[[Tensor], Tensor] = getattr(Geometry.T, "fget")


def _matrix_turned(self: Tensor) -> Tensor:
    """The dims reversed; meant for matrices."""
    if self._geometry.ndim == 2 and self._grad_node is None and self.__class__ in PLAIN and not MODES:
        step = _turned.get(self._kind) if self._kind.backend is None else None
        if step is not None:
            return see(step, self)
        found = TENSOR_ROWS["permute"].call(self, 1, 0)
        step = found._view_of[3]
        if step is not None:
            _turned[self._kind] = step
        return found
    return _transposed(self)


_T = Attribute(_matrix_turned, doc=_matrix_turned.__doc__)
_T.__set_name__(Tensor, "T")
setattr(Tensor, "T", _T)


def view_runner(row: Row) -> Run:
    """A view: NumPy's own where the row names one, else the layout map on the storage."""
    rules = Rules(row, row.vjp or transposed.view_rule(row))
    body = by_keyword(row, row.body)
    native = body if row.options.get("native") else row.options.get("numpy")
    marks = row.options.get("marks")

    def again(t: Any, *rest: Any) -> Any:
        heard = t.__class__ in WRAPPED or (MODES and listening())
        return row(t, *rest) if heard else run(t, *rest)

    setattr(again, "heard", row)

    def run(t: Tensor, *rest: Any) -> Any:
        backend = t._kind.backend
        memory: Any = t._memory
        way = (
            NotImplemented
            if native is None
            else native(memory if backend is None else memory.outline(), *rest)
        )
        if backend is not None and way is not NotImplemented:
            way = _laid(t, way[0](memory.outline(), *way[1:]))
        *way, lasting = _mapped(t, body, rest) if way is NotImplemented else (way[0], way[1:], True)
        of = from_numpy_dtype(way[0](t._memory, *way[1]).dtype)  # of complex numbers' parts it is another
        out = see((t._kind.plain if of is t._kind.dtype else kind(of, t._kind.device), again, rest, *way), t)
        if marks is not None or t._kind.lazy:
            mark(out, *((t._kind.conj, t._kind.neg) if marks is None else marks(t._kind, *rest)))
        if not lasting or t._kind.lazy or out._kind.lazy:
            out._view_of = (t, again, rest, None)
        if t._grad_node is not None and LOCAL.enabled and not t._storage.inference:  # type: ignore[union-attr]
            rules.record((t, *rest), out)
        return out

    return run


def _mapped(t: Tensor, body: Run, rest: tuple[Any, ...]) -> tuple[Run, tuple[Any, ...], bool]:
    """(function, its arguments, whether it holds for all arrays of this layout) of a layout's map."""
    a = t._memory
    step = a.itemsize
    layout = body(Layout(a.shape, tuple([s // step for s in a.strides])), *rest)
    strides = tuple([s * step for s in layout.strides])
    if t._kind.on_meta:
        array = _nowhere(t, layout)
    elif t._kind.backend is not None:
        if extent(layout) * step > a.nbytes:
            return _beyond(t, layout)
        return _relaid, (layout.sizes, strides, layout.offset * step), True
    elif a.flags.c_contiguous and a.dtype.isbuiltin == 1 and layout.offset >= 0 and extent(layout) <= a.size:
        return partial(_ARRAY, layout.sizes, a.dtype), (layout.offset * step, strides), True
    else:
        same = a.reshape(layout.sizes) if a.size == prod(layout.sizes) and not layout.offset else None
        if same is not None and same.strides == strides and np.may_share_memory(a, same):
            return np.ndarray.reshape, (layout.sizes,), True
        array = strided(
            storage(t).bytes(a), a.dtype, layout.sizes, layout.strides, t.storage_offset() + layout.offset
        )
    return lambda a: array, (), False


def _nowhere(t: Tensor, layout: Layout) -> Any:
    """The view of a meta tensor's array; it may reach beyond the storage, and then has one of its own."""
    start, flat, of = t.storage_offset() + layout.offset, storage(t).bytes(t._memory), t._memory.dtype
    if extent(Layout(layout.sizes, layout.strides, start)) * of.itemsize > flat.size:
        return meta_array(layout.sizes, of, layout.strides)
    return strided(flat, of, layout.sizes, layout.strides, start)


def _beyond(t: Tensor, layout: Layout) -> tuple[Run, tuple[Any, ...], bool]:
    """The view of a device's array that may reach beyond what its base sees, though not beyond the
    storage.
    """
    a = t._memory
    array = strided(
        storage(t).bytes(a), a.dtype, layout.sizes, layout.strides, t.storage_offset() + layout.offset
    )
    return lambda _: array, (), False
