"""Types as stubs write them: annotations of the source, resolved; and what parameters are by their names.

An annotation says what it says. Where it is missing, or is Any, the house's words for arguments decide
(words.tsv: a type, and the names of parameters, or after "->" of functions, that stand for it).
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
_PLAIN = (int, float, bool, str, type(None))
# Where the framework's types come from; all else that a type names is found in the module that writes it.
HOMES = {
    "Tensor": "rushlight",
    "Size": "rushlight._engine.core.size",
    "device": "rushlight._engine.core.device",
    "dtype": "rushlight._engine.core.dtype",
    "memory_format": "rushlight._engine.tensors.geometry",
    "layout": "rushlight._engine.tensors.geometry",
    "Generator": "rushlight._engine.tensors.generator",
    "Parameter": "rushlight.nn.parameter",
    "Module": "rushlight.nn.modules.module",
    "Node": "rushlight._engine.autograd.node",
    "UntypedStorage": "rushlight._engine.tensors.storages.untyped",
    "TypedStorage": "rushlight._engine.tensors.storages.typed",
    "RemovableHandle": "rushlight.utils.hooks",
    "ParamsT": "rushlight.optim.optimizer",
    "Any": "typing",
    "Literal": "typing",
    "overload": "typing",
    "Self": "typing",
    "NamedTuple": "typing",
    "final": "typing",
    "ClassVar": "typing",
    "Callable": "collections.abc",
    "Sequence": "collections.abc",
    "Iterable": "collections.abc",
    "Iterator": "collections.abc",
    "Mapping": "collections.abc",
}
# A class whose stub does not lie beside its source.
_TOLD_IN = {("rushlight._engine.tensors.tensor", "Tensor"): "rushlight"}
_RENAMED = {"memory_format": "MemoryFormat", "layout": "StorageLayout"}
# Mixins of Tensor, which a stub tells as one class, and what programs know as tensors.
_ONE = dict.fromkeys(("Geometry", "Operators", "Conversion", "Gradient", "SparseTensor"), "Tensor")


@cache
def words() -> tuple[dict[str, str], dict[str, str]]:
    """The types of parameters, and of results of functions, by name."""
    parameters: dict[str, str] = {}
    results: dict[str, str] = {}
    for line in (HERE / "words.tsv").read_text(encoding="utf-8").splitlines():
        kind, names = line.split("\t")
        into, names = (results, names[2:]) if names.startswith("->") else (parameters, names)
        into.update(dict.fromkeys(names.split(), kind))
    return parameters, results


@cache
def defined(file: str) -> frozenset[str]:
    """The classes and functions that a file defines."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    return frozenset(n.name for n in ast.walk(tree) if isinstance(n, (ast.ClassDef, ast.FunctionDef)))


@cache
def imports(file: str) -> dict[str, tuple[str, str]]:
    """The names that a file imports, wherever it does: (module, name there, or "" for the module)."""
    found: dict[str, tuple[str, str]] = {}
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0],
                    "",
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                found[alias.asname or alias.name] = (node.module, alias.name)
    return found


class Scope:
    """What one stub imports; `shadowed`: names that mean something else in it, and go by _int, _dtype, ..."""

    def __init__(self, module: str, shadowed: frozenset[str] = frozenset()) -> None:
        self.module, self.shadowed = module, shadowed
        self._from: dict[tuple[str, str], str] = {}
        self._whole: dict[str, str] = {}

    def builtin(self, name: str) -> str:
        """A builtin by the name that it has here."""
        if name not in self.shadowed:
            return name
        return self.name("builtins", name, f"_{name}")

    def name(self, module: str, name: str, spelled: str | None = None) -> str:
        """Import a name; how it is spelled here."""
        module = _TOLD_IN.get((module, name), module)
        if module == self.module:
            return name
        spelled = spelled or (f"_{name}" if name in self.shadowed or name in ("dtype", "device") else name)
        self._from[module, name] = spelled
        return spelled

    def whole(self, module: str, spelled: str) -> str:
        """Import a module under a name."""
        self._whole[spelled] = module
        return spelled

    def home(self, name: str) -> str:
        """Import one of HOMES."""
        real = _RENAMED.get(name, name)
        return self.name(HOMES[name], real, f"_{name}" if name in self.shadowed and real == name else None)

    def lines(self, handed_on: set[str]) -> list[str]:
        """The import statements, in order; but for names that other statements import and hand on."""
        whole = [
            f"import {module}" if module == name else f"import {module} as {name}"
            for name, module in self._whole.items()
        ]
        by: dict[str, list[str]] = {}
        for (module, name), spelled in self._from.items():
            if f"from {module} import {name} as {spelled}" in handed_on:
                continue
            by.setdefault(module, []).append(name if name == spelled else f"{name} as {spelled}")
        return sorted(whole) + [
            f"from {module} import {', '.join(sorted(by[module]))}" for module in sorted(by)
        ]

    # --- types ------------------------------------------------------------------------------------

    def house(self, text: str) -> str:
        """A type written with builtins and the names of HOMES alone, as words.tsv and rows write them."""
        return ast.unparse(_House(self).visit(ast.parse(text, mode="eval")))

    def source(self, text: str, file: str, module: str) -> str | None:
        """An annotation of a source file; None where it tells nothing, or names what cannot be imported."""
        try:
            tree = ast.parse(text.strip("'\""), mode="eval")
            found = ast.unparse(_Source(self, imports(file), module).visit(tree))
        except (SyntaxError, LookupError):
            return None
        return None if found in ("Any", "") else found


class _House(ast.NodeTransformer):
    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id in HOMES:
            return ast.Name(self.scope.home(node.id))
        if hasattr(builtins, node.id):
            return ast.Name(self.scope.builtin(node.id))
        raise LookupError(node.id)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        literal = isinstance(node.value, ast.Name) and node.value.id == "Literal"
        node.value = self.visit(node.value)
        node.slice = node.slice if literal else self.visit(node.slice)
        return node


class _Source(_House):
    def __init__(self, scope: Scope, imported: dict[str, tuple[str, str]], module: str) -> None:
        super().__init__(scope)
        self.imported, self.module = imported, module

    def visit_Constant(self, node: ast.Constant) -> Any:
        return self.visit(ast.parse(node.value, mode="eval").body) if isinstance(node.value, str) else node

    def visit_Name(self, node: ast.Name) -> Any:
        name = _ONE.get(node.id, node.id)
        if name == "Tensor":
            return super().visit_Name(ast.Name("Tensor"))
        if name in self.imported:
            module, real = self.imported[name]
            if not real:
                return ast.Name(self.scope.whole(module, name))
            return ast.Name(self.scope.name(module, real, None if real == name else name))
        if hasattr(sys.modules[self.module], name) and not hasattr(builtins, name):
            return ast.Name(self.scope.name(self.module, name))
        if hasattr(builtins, name):
            return ast.Name(self.scope.builtin(name))
        raise LookupError(name)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        if isinstance(node.value, ast.Name):
            module = self.imported.get(node.value.id, ("", ""))[0]
            if module == "rushlight" and node.attr in HOMES:
                return ast.Name(self.scope.home(node.attr))
        node.value = self.visit(node.value)
        return node


def parameter(scope: Scope, p: inspect.Parameter, file: str, module: str, stubbed: str = "") -> str:
    """The type of a parameter: its annotation's, else its name's, else its default's."""
    noted = p.annotation if isinstance(p.annotation, str) else getattr(p.annotation, "__name__", "")
    found = None if p.annotation is p.empty else scope.source(noted, file, module)
    if found:
        return found
    if p.name == "other" and stubbed in ("__eq__", "__ne__"):
        return scope.builtin("object")
    by_name = words()[0].get(p.name)
    if by_name and p.kind is not p.VAR_KEYWORD:
        kind = scope.house(by_name)
        return f"{kind} | None" if p.default is None and "None" not in kind and kind != "Any" else kind
    if p.default is not p.empty and p.default is not None and type(p.default) in _PLAIN:
        return scope.builtin(
            "float" if type(p.default) is int and p.annotation is p.empty else type(p.default).__name__
        )
    return scope.home("Any")


def result(scope: Scope, function: Any, name: str, file: str, module: str) -> str:
    """The type of a function's result: its annotation's, else its name's."""
    if name == "__init__":
        return "None"
    noted = inspect.unwrap(function).__annotations__.get("return")
    if noted is None and name in ("__setitem__", "__delitem__", "__setattr__", "__delattr__", "__setstate__"):
        return "None"
    noted = noted if isinstance(noted, str) else getattr(noted, "__name__", None)
    found = None if noted is None else scope.source(noted, file, module)
    if inspect.isgeneratorfunction(inspect.unwrap(function)) and not inspect.isgeneratorfunction(function):
        # @contextmanager: what it gives, with the block's value.
        manager = scope.name("contextlib", "_GeneratorContextManager")
        return f"{manager}[{(found or '').partition('[')[2].rstrip(']') or scope.home('Any')}]"
    by_name = None if name in ("dtype", "device") else words()[1].get(name)
    return found or (scope.house(by_name) if by_name else scope.home("Any"))


def default(value: Any) -> str:
    """A default as a stub shows it, where that is short and plain."""
    if type(value) in _PLAIN and not (isinstance(value, float) and value != value):
        text = repr(value)
        return "..." if len(text) > 40 or "inf" in text else text
    if type(value) is tuple and len(value) < 5 and all(type(v) in _PLAIN for v in value):
        return repr(value)
    return "..."
