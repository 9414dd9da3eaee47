"""What the text of exported programs calls to take arguments apart and put results together."""

from __future__ import annotations

from typing import Any

from rushlight._engine.core.pytree import Tree, flatten


def tree_flatten_spec(given: tuple[list[Any], dict[str, Any]], spec: Tree) -> list[Any]:
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
