"""Nested tuples, lists and dicts as a flat list of leaves and a structure to build them again."""
from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

_DICTS = (dict, OrderedDict, defaultdict)


@dataclass(frozen=True)
class Tree:
    """A structure: a leaf (`kind` None), or a container of `children`; of dicts also the keys, and what makes
    an empty one."""

    kind: Any = None
    keys: tuple[Any, ...] = ()
    children: tuple["Tree", ...] = ()
    empty: tuple[Any, ...] = ()

    def __str__(self) -> str:
        if self.kind is None:
            return "*"
        inner = [str(c) for c in self.children]
        if self.kind in _DICTS:
            return f"{{{', '.join(f'{k!r}: {c}' for k, c in zip(self.keys, inner, strict=True))}}}"
        text = ", ".join(inner)
        return f"[{text}]" if self.kind is list else f"({text}{',' * (len(inner) == 1)})"

    def build(self, leaves: Iterable[Any]) -> Any:
        """The structure with these leaves."""
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.kind is None:
            return next(leaves)
        items = [c._build(leaves) for c in self.children]
        if self.kind in _DICTS:
            return self.kind(*self.empty, zip(self.keys, items, strict=True))
        return self.kind(*items) if hasattr(self.kind, "_fields") else self.kind(items)


LEAF = Tree()


def _opened(value: Any) -> tuple[Tree, list[Any]] | None:
    """(the structure without those of the items, the items) of a container; None for a leaf."""
    kind = type(value)
    if kind in _DICTS:
        empty = (value.default_factory,) if kind is defaultdict else ()
        return Tree(kind, tuple(value), (), empty), list(value.values())
    named = isinstance(value, tuple) and hasattr(kind, "_fields")
    return (Tree(kind), list(value)) if named or kind in (tuple, list, deque) else None


def flatten(value: Any) -> tuple[list[Any], Tree]:
    """(leaves, structure)."""
    found = _opened(value)
    if found is None:
        return [value], LEAF
    parts, own = [flatten(item) for item in found[1]], found[0]
    return ([leaf for some, _ in parts for leaf in some],
            Tree(own.kind, own.keys, tuple(tree for _, tree in parts), own.empty))


def tree_map(change: Callable[..., Any], value: Any) -> Any:
    """`value` with change(leaf) for each leaf."""
    leaves, tree = flatten(value)
    return tree.build(map(change, leaves))


def broadcast(prefix: Any, tree: Tree) -> list[Any] | None:
    """One item for each leaf of `tree`, of a value that may stop higher up; None where it does not fit."""
    found = _opened(prefix)
    if found is None:
        return [prefix] * _count(tree)
    own, items = found
    if own.kind is not tree.kind or own.keys != tree.keys or len(items) != len(tree.children):
        return None
    parts = [broadcast(item, child) for item, child in zip(items, tree.children, strict=True)]
    return None if any(p is None for p in parts) else [leaf for p in parts for leaf in p or ()]


def _count(tree: Tree) -> int:
    return 1 if tree.kind is None else sum(map(_count, tree.children))
