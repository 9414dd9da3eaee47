"""Types under another name: files that hand on a package's names, for checkers that read `import torch`.

A checker runs nothing, so it has to find torch.nn.functional as a file; that file says that its names are
Rushlight's. Files are .py, since checkers warn of a module that has a stub and no source; Python reads none
of them. The package's own is a stub, beside the one that Python runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from rushlight._engine.names.alternatives import homes

# What PyTorch's programs know nothing of.
_INSIDE = frozenset(
    "_engine _torch_dispatch as_torch ops array_api aliases launcher standin run checkpointing".split()
)


def stubs(package: Path, name: str) -> dict[str, str]:
    """The files of `name` (torch) by their paths: each hands on a module of `package` (rushlight)."""
    own = package.name
    found = {f"{name}/py.typed": ""}
    for file in sorted(package.rglob("*.py*")):
        path = file.relative_to(package)
        if file.suffix not in (".py", ".pyi") or path.parts[0].removesuffix(".py") in _INSIDE:
            continue
        if file.suffix == ".py" and (file.with_suffix(".pyi").exists() or file.stem == "__main__"):
            continue
        there = path.with_suffix(".pyi" if path.with_suffix("").as_posix() == "__init__" else ".py")
        found[f"{name}/{there.as_posix()}"] = _handed_on(file, _module(own, path))
    for other, home in homes().items() if own == "rushlight" else ():
        source = _file(package, home)
        if source is not None:
            module = ".".join(filter(None, (own, home)))
            found.setdefault(f"{name}/{other.replace('.', '/')}.py", _handed_on(source, module))
    return found


def _module(own: str, path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join((own, *(parts[:-1] if parts[-1] == "__init__" else parts)))


def _file(package: Path, home: str) -> Path | None:
    """Where a module's types are read: its stub, or its source."""
    place = package.joinpath(*filter(None, home.split(".")))
    if home:
        tries = [place.with_name(f"{place.name}.pyi"), place.with_name(f"{place.name}.py")]
    else:
        tries = []
    return next((f for f in (*tries, place / "__init__.pyi", place / "__init__.py") if f.exists()), None)


def _handed_on(file: Path, module: str) -> str:
    """A stub's text: an import of every name, so that no __all__ keeps one back."""
    names = sorted(set(_names(ast.parse(file.read_text(encoding="utf-8")), file.suffix == ".pyi")))
    return "".join(f"from {module} import {name} as {name}\n" for name in names)


def _names(tree: ast.Module, stub: bool) -> Iterator[str]:
    """What a file has under its own names; of what it imports, only what it hands on."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.ImportFrom):
            yield from (a.name for a in node.names if a.asname == a.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if (
                    isinstance(target, ast.Name)
                    and target.id == "__all__"
                    and isinstance(node.value, (ast.List, ast.Tuple))
                ):
                    yield from (str(e.value) for e in node.value.elts if isinstance(e, ast.Constant))
                parts = target.elts if isinstance(target, ast.Tuple) else [target]
                yield from (
                    t.id for t in parts if isinstance(t, ast.Name) and (stub or not t.id.startswith("__"))
                )
