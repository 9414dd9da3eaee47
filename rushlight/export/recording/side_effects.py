"""What a strictly exported program changes outside of its module: lists, dicts and sets that its forward, and
what that holds, can reach. They are put back, since the exported program does not change them, and told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from rushlight._engine.core.callers import warn
from rushlight.export.recording.state import refill
from rushlight.nn import Module

_CONTAINERS = (list, dict, set)


@contextmanager
def put_back(mod: Any) -> Iterator[None]:
    """A context that puts such containers back, and warns with where they are found."""
    held = [(source, value, value.copy()) for source, value in _reached(mod)]
    yield
    changed = []
    for source, value, before in held:
        if not _same(value, before):
            changed.append(source)
            refill(value, before)
    if changed:
        warn(
            "While compiling, we found certain side effects happened in the model.forward. Here are the list "
            f"of potential sources you can double check: {changed}",
            UserWarning,
        )


def _same(value: Any, before: Any) -> bool:
    """Whether a container holds the same objects as before."""
    if len(value) != len(before):
        return False
    if type(value) is dict:
        return all(k in before and before[k] is v for k, v in value.items())
    return value == before if type(value) is set else all(map(_is, value, before))


def _is(one: Any, other: Any) -> bool:
    return one is other


def variables(function: FunctionType, owner: str = "") -> Iterator[tuple[str, Any]]:
    """What a function's free variables and globals hold, by how a program would write where that is."""
    for i, cell in enumerate(function.__closure__ or ()):
        try:
            yield f"{owner}.__closure__[{i}].cell_contents", cell.cell_contents
        except ValueError:  # a variable that has no value yet
            continue
    known = function.__globals__
    yield from ((f"G['{n}']", known[n]) for n in function.__code__.co_names if n in known)


def _reached(mod: Any) -> Iterator[tuple[str, Any]]:
    """Containers, each once, by how a program would write where they are."""
    forward = getattr(mod, "forward", None)
    plain = getattr(forward, "__func__", forward)
    if not isinstance(plain, FunctionType):
        return
    owner = "L['self']._modules['_export_root'].forward"
    if hasattr(forward, "__func__"):
        owner += ".__func__"
    seen: set[int] = set()
    for source, value in variables(plain, owner):
        parts = [(source, value)]
        if not isinstance(value, (Module, type, *_CONTAINERS)) and type(value).__module__ != "builtins":
            parts = [(f"{source}.{n}", v) for n, v in getattr(value, "__dict__", {}).items()]
        for name, part in parts:
            if type(part) in _CONTAINERS and id(part) not in seen:
                seen.add(id(part))
                yield name, part
