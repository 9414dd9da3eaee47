"""torch.utils._pytree: trees of containers, and types that programs add to these."""
from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import UnionType
from typing import Any

from rushlight.base.pytree import NODES, Node, Tree, flatten, kind_of, tree_map

SUPPORTED_NODES, TreeSpec, PyTreeSpec, tree_flatten = NODES, Tree, Tree, flatten
PyTree = Context = Any


@dataclass(frozen=True)
class SequenceKey:
    """A place in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """What stands there."""
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """A key of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """Its value."""
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """The name of an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """Its value."""
        return getattr(obj, self.name)


def _with_keys(kind: Any, keys: Callable[[Any], Iterable[Any]]) -> Callable[[Any], tuple[Any, Any]]:
    """A container's children in pairs with their keys, and its context; NODES hears of it."""
    def flatten_with_keys(value: Any) -> tuple[Any, Any]:
        items, context = NODES[kind].flatten_fn(value)
        return list(zip(keys(value), items, strict=True)), context

    NODES[kind] = NODES[kind]._replace(flatten_with_keys_fn=flatten_with_keys)
    return flatten_with_keys


for _kind in (tuple, list, deque):
    _with_keys(_kind, lambda value: map(SequenceKey, range(len(value))))
for _kind in (OrderedDict, defaultdict):
    _with_keys(_kind, lambda value: map(MappingKey, value))
_with_keys(namedtuple, lambda value: map(GetAttrKey, value._fields))
_dict_flatten_with_keys = _with_keys(dict, lambda value: map(MappingKey, value))
_dict_flatten, _dict_unflatten = NODES[dict][:2]


def register_pytree_node(cls: type, flatten_fn: Callable[[Any], tuple[Any, Any]],
                         unflatten_fn: Callable[[Any, Any], Any], *, flatten_with_keys_fn: Any = None,
                         **names_for_files: Any) -> None:
    """From now on `cls` is a container: flatten_fn(it) gives (children, context), and unflatten_fn(children,
    context) makes one. ValueError if it was one already."""
    if cls in NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    NODES[cls] = Node(flatten_fn, unflatten_fn, flatten_with_keys_fn)


_register_pytree_node = register_pytree_node


def tree_unflatten(leaves: Iterable[Any], treespec: Tree) -> Any:
    """The structure with these leaves."""
    return treespec.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves, in order."""
    return flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Tree:
    """The structure without the leaves."""
    return flatten(tree, is_leaf)[1]


def tree_map_only(type_or_types_or_pred: Any, func: Callable[[Any], Any], tree: Any,
                  is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """tree_map that leaves alone what is not of these types, or what the function says no to."""
    of_types = isinstance(type_or_types_or_pred, (type, tuple, UnionType))
    fits = (lambda leaf: isinstance(leaf, type_or_types_or_pred)) if of_types else type_or_types_or_pred
    return tree_map(lambda leaf: func(leaf) if fits(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[tuple[Any, Any]]:
    """(keys that lead to it, leaf) of each leaf."""
    return list(_paths((), tree, is_leaf))


def tree_flatten_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[Any, Tree]:
    """(tree_leaves_with_path(tree), tree_structure(tree))."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def _paths(path: tuple[Any, ...], tree: Any, is_leaf: Any) -> Iterator[tuple[Any, Any]]:
    kind = kind_of(tree)
    if kind is None or is_leaf is not None and is_leaf(tree):
        yield path, tree
        return
    split = NODES[kind].flatten_with_keys_fn
    if split is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a "
                         "flatten_with_keys_fn argument to register_pytree_node.")
    for key, child in split(tree)[0]:
        yield from _paths((*path, key), child, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """tree_map of func(keys that lead to it, leaf, ...)."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten(func(*pair, *rest) for pair, *rest in zip(found, *columns, strict=True))


def keystr(kp: Any) -> str:
    """The keys as Python's text."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Any) -> Any:
    """What the keys lead to."""
    for key in kp:
        obj = key.get(obj)
    return obj
