"""torch._dynamo.funcname_cache: which function or class a line of a file is in."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def get_funcname(filename: str, lineno: int) -> str:
    """The dotted name of the innermost function or class that a line is in; "" outside of all, and for a file
    that is not there or no Python.
    """
    names = _names(filename)
    return names[lineno - 1] if 0 < lineno <= len(names) else ""


def clearcache() -> None:
    """Forget what is known of files."""
    _names.cache_clear()


@lru_cache(maxsize=256)
def _names(filename: str) -> list[str]:
    """A name for each line of a file."""
    lines = linecache.getlines(filename)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return []
    names = [""] * len(lines)
    rest: list[tuple[ast.AST, str]] = [(tree, "")]
    while rest:  # what is within comes after what it is in
        node, path = rest.pop()
        if isinstance(node, _SCOPES):
            path = f"{path}.{node.name}".lstrip(".")
            end = node.end_lineno or node.lineno
            while end < len(lines) and not lines[end].strip():
                end += 1  # blank lines behind a scope belong to it
            names[node.lineno - 1 : end] = [path] * (end - node.lineno + 1)
        rest += [(child, path) for child in ast.iter_child_nodes(node)]
    return names
