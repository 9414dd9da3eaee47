"""Kernels of few elements whose results lie as PyTorch's.

NumPy allocates what its ufuncs give by the strides of their operands. So does PyTorch, but where operands lie
apart from each other, or have dims of size 1 or dims that are broadcast, the two may disagree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.core.layout import in_order, order_of
from rushlight._engine.core.services import service
from rushlight._engine.kernels.loops.elementwise import PARALLEL, lies_across
from rushlight._engine.kernels.runtime import native
from rushlight._engine.ops.row_kernels import BROAD
from rushlight._engine.tensors import slots

Array = np.ndarray[Any, Any]
# What is known of a layout: NumPy's is PyTorch's; there are many elements.
_AGREED, _MANY = "agreed", "many"
_MOST = 1 << 10
# Elements from which on operands that lie across the result are turned first.
_TURNED = 1 << 13


def _along(a: Array, sizes: tuple[int, ...], turned: Any) -> Array:
    """A copy that lies as the result does."""
    out = in_order(sizes, turned, a.dtype)
    if not service("copy")(out, a):
        out[...] = a
    return out


def may_differ(x: Array) -> bool:
    """Whether NumPy may lay out a result of this operand, and of numbers, otherwise than PyTorch does. What
    NumPy laid out itself has no base.
    """
    return x.base is not None and not x.flags.c_contiguous and (1 in x.shape or 0 in x.strides)


def may_differ_of_two(x: Array, y: Array) -> bool:
    """The same of two operands."""
    return not x.flags.c_contiguous and (x.strides != y.strides or 1 in x.shape or 0 in x.strides)


class Ordered:
    """A kernel whose results lie as PyTorch's; how, is kept for each layout of the operands.

    compiled: what has the result's kind and which operands are `copied` and `beside`; compute: the way that
    goes for all operands; several: whether two operands have dims, or the first alone.
    """

    def __init__(self, compiled: Any, fn: Callable[..., Any], compute: Any, several: bool) -> None:
        self.compiled, self.fn, self.compute, self.several = compiled, fn, compute, several
        self.dtype = compiled.result_kind.np
        self.known: dict[Any, Any] = {}

    def __call__(self, *arrays: Any) -> Any:
        x = arrays[0]
        key: Any = x.shape, x.strides
        if self.several:
            key += arrays[1].shape, arrays[1].strides
        found = self.known.get(key) or self._learn(key, arrays)
        if found is _AGREED:
            return self.fn(*arrays)
        if found is _MANY:
            return self.compute(self.compiled, arrays)
        sizes, turned, across = found
        if across:
            arrays = tuple([_along(a, sizes, turned) if k in across else a for k, a in enumerate(arrays)])
        return self.fn(*arrays, out=in_order(sizes, turned, self.dtype))

    def _learn(self, key: Any, arrays: tuple[Any, ...]) -> Any:
        seen = tuple([(a.shape, a.strides, a.itemsize) for a in arrays])
        sizes, turned = order_of(seen, self.compiled.copied, self.compiled.beside)
        wanted = in_order(sizes, turned, self.dtype)
        turns = _TURNED <= wanted.size < PARALLEL  # the kernel turns more by itself
        across = [k for k, a in enumerate(arrays) if turns and lies_across(a, wanted)]
        found: Any = (sizes, turned, across)
        if wanted.size >= BROAD and not across:
            found = _MANY
        elif self.fn.__class__ is np.ufunc and not across and self.fn(*arrays).strides == wanted.strides:
            found = _AGREED  # as ever after
        if len(self.known) >= _MOST:
            self.known.clear()
        self.known[key] = found
        return found


def laid_out(ordered: Ordered) -> Callable[..., Any]:
    """The kernel, asked for another order only where NumPy's may differ."""
    fn = ordered.fn
    if fn.__class__ is np.ufunc and native.loaded() and _may_ask():
        return slots.made("in_order", (fn, ordered), ordered.several)
    if ordered.several:

        def of_two(*arrays: Any) -> Any:
            return (ordered if may_differ_of_two(*arrays) else fn)(*arrays)

        return of_two

    def of_one(*arrays: Any) -> Any:
        return (ordered if may_differ(arrays[0]) else fn)(*arrays)

    return of_one


@cache
def _may_ask() -> bool:
    return slots.usable([])
