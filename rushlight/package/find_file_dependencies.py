"""What a text of Python imports."""

from __future__ import annotations

import ast
from typing import Any

from rushlight.package._importlib import _resolve_name


def find_files_source_depends_on(src: str, package: str) -> list[tuple[str, str | None]]:
    """The imports in a text, as pairs (module, name within it or None), each once.

    package: what relative imports start from. ImportError for a relative import that leaves the package.
    """
    finder = _Imports(package)
    finder.visit(ast.parse(src))
    return list(finder.references)


class _Imports(ast.NodeVisitor):
    """Collects imports, also those by calls of __import__ with constants."""

    def __init__(self, package: str) -> None:
        self._package = package
        self.references: dict[tuple[str, str | None], bool] = {}

    def visit_Import(self, node: ast.Import) -> None:
        """import a.b"""
        for alias in node.names:
            self.references[alias.name, None] = True

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """from a.b import c"""
        self._from(node.module or "", [alias.name for alias in node.names], node.level)

    def visit_Call(self, node: ast.Call) -> None:
        """__import__("a.b", fromlist=["c"])"""
        if isinstance(node.func, ast.Name) and node.func.id == "__import__":
            try:
                self._called(node)
            except (ImportError, TypeError, ValueError):  # not with constants: nobody knows what
                return
        self.generic_visit(node)

    def _called(self, node: ast.Call) -> None:
        given: dict[str, Any] = dict(
            zip(("name", "globals", "locals", "fromlist", "level"), node.args, strict=False)
        )
        given.update({k.arg: k.value for k in node.keywords if k.arg})
        name = ast.literal_eval(given["name"]) if "name" in given else None
        level = ast.literal_eval(given["level"]) if "level" in given else 0
        names = ast.literal_eval(given["fromlist"]) if "fromlist" in given else ()
        if not isinstance(name, str):
            raise TypeError("expected a module's name")
        if names:
            self._from(name, list(names), level)
        else:
            self.references[_resolve_name(name, self._package, level) if level else name, None] = True

    def _from(self, module: str, names: list[str], level: int) -> None:
        if level:
            module = _resolve_name(module, self._package, level)
        for name in names:
            self.references[module, None if name == "*" else name] = True


__all__ = ["find_files_source_depends_on"]
