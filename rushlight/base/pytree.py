"""Nested tuples, lists and dicts as a flat list of leaves and a structure to build them again."""
from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

_DICTS = (dict, OrderedDict, defaultdict)


@dataclass(frozen=True)
class Tree:
    """A structure: a leaf (`kind` None), or a container of `children`, whose `context` is what it has beside them."""

    kind: type | None = None
    context: Any = None
    children: tuple["Tree", ...] = ()

    def __str__(self) -> str:
        if self.kind is None:
            return "*"
        inner = [str(c) for c in self.children]
        if self.kind in _DICTS:
            return "{" + ", ".join(f"{k!r}: {c}" for k, c in zip(self.keys, inner, strict=True)) + "}"
        if self.kind is list:
            return f"[{', '.join(inner)}]"
        return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"

    @property
    def keys(self) -> tuple[Any, ...]:
        """A dict's keys."""
        return self.context[0]  # type: ignore[no-any-return]

    def build(self, leaves: Iterable[Any]) -> Any:
        """The structure with these leaves."""
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.kind is None:
            return next(leaves)
        items = [c._build(leaves) for c in self.children]
        if self.kind in _DICTS:
            pairs = zip(self.keys, items, strict=True)
            return self.kind(self.context[1], pairs) if self.kind is defaultdict else self.kind(pairs)
        return self.kind(*items) if hasattr(self.kind, "_fields") else self.kind(items)  # type: ignore[call-arg]


LEAF = Tree()


def children(value: Any) -> tuple[Tree, list[Any]] | None:
    """(the structure without those of the items, the items) of a container; None for a leaf."""
    kind = type(value)
    if kind in _DICTS:
        return Tree(kind, (tuple(value), getattr(value, "default_factory", None))), list(value.values())
    if kind in (tuple, list, deque) or isinstance(value, tuple) and hasattr(kind, "_fields"):
        return Tree(kind), list(value)
    return None


def flatten(value: Any) -> tuple[list[Any], Tree]:
    """(leaves, structure)."""
    found = children(value)
    if found is None:
        return [value], LEAF
    parts = [flatten(item) for item in found[1]]
    leaves = [leaf for some, _ in parts for leaf in some]
    return leaves, Tree(found[0].kind, found[0].context, tuple(tree for _, tree in parts))


def tree_map(change: Callable[..., Any], value: Any) -> Any:
    """`value` with change(leaf) for each leaf."""
    leaves, tree = flatten(value)
    return tree.build(map(change, leaves))


def broadcast(prefix: Any, tree: Tree) -> list[Any] | None:
    """One item for each leaf of `tree`, of a value that may stop higher up; None where it does not fit."""
    found = children(prefix)
    if found is None:
        return [prefix] * _count(tree)
    own, items = found
    if (own.kind is not tree.kind or len(items) != len(tree.children)
            or own.kind in _DICTS and own.keys != tree.keys):
        return None
    parts = [broadcast(item, child) for item, child in zip(items, tree.children, strict=True)]
    return None if any(p is None for p in parts) else [leaf for p in parts for leaf in p or ()]


def _count(tree: Tree) -> int:
    return 1 if tree.kind is None else sum(map(_count, tree.children))
