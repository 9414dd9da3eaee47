"""What names stand for around a function that is compiled."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from contextlib import suppress
from typing import Any

NOTHING: Any = object()


def scope_of(function: Any, around: Callable[[str], Any] | None = None) -> Callable[[str], Any]:
    """How a function's names are looked up: what it closes over, its module, Python's own, then `around`."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

    def look(name: str) -> Any:
        with suppress(KeyError, ValueError):  # a cell is empty while the class that it is for is being made
            return cells[name].cell_contents
        found = function.__globals__.get(name, getattr(builtins, name, NOTHING))
        return around(name) if found is NOTHING and around is not None else found

    return look


def annotated(function: Any, tree: ast.FunctionDef) -> Callable[[str], Any]:
    """What the names of annotations stood for where the function was defined, which it may not close over."""
    notes = {a.arg: a.annotation for a in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)}
    notes["return"] = tree.returns
    known = {
        note.id: function.__annotations__.get(name, NOTHING)
        for name, note in notes.items()
        if isinstance(note, ast.Name)
    }
    return lambda name: NOTHING if isinstance(known.get(name), str) else known.get(name, NOTHING)
