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
    except SyntaxError:
        return []
    names = [""] * len(lines)
    _fill(tree, "", lines, names)
    return names


def _fill(node: ast.AST, path: str, lines: list[str], names: list[str]) -> None:
    """Write the scopes below a node into `names`; blank lines behind a scope belong to it."""
    for child in ast.iter_child_nodes(node):
        inner = path
        if isinstance(child, _SCOPES):
            inner = f"{path}.{child.name}".lstrip(".")
            end = child.end_lineno or child.lineno
            while end < len(lines) and not lines[end].strip():
                end += 1
            names[child.lineno - 1 : end] = [inner] * (end - child.lineno + 1)
        _fill(child, inner, lines, names)
