"""TorchScript that is given as text, and modules that say themselves which of their methods are compiled."""

from __future__ import annotations

import ast
import builtins
import re
import sys
import textwrap
import typing
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight.jit.annotations import Future
from rushlight.jit.compiler.names import Names, build, unique
from rushlight.jit.compiler.scopes import NOTHING
from rushlight.jit.frontend import Source
from rushlight.jit.modules import ScriptFunction
from rushlight.jit.program.ir import Function

_ALWAYS: dict[str, Any] = {
    "torch": torch,
    "Tensor": torch.Tensor,
    "Future": Future,
    **{name: getattr(typing, name) for name in ("Any", "Dict", "List", "Optional", "Tuple", "Union")},
}


def definitions(text: str) -> tuple[list[ast.FunctionDef], Source]:
    """The functions that a text defines, and the text; RuntimeError where it is something else."""
    source = Source(textwrap.dedent(text))
    try:
        found = ast.parse("\n".join(source.lines)).body
    except SyntaxError as error:
        raise _no_token(error, source) from None
    for node in found:
        if not isinstance(node, ast.FunctionDef):
            raise RuntimeError(f"\nexpected def but found {type(node).__name__} here:\n{source.show(node)}")
        _check_exits(node.body, False, source)
    return typing.cast("list[ast.FunctionDef]", found), source


def _no_token(error: SyntaxError, source: Source) -> RuntimeError:
    """What PyTorch's parser says of a text that is no Python."""
    place = ast.Constant(0, lineno=error.lineno or 1, col_offset=max((error.offset or 1) - 1, 0))
    place.end_lineno, place.end_col_offset = place.lineno, place.col_offset + 1
    line = (source.lines[place.lineno - 1 : place.lineno] or [""])[0]
    before, sign = line[: place.col_offset], line[place.col_offset :][:1]
    opened = [c for c in before if c in _BRACKETS]
    if error.msg.startswith("cannot assign to"):
        starred = before.rstrip().endswith("*")
        told = "Cannot pack a tuple into a non-variable" if starred else _NO_TARGET
    elif "illegal expression for augmented assignment" in error.msg:
        told = "augmented assignment can only have one LHS expression"
    elif "forgot a comma" in error.msg and opened:
        told = f"expected {_BRACKETS[opened[-1]]} but found '{_kind(line[: error.end_offset])}' here"
    else:
        told = f"expected a valid token but found '{sign}' here: {error.msg}"
    return RuntimeError(f"{told}:\n{source.show(place)}")


_BRACKETS = {"[": "]", "(": ")", "{": "}"}
_NO_TARGET = "unexpected expression on left-hand side of assignment"


def _kind(text: str) -> str:
    """What PyTorch calls the last word of a text."""
    word = re.split(r"[^\w.]", text.rstrip(" ])}\n"))[-1]
    return "ident" if word.isidentifier() else "number" if word[:1].isdigit() else word


def _check_exits(body: list[ast.stmt], loop: bool, source: Source) -> None:
    """Raise for break and continue outside loops, which Python's parser lets pass."""
    for node in body:
        if isinstance(node, (ast.Break, ast.Continue)) and not loop:
            word = type(node).__name__.lower()
            raise RuntimeError(f"\nSyntaxError: '{word}' outside loop:\n{source.show(node)}")
        inside = isinstance(node, (ast.For, ast.While)) or (loop and not isinstance(node, ast.FunctionDef))
        _check_exits([*getattr(node, "body", []), *getattr(node, "orelse", [])], inside, source)


def scope_of_frame(frame: Any) -> Callable[[str], Any]:
    """How names in a text are looked up: among the variables of who defines it, then Python's own."""
    known, around = frame.f_locals, frame.f_globals

    def look(name: str) -> Any:
        for table in (known, around, _ALWAYS):
            if name in table:
                return table[name]
        return getattr(builtins, name, NOTHING)

    return look


class CompilationUnit:
    """Functions that are compiled from a text; each is an attribute. They may call those before them."""

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        self._functions: dict[str, ScriptFunction] = {}
        if lang is not None:
            self.define(lang, _frames_up=_frames_up + 1)

    def define(self, lang: str, rcb: Callable[[str], Any] | None = None, _frames_up: int = 0) -> None:
        """Compile the functions of a text. rcb(name): what else a name stands for, by default a variable of
        the caller. Raises RuntimeError where the text is no TorchScript.
        """
        outside = scope_of_frame(sys._getframe(1 + _frames_up)) if rcb is None else _asking(rcb)
        trees, source = definitions(lang)
        waiting = {tree.name: tree for tree in trees}

        def look(name: str) -> Any:
            tree = waiting.pop(name, None)
            if tree is not None:
                made = build(tree, source, Names(look), unique(f"__torch__.{name}"), None, {})
                self._functions[name] = ScriptFunction(made)
            return self._functions.get(name) or outside(name)

        for tree in trees:
            if tree.name in self._functions and tree.name in waiting:
                raise RuntimeError(f"method '{tree.name}' already defined.")
            look(tree.name)

    def create_function(self, qualified_name: str, graph: Any) -> ScriptFunction:
        """A function that runs a graph, under a name."""
        from rushlight.jit.passes.basic import function_of  # it imports much that few programs need

        self._functions[qualified_name] = made = function_of(qualified_name.rpartition(".")[2], graph)
        made.qualified_name = qualified_name
        return made

    def get_functions(self) -> list[ScriptFunction]:
        """All functions, in order."""
        return list(self._functions.values())

    def find_function(self, name: str) -> ScriptFunction | None:
        """A function by its name; None where there is none."""
        return self._functions.get(name)

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__.get("_functions", {}).get(name)
        if found is None:
            raise AttributeError(f"'CompilationUnit' has no attribute '{name}'")
        return found


CompilationUnit.__module__ = "torch.jit"


def _asking(rcb: Callable[[str], Any]) -> Callable[[str], Any]:
    """A callback's answers, where None stands for nothing."""

    def look(name: str) -> Any:
        found = rcb(name)
        return _ALWAYS.get(name, getattr(builtins, name, NOTHING)) if found is None else found

    return look


__all__ = ["CompilationUnit", "Function", "definitions", "scope_of_frame"]
