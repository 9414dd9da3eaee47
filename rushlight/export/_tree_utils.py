"""torch.export._tree_utils: structures of arguments, compared and put in order."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from rushlight._engine.core.pytree import Tree

__all__ = ["is_equivalent", "reorder_kwargs"]


def reorder_kwargs(user_kwargs: dict[str, Any], spec: Tree) -> dict[str, Any]:
    """Keywords in the order in which the structure of (args, kwargs) has them. ValueError for others."""
    if spec.type is not tuple:
        raise AssertionError(f"Expected spec type to be tuple, but got {spec.type}")
    if spec.num_children != 2:
        raise AssertionError(f"Expected spec to have 2 children, but got {spec.num_children}")
    names = spec.child(1).context
    if spec.child(1).type is not dict:
        raise AssertionError(f"Expected kwargs_spec type to be dict, but got {spec.child(1).type}")
    if set(user_kwargs) != set(names):
        raise ValueError(
            "Ran into a kwarg keyword mismatch: Got the following keywords "
            f"{list(user_kwargs)} but expected {names}"
        )
    return {name: user_kwargs[name] for name in names}


def in_order(value: Any, spec: Tree) -> Any:
    """A value whose dicts have their keys in the order of a structure, where they have the same keys."""
    if type(value) is not spec.type or spec.is_leaf():
        return value
    if isinstance(value, dict) and not isinstance(value, OrderedDict):
        keys = spec.keys or ()
        if set(keys) != set(value):
            return value
        ordered = copy.copy(value)
        ordered.clear()
        ordered.update((key, in_order(value[key], c)) for key, c in zip(keys, spec.children(), strict=True))
        return ordered
    if type(value) in (tuple, list) and len(value) == spec.num_children:
        return type(value)(in_order(v, child) for v, child in zip(value, spec.children(), strict=True))
    return value


def is_equivalent(spec1: Tree, spec2: Tree, equivalence_fn: Callable[[Any, Any, Any, Any], bool]) -> bool:
    """Whether two structures are alike: equivalence_fn(type, context, other type, other context) says so of
    each node, and nodes have as many children.
    """
    if not equivalence_fn(spec1.type, spec1.context, spec2.type, spec2.context):
        return False
    if spec1.num_children != spec2.num_children:
        return False
    pairs = zip(spec1.children(), spec2.children(), strict=True)
    return all(is_equivalent(one, other, equivalence_fn) for one, other in pairs)
