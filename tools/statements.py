"""The tree of a file, and its statements, for checks that ask nothing of its expressions."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator


def parsed(text: str) -> ast.Module:
    """The tree of a file's text.

    The collector waits: trees have no cycles, and to walk those that are kept takes longer than to parse.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(text)
    finally:
        if enabled:
            gc.enable()


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """A tree and all statements in it, at any depth, in ast.walk's order; handlers and cases among them.

    Expressions are nine tenths of a tree, and hold no statements.
    """
    waiting, begun = [tree], 0
    while begun < len(waiting):
        node = waiting[begun]
        begun += 1
        for name in ("body", "handlers", "orelse", "finalbody", "cases"):
            below = getattr(node, name, None)
            if isinstance(below, list):
                waiting += below
        yield node
