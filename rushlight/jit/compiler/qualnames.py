"""Names of functions and classes in code, which are each other's own."""

from __future__ import annotations

import re
from typing import Any

_taken: dict[str, int] = {}
known_types: dict[Any, Any] = {}  # the types of modules, which like modules share
_tuples: dict[str, object] = {}  # what fields named tuples have
_read: dict[str, object] = {}  # ... those of files, each of which has names of its own


def unique(name: str) -> str:
    """A qualified name that no other function or class has, in PyTorch's spelling."""
    count = _taken.get(name)
    _taken[name] = 0 if count is None else count + 1
    if count is None:
        return name
    space, _, last = re.sub(r"\.___torch_mangle_\d+(?=\.)", "", name).rpartition(".")
    _taken["mangled"] = number = _taken.get("mangled", -1) + 1
    return f"{space}.___torch_mangle_{number}.{last}"


def claim(name: str, fields: object) -> None:
    """Say what fields the named tuple of a qualified name has; RuntimeError where it had others."""
    if _tuples.setdefault(name, fields) != fields:
        raise RuntimeError(f"Can't redefine NamedTuple: {name}")


def free_for(name: str, fields: object) -> str:
    """The name of a named tuple of a file: its own, or another where one with other fields is called so."""
    if _tuples.get(name, fields) == fields and _read.setdefault(name, fields) == fields:
        return name
    _taken.setdefault(name, 0)  # so that it gets another name
    return unique(name)


def forget_names() -> None:
    """Let names of functions and classes begin anew, as in a fresh program, and types of modules."""
    known_types.clear()
    _taken.clear()
    _tuples.clear()
    _read.clear()
