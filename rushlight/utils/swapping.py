"""torch.utils.swap_tensors."""

from __future__ import annotations

import copyreg
import weakref
from typing import Any

from rushlight._engine.autograd.node import AccumulateGrad
from rushlight._engine.tensors.tensor import Tensor


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange all that two tensors are: data, class, attributes, gradient; who holds one holds the other
    then.

    RuntimeError for tensors that are weakly referenced, have different __slots__, or whose gradient
    function is held by a graph.
    """
    for t, name in ((t1, "t1"), (t2, "t2")):
        if any(held not in _own_references(t) for held in weakref.getweakrefs(t)):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    if _slots(type(t1)) != _slots(type(t2)):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    classes, attributes = (type(t1), type(t2)), (t1.__dict__, t2.__dict__)
    states = _state(t1), _state(t2)
    for t, cls, given, state in zip(
        (t1, t2), reversed(classes), reversed(attributes), reversed(states), strict=True
    ):
        t.__class__ = cls
        t.__dict__ = given
        for name in _slots(cls):
            if name in state:
                setattr(t, name, state[name])
            elif hasattr(t, name):
                delattr(t, name)
        if isinstance(t._grad_node, AccumulateGrad):
            t._grad_node._leaf = weakref.ref(t)
    first, second = weakref.ref(t1), weakref.ref(t2)
    other = {id(first): second, id(second): first}
    for storage in {t._storage for t in (t1, t2) if t._storage is not None}:
        storage.views = storage.views and [other.get(id(view), view) for view in storage.views]


class _References(list[Any]):
    """References, told apart as objects: equal ones are of equal tensors."""

    def __contains__(self, reference: object) -> bool:
        return any(held is reference for held in self)


def _own_references(t: Tensor) -> _References:
    """The weak references by which autograd knows a tensor."""
    leaf = [t._grad_node._leaf] if isinstance(t._grad_node, AccumulateGrad) else []
    return _References([*leaf, *((t._storage is not None and t._storage.views) or ())])


def _slots(cls: type) -> set[str]:
    names: list[str] = getattr(copyreg, "_slotnames")(cls)
    return {*names, "_array", "_kind", "_grad_node", "_output_nr", "_storage", "_view_of", "_grad", "_hidden"}


def _state(t: Tensor) -> dict[str, Any]:
    return {name: getattr(t, name) for name in _slots(type(t)) if hasattr(t, name)}
