"""What the text of programs calls to take arguments apart and put results together.

A structure says where the leaves are, so a Proxy may stand for a container. Types that programs add
(`register_pytree_flatten_spec`) say how they are taken apart by a structure.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from rushlight._engine.core.pytree import Tree, flatten

SUPPORTED_NODES: dict[Any, Callable[[Any, Tree], list[Any]]] = {}
SUPPORTED_NODES_EXACT_MATCH: dict[Any, Callable[[Any, Tree], bool] | None] = {}


def register_pytree_flatten_spec(
    cls: Any,
    flatten_fn_spec: Callable[[Any, Tree], list[Any]],
    flatten_fn_exact_match_spec: Callable[[Any, Tree], bool] | None = None,
) -> None:
    """Say how values of a type are taken apart into the children that a structure has."""
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def _deregister_pytree_flatten_spec(cls: Any) -> None:
    del SUPPORTED_NODES[cls], SUPPORTED_NODES_EXACT_MATCH[cls]


def _items(value: Any, spec: Tree) -> list[Any]:
    return [value[i] for i in range(spec.num_children)]


def _values(value: Any, spec: Tree) -> list[Any]:
    return [value[key] for key in spec.keys]


def _as_many(value: Any, spec: Tree) -> bool:
    return len(value) == spec.num_children


for _kind in (list, tuple, namedtuple):
    register_pytree_flatten_spec(_kind, _items, _as_many)
register_pytree_flatten_spec(dict, _values, _as_many)


def tree_flatten_spec(pytree: Any, spec: Tree) -> list[Any]:
    """The leaves of a value that is structured like `spec`.

    ValueError where the arguments of an exported program are not; RuntimeError where a container of a type
    that is not registered here is not.
    """
    kinds = [child.type for child in spec.children()] if spec.type is tuple else []
    if kinds == [tuple, dict] and not any(hasattr(leaf, "tracer") for leaf in flatten(pytree)[0]):
        return _arguments(pytree, spec)
    if spec.is_leaf():
        return [pytree]
    if spec.type in SUPPORTED_NODES:
        children = SUPPORTED_NODES[spec.type](pytree, spec)
        pairs = zip(children, spec.children(), strict=False)
        return [leaf for child, inner in pairs for leaf in tree_flatten_spec(child, inner)]
    leaves, real = flatten(pytree)
    if real != spec:
        raise RuntimeError(f"Real spec {real} of object {pytree} is different from expected spec {spec}.")
    return leaves


def _arguments(given: tuple[list[Any], dict[str, Any]], spec: Tree) -> list[Any]:
    """The leaves of (args, kwargs), which must be structured like `spec`; ValueError if they are not."""
    args, kwargs = given
    keys = spec.children_specs[1].keys
    if kwargs.keys() != set(keys):
        raise ValueError(f"expected the keywords {list(keys)}, but got {list(kwargs)}")
    leaves, tree = flatten((tuple(args), {key: kwargs[key] for key in keys}))
    if tree != spec:
        raise ValueError(
            f"Trying to flatten user inputs with exported input tree spec:\n{spec}\nbut "
            f"actually got inputs with tree spec of:\n{tree}\nPlease check that the inputs have "
            "the same number and type of args and kwargs as the ones you used when tracing."
        )
    return leaves


def tree_unflatten(leaves: Any, spec: Tree) -> Any:
    """The structure with these leaves."""
    return spec.unflatten(leaves)
