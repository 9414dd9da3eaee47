"""Nested dicts and lists by the paths of what is in them (torch.distributed.checkpoint._traverse)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import rushlight as torch

__all__ = ["get_element", "set_element", "traverse_state_dict"]

Path = tuple[str | int, ...]


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def traverse_state_dict(
    state_dict: Mapping[Any, Any],
    visitor: Callable[[Path, Any], None],
    keep_traversing: Callable[[Any], bool] = _is_tensor,
) -> None:
    """visitor(path, value) for all that is in nested dicts, by their keys as text.

    A list is one value, unless a part of it is a dict, or such that keep_traversing(part), or such a list.
    """
    _visit(state_dict, (), visitor, keep_traversing)


def _nested(value: Any, keep_traversing: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and any(
        isinstance(part, Mapping) or keep_traversing(part) or _nested(part, keep_traversing) for part in value
    )


def _visit(
    value: Any, path: Path, visitor: Callable[[Path, Any], None], keep_traversing: Callable[[Any], bool]
) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _visit(inner, (*path, str(key)), visitor, keep_traversing)
    elif _nested(value, keep_traversing):
        for number, inner in enumerate(value):
            _visit(inner, (*path, number), visitor, keep_traversing)
    else:
        visitor(path, value)


def set_element(root_dict: Any, path: Path, value: Any) -> None:
    """Put a value at its place in nested dicts and lists, which are made where they are missing."""
    root = root_dict
    for key, below in zip(path[:-1], path[1:], strict=True):
        missing: Any = [] if isinstance(below, int) else {}
        if isinstance(root, dict):
            root = root.setdefault(key, missing)
            continue
        _extend(root, int(key))
        if root[key] is None:
            root[key] = missing
        root = root[key]
    last = path[-1]
    if isinstance(root, list):
        _extend(root, int(last))
        root[int(last)] = value
    else:
        root[next((k for k in root if str(k) == last), last)] = value


def _extend(items: list[Any], index: int) -> None:
    """Let a list have an item at that index."""
    items.extend([None] * (index + 1 - len(items)))


def get_element(root_dict: Any, path: Path, default_value: Any = None) -> Any:
    """What is at a place of nested dicts and lists; the default where nothing is."""
    found = root_dict
    for key in path:
        if isinstance(key, int):
            if not isinstance(found, list) or not -len(found) <= key < len(found):
                return default_value
        elif not isinstance(found, Mapping) or key not in found:
            return default_value
        found = found[key]
    return found
