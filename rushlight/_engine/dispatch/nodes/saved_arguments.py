"""The `s` of declared gradients: what a node kept of its op's arguments and result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.saved_tensor_hooks import PackedTensor
from rushlight._engine.autograd.saved_tensors import check_version, reattach, version_of
from rushlight._engine.tensors.tensor import Tensor

_new = object.__new__


def _changed(kind: type, change: Callable[[Any, int], Any], value: Any, number: int = -1) -> Any:
    """change(value, number) of what is of a kind, also in lists. (No closure: one that calls itself is a
    cycle, which would keep the graph that `change` knows.)
    """
    if value.__class__ is VersionedList:
        return VersionedList([_changed(kind, change, v) for v in value.items])
    return change(value, number) if value.__class__ is kind else value


class Saved:
    """The `s` of a declared gradient (see Row): arguments, result, shapes, needs.

    shapes, kinds: of its operands in order, None for what is no tensor; a list of shapes for a list.
    """

    __slots__ = ("_node", "_values", "_shapes", "_kinds", "_results")

    _node: Any
    _values: dict[str, Any]
    _shapes: Any
    _kinds: Any
    _results: Any

    @property
    def result(self) -> Any:
        """The op's result, or its results, if it gives several."""
        return Results(self) if self._results[0] else self._result(0)

    def items(self, name: str) -> Sequence[Any]:
        """A list of tensors, each of which must be as it was only if the rule looks at it."""
        return Items(self._node, self._values[name].items)

    def _result(self, number: int) -> Any:
        kept = self._results[1][number]
        if kept is None:
            return None
        found = check_version(self._node, kept.tensor, kept.version)
        return reattach(found, self._node, number) if LOCAL.enabled else found

    def tensors(self) -> bool:
        """Whether tensors are kept."""
        return bool(self._results and self._results[1]) or not _KEEPING.isdisjoint(
            [v.__class__ for v in self._values.values()]
        )

    def packed(self, pack: Callable[[Tensor, int], Any]) -> Saved:
        """The same with pack(tensor, number of the result, -1 for arguments) for each kept tensor."""
        return self._mapped(Versioned, lambda kept, number: pack(kept.tensor, number))

    def opened(self, kind: type, node: Any) -> Saved:
        """What `packed` was made of, its items of class `kind` restored."""
        return self._mapped(kind, lambda item, number: kept(item.restore(node)))

    def _mapped(self, kind: type, change: Callable[[Any, int], Any]) -> Saved:
        changed = partial(_changed, kind, change)
        many, results = self._results or (False, [])
        results = self._results and (many, [changed(item, i) for i, item in enumerate(results)])
        return saved({n: changed(v) for n, v in self._values.items()}, self._shapes, self._kinds, results)

    def shape(self, name: str) -> Any:
        """The shape of a tensor argument (a list of shapes for a list of tensors)."""
        return self._shapes[self._node.rules.places[name]]

    def needs(self, name: str, item: int | None = None) -> bool:
        """Whether the gradient of this argument (of this item of it) is wanted: in this run, if that is for
        some inputs alone.
        """
        node, useful = self._node, LOCAL.useful
        if not node.rules.lists:
            edge = node.next[node.rules.places[name]]
            return edge is not None and (useful is None or edge[0] in useful)
        start = 0
        for p, shape in zip(node.rules.tensor_params, self._shapes, strict=True):
            count = len(shape or ()) if p.is_list else 1
            if p.name == name:
                first, last = (start, start + count) if item is None else (start + item, start + item + 1)
                edges = node.next[first:last]
                if useful is None:
                    return any([e is not None for e in edges])
                return any([e is not None and e[0] in useful for e in edges])
            start += count
        return False


def argument(name: str) -> None:
    """Let rules read the argument `name` as an attribute.

    It is a property: a class with a `__getattr__` takes several times as long to find any slot.
    """

    def read(self: Saved) -> Any:
        try:
            value = self._values[name]
        except KeyError:
            raise AttributeError(
                f"gradient rule of {self._node.name()}: no argument {name!r}; it has {sorted(self._values)}"
            ) from None
        if value.__class__ is Versioned:
            return check_version(self._node, value.tensor, value.version)
        if value.__class__ is VersionedList:
            return list(Items(self._node, value.items))
        return value

    if name not in Saved.__dict__:
        setattr(Saved, name, property(read))


def saved(values: dict[str, Any], shapes: Any, kinds: Any, results: Any) -> Saved:
    """A Saved. (A function calls another in a third of the time in which a class calls its `__init__`.)"""
    s: Saved = _new(Saved)
    s._values, s._shapes, s._kinds, s._results = values, shapes, kinds, results
    s._node = None
    return s


class Items(Sequence[Any]):
    """The items of a list of tensors; only those that a rule looks at must be as they were."""

    def __init__(self, node: Any, items: list[Any]) -> None:
        self._node, self._items = node, items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        item = self._items[number]
        return check_version(self._node, item.tensor, item.version) if isinstance(item, Versioned) else item


class Results(Sequence[Any]):
    """The results of an op of several; those that a rule does not look at may have been written to."""

    def __init__(self, saved: Saved) -> None:
        self._saved = saved

    def __len__(self) -> int:
        return len(self._saved._results[1])

    def __getitem__(self, number: Any) -> Any:
        return self._saved._result(number)


class Versioned:
    """A tensor and the version that it had."""

    __slots__ = ("tensor", "version")
    tensor: Tensor
    version: int


def kept(tensor: Tensor) -> Versioned:
    """A tensor as it is now."""
    k: Versioned = _new(Versioned)
    k.tensor = tensor
    k.version = 0 if tensor._storage is None else version_of(tensor)
    return k


class VersionedList:
    """A list of Versioned, and of what was no tensor."""

    __slots__ = ("items",)

    def __init__(self, items: list[Any]) -> None:
        self.items = items


_KEEPING = frozenset((Versioned, VersionedList, PackedTensor))
