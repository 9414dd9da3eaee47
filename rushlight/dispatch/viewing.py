"""Views by plans: what a first call on a layout has found out is repeated on the next array of that layout.

A plan is a function of the tensor alone. A view row's is one step, `see`: NumPy's own way to the view, or the
layout's map. A composite with the option `geometric` gives views of its operand, or the operand itself, which
only the layout and the attributes decide; so it is planned as the steps that its body took. The option
`whole` tells that its body also asks for the storage around: then plans hold where the operand is all of it.
"""
from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rushlight.autograd.inplace import remember
from rushlight.autograd.mode import LOCAL
from rushlight.autograd.node import AccumulateGrad
from rushlight.base.dtype import from_numpy_dtype
from rushlight.base.layout import Layout, extent
from rushlight.dispatch import transposed
from rushlight.dispatch.arrayrun import by_keyword
from rushlight.dispatch.rules import Rules
from rushlight.ops.table import Row
from rushlight.tensor.kind import kind
from rushlight.tensor.storage import INFERENCE, strided
from rushlight.tensor.tensor import Tensor, storage

Run = Callable[..., Any]
Step = tuple[Any, Run, tuple[Any, ...], Run, tuple[Any, ...]]
_MOST = 1 << 13
_new, _reference = object.__new__, weakref.ref


def see(step: Step, t: Tensor) -> Tensor:
    """The view of `t`; a step is (kind, again(t, *rest), rest, function(array, *args), args)."""
    s = t._s
    if s is None or s is INFERENCE:
        s = storage(t)
    out: Tensor = _new(Tensor)
    out._k, again, rest, function, args = step
    out._a = function(t._a, *args)
    out._g = None
    out._i = 0
    out._s = s
    out._b = (t, again, rest, step)
    if t._g.__class__ is not AccumulateGrad:  # as in track_view
        known = s.views
        if known is None or len(known) >= s.prune_at:
            remember(out, s)
        else:
            known.append(_reference(out))
    return out


def keep(plans: dict[Any, Any], key: Any, plan: Run) -> None:
    """Note a plan; all are forgotten when there are very many."""
    if len(plans) > _MOST:
        plans.clear()
    plans[key] = plan


def view_runner(row: Row) -> Run:
    """A view: NumPy's own where the row names one, else the layout map on the storage."""
    rules = Rules(row, row.vjp or transposed.view_rule(row))
    native, body = row.options.get("numpy"), by_keyword(row, row.body)
    plans: dict[Any, Run] = {}

    def again(t: Any, *rest: Any) -> Any:
        return run(t, *rest)

    def run(t: Tensor, *rest: Any) -> Any:
        a = t._a
        key, lasting = (t._k, a.shape, a.strides, rest), True
        try:
            plan = plans.get(key)
        except TypeError:  # slices
            key = plan = None
        if plan is None:
            way = NotImplemented if native is None else native(a, *rest)
            *way, lasting = _mapped(t, body, rest) if way is NotImplemented else (way[0], way[1:], True)
            of = from_numpy_dtype(way[0](a, *way[1]).dtype)  # of complex numbers' parts it is another
            plan = partial(see, (t._k if of is t._k.dtype else kind(of, t._k.device), again, rest, *way))
            if lasting and key is not None:
                keep(plans, key, plan)
        out = plan(t)
        if not lasting:
            out._b = (t, again, rest, None)
        if t._g is not None and LOCAL.enabled:
            rules.record((t, *rest), out)
        return out
    run.plans = plans  # type: ignore[attr-defined]
    return run


def _mapped(t: Tensor, body: Run, rest: tuple[Any, ...]) -> tuple[Run, tuple[Any, ...], bool]:
    """(function, its arguments, whether it holds for all arrays of this layout) of a layout's map."""
    a = t._a
    step = a.itemsize
    layout = body(Layout(a.shape, tuple([s // step for s in a.strides])), *rest)
    if t._k.on_meta:
        from rushlight.tensor.meta import meta_array

        array = meta_array(layout.sizes, a.dtype, layout.strides)
    elif a.flags.c_contiguous and a.dtype.isbuiltin == 1 and layout.offset >= 0 and extent(layout) <= a.size:
        strides = tuple([s * step for s in layout.strides])
        return partial(np.ndarray, layout.sizes, a.dtype), (layout.offset * step, strides), True
    else:
        array = strided(storage(t).bytes(a), a.dtype, layout.sizes, layout.strides,
                        t.storage_offset() + layout.offset)
    return lambda a: array, (), False


def whole(t: Tensor) -> bool:
    """Whether the tensor is known to be all of its storage."""
    return t._s is not None and t._s._bytes is not None and t._s._bytes.size == t._a.nbytes


def planner(run: Run) -> Run:
    """learn(tensor, other arguments): a composite's runner, which leaves a plan behind in `learn.plans`."""
    plans: dict[Any, Run] = {}

    def learn(t: Tensor, *rest: Any) -> Any:
        found = run(t, *rest)
        if t._g is None:
            parts = found if found.__class__ is tuple else (found,)
            steps = [b[-1] if b[0] is t else None for p in parts for b in (getattr(p, "_b", (None,)),)]
            if found is t:
                plan: Run = lambda t: t  # noqa: E731
            elif None in steps:
                plan = lambda t: run(t, *rest)  # noqa: E731 - copies are no business of plans
            elif parts is found:
                plan = lambda t: tuple([see(step, t) for step in steps])  # noqa: E731
            else:
                plan = partial(see, steps[0])
            keep(plans, (t._k, t._a.shape, t._a.strides, rest), plan)
        return found
    learn.plans = plans  # type: ignore[attr-defined]
    return learn
