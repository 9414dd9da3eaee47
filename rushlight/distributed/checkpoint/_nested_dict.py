"""Nested dicts as one dict of dotted names, and back (torch.distributed.checkpoint._nested_dict)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rushlight.distributed.checkpoint._traverse import Path, set_element, traverse_state_dict

__all__ = ["flatten_state_dict", "unflatten_state_dict"]


def flatten_state_dict(state_dict: Mapping[Any, Any]) -> tuple[dict[str, Any], dict[str, Path]]:
    """({"a.b.0": value}, {"a.b.0": ("a", "b", 0)}) of nested dicts, and of lists of tensors or dicts."""
    flat: dict[str, Any] = {}
    paths: dict[str, Path] = {}

    def visit(path: Path, value: Any) -> None:
        name = ".".join(map(str, path))
        if name in flat:
            raise ValueError(f"duplicated flatten key {name}")
        flat[name], paths[name] = value, path

    traverse_state_dict(state_dict, visit)
    return flat, paths


def unflatten_state_dict(state_dict: Mapping[str, Any], mapping: Mapping[str, Path]) -> dict[str, Any]:
    """The nested dicts of flatten_state_dict's two answers."""
    nested: dict[str, Any] = {}
    for name, value in state_dict.items():
        set_element(nested, mapping[name], value)
    return nested
