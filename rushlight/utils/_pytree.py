"""torch.utils._pytree: trees of containers, and types that programs add to these."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import UnionType
from typing import Any

from rushlight.base.pytree import NODES, Node, Tree, flatten, kind_of, tree_map

SUPPORTED_NODES, TreeSpec, PyTreeSpec, tree_flatten = NODES, Tree, Tree, flatten
PyTree = Context = Any
_dict_flatten, _dict_unflatten = NODES[dict][:2]


class LeafSpec(Tree):
    """The structure of what is no container."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


def _get_node_type(tree: Any) -> Any:
    """The type under which SUPPORTED_NODES knows a value, or would."""
    return kind_of(tree) or type(tree)


@dataclass(frozen=True)
class SequenceKey:
    """A place in a sequence."""

    idx: int


@dataclass(frozen=True)
class MappingKey:
    """A key of a mapping."""

    key: Any


def _dict_flatten_with_keys(value: dict[Any, Any]) -> tuple[list[tuple[MappingKey, Any]], list[Any]]:
    return [(MappingKey(key), item) for key, item in value.items()], list(value)


def register_pytree_node(cls: type, flatten_fn: Callable[[Any], tuple[Any, Any]],
                         unflatten_fn: Callable[[Any, Any], Any], *, flatten_with_keys_fn: Any = None,
                         **names_for_files: Any) -> None:
    """From now on `cls` is a container: flatten_fn(it) gives (children, context), and unflatten_fn(children,
    context) makes one. ValueError if it was one already."""
    if cls in NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    NODES[cls] = Node(flatten_fn, unflatten_fn, flatten_with_keys_fn)


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
