"""Nested containers as a flat list of leaves and a structure to build them again.

What is a container is said by a table, to which programs add their own types (`torch.utils._pytree`).
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from rushlight._engine.core.size import Size


class Node(NamedTuple):
    """How containers of one type are taken apart, into children and what else they are, and made of these."""

    flatten_fn: Callable[[Any], tuple[Any, Any]]
    unflatten_fn: Callable[[Any, Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[Any, Any]] | None = None


def _mapping(kind: Any) -> Node:
    return Node(
        lambda value: (list(value.values()), list(value)),
        lambda items, keys: kind(zip(keys, items, strict=True)),
    )


NODES: dict[Any, Node] = {
    tuple: Node(lambda value: (list(value), None), lambda items, context: tuple(items)),
    list: Node(lambda value: (value, None), lambda items, context: list(items)),
    dict: _mapping(dict),
    OrderedDict: _mapping(OrderedDict),
    defaultdict: Node(
        lambda value: (list(value.values()), [value.default_factory, list(value)]),
        lambda items, made: defaultdict(made[0], zip(made[1], items, strict=True)),
    ),
    deque: Node(lambda value: (list(value), value.maxlen), lambda items, most: deque(items, most)),
    Size: Node(lambda value: (list(value), None), lambda items, context: tuple(items)),
    namedtuple: Node(lambda value: (list(value), type(value)), lambda items, kind: kind(*items)),
}
_DICTS = (dict, OrderedDict, defaultdict)


def kind_of(value: Any) -> Any:
    """The type under which NODES knows a value; None of a leaf."""
    kind = type(value)
    if kind in NODES:
        return kind
    return namedtuple if issubclass(kind, tuple) and hasattr(kind, "_fields") else None


class Tree:
    """A structure: a leaf (`kind` None), or a container, with what its `Node` says beside its children."""

    __slots__ = ("type", "context", "children_specs", "num_leaves")

    def __init__(self, kind: Any, context: Any, children: list[Tree]) -> None:
        self.type, self.context, self.children_specs = kind, context, children
        self.num_leaves: int = 1 if kind is None else sum([c.num_leaves for c in children])

    @property
    def kind(self) -> Any:
        """The type of the container; None of a leaf."""
        return self.type

    @property
    def num_children(self) -> int:
        """How many children it has itself."""
        return len(self.children_specs)

    @property
    def num_nodes(self) -> int:
        """How many containers and leaves it consists of, itself among them."""
        return 1 + sum([c.num_nodes for c in self.children_specs])

    def is_leaf(self) -> bool:
        """Whether it is no container."""
        return self.type is None

    def children(self) -> list[Tree]:
        """The structures of its children."""
        return list(self.children_specs)

    def child(self, index: int) -> Tree:
        """The structure of one of them."""
        return self.children_specs[index]

    def __reduce__(self) -> Any:
        return Tree, (self.type, self.context, self.children_specs)

    @property
    def keys(self) -> Any:
        """The keys of a dict."""
        return self.context[1] if self.type is defaultdict else self.context

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Tree)
            and (
                self.type is other.type
                and self.context == other.context
                and self.children_specs == other.children_specs
            )
        )

    def __hash__(self) -> int:
        return hash((self.type, tuple(self.children_specs)))  # a context need not have one

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        inner = (",\n" + " " * (indent + 2)).join([c.__repr__(indent + 2) for c in self.children_specs])
        return f"TreeSpec({self.type.__name__}, {self.context}, [{inner}])"

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The structure with these leaves; ValueError where they are not as many as it has."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec "
                f"refers to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        return NODES[self.type].unflatten_fn([c._build(leaves) for c in self.children_specs], self.context)

    def flatten_up_to(self, value: Any) -> list[Any]:
        """What stands in `value` where this structure has leaves; ValueError where it does not fit."""
        if self.type is None:
            return [value]
        kind = kind_of(value)
        dicts = self.type in _DICTS and kind in _DICTS
        if not dicts and kind is not self.type:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {type(value)!r}.")
        items, context = NODES[kind].flatten_fn(value)
        if len(items) != len(self.children_specs):
            raise ValueError(
                f"Node arity mismatch; expected {len(self.children_specs)}, but got {len(items)}."
            )
        if dicts:
            missing, extra = set(self.keys) - set(value), set(value) - set(self.keys)
            if missing or extra:
                detail = f"; missing key(s): {missing}" * bool(missing)
                detail += f"; extra key(s): {extra}" * bool(extra)
                raise ValueError(f"Node keys mismatch{detail}.")
            items = [value[key] for key in self.keys]
        elif context != self.context and kind is not deque:
            raise ValueError(
                f"Node context mismatch for node type {self.type!r}; expected {self.context!r}, "
                f"but got {context!r}."
            )
        return [
            found
            for child, item in zip(self.children_specs, items, strict=True)
            for found in child.flatten_up_to(item)
        ]


LEAF = Tree(None, None, [])


def flatten(value: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Tree]:
    """(leaves, structure); also a container is a leaf where is_leaf(it) says so."""
    leaves: list[Any] = []
    return leaves, _flatten(value, is_leaf, leaves)


def _flatten(value: Any, is_leaf: Callable[[Any], bool] | None, leaves: list[Any]) -> Tree:
    kind = kind_of(value)
    if kind is None or (is_leaf is not None and is_leaf(value)):
        leaves.append(value)
        return LEAF
    items, context = NODES[kind].flatten_fn(value)
    return Tree(kind, context, [_flatten(item, is_leaf, leaves) for item in items])


def tree_map(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """`tree` with func(leaf, ...) for each leaf; its other arguments are what `rests` have in its place."""
    leaves, spec = flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *[spec.flatten_up_to(rest) for rest in rests]))


def broadcast(prefix: Any, tree: Tree) -> list[Any] | None:
    """One item for each leaf of `tree`, of a value that may stop higher up; None where it does not fit."""
    kind = kind_of(prefix)
    if kind is None:
        return [prefix] * tree.num_leaves
    items, context = NODES[kind].flatten_fn(prefix)
    if kind in _DICTS and tree.type in _DICTS:
        if set(prefix) != set(tree.keys):
            return None
        items = [prefix[key] for key in tree.keys]
    elif (kind, len(items)) != (tree.type, tree.num_children) or not (
        context == tree.context or kind is deque
    ):
        return None
    found = [broadcast(item, child) for item, child in zip(items, tree.children_specs, strict=True)]
    return None if None in found else [leaf for part in found if part is not None for leaf in part]
