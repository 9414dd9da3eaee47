"""The layer checker: a folder of the engine imports only itself and folders above it, in small circles.

python tools/layers.py        prints every import that points the wrong way, every circle of more than
                              twelve files, every import of a package that an installation does not bring,
                              and every import inside a function, or for annotations alone, that does not
                              say why it stands there; exit 1 if any
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from statements import parsed, statements

PACKAGE = "rushlight"
ENGINE = "_engine"
# From the top: each folder of the engine may import those before it. Everything beside the engine is the
# public storey, which bears PyTorch's names: it may import anything, and the engine imports nothing of it.
FOLDERS = (
    "lazy",
    "core",
    "names",
    "numerics",
    "ops",
    "derive",
    "kernels",
    "tensors",
    "autograd",
    "dispatch",
    "devices",
    "transforms",
    "serialization",
    "trace",
)
PUBLIC = "the public storey"
# It loads by name what others mention, and stands on nothing of it.
LOADER = "lazy.py"

# (importing file, imported folder): why this one may point down. The number of rows only falls.
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("tensors/gradient.py", "autograd"): "a leaf's node; the engine and hooks when they are called",
    ("autograd/saved_values.py", "dispatch"): "it reads what the rows' nodes keep",
    ("autograd/function.py", "dispatch"): "custom Functions keep tensors as the rows' nodes do",
}


def folder_of(module: str) -> str:
    """The folder of the engine that a dotted module name lies in, or PUBLIC."""
    parts = module.split(".")
    if parts[:2] == [PACKAGE, ENGINE] and len(parts) > 2:
        return "lazy" if parts[2] == "load_listeners" else parts[2]
    return PUBLIC


class Imports(NamedTuple):
    """What a file imports."""

    all: list[tuple[int, str]]  # (line, module) of the package, also inside functions, and by name
    top: set[str]  # what importing it imports: not what stands in its functions, or is for annotations alone
    late: set[int]  # the lines of the package's inside functions, and of `if TYPE_CHECKING:`


@cache
def imports(path: Path) -> Imports:
    """What a file imports; each check of a run asks for it."""
    text = path.read_text(encoding="utf-8")
    tree = parsed(text)
    found: list[tuple[int, str]] = []
    late: set[int] = set()
    for node in statements(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # `from rushlight._engine.tensors import printing` names a module too.
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.If) and _for_annotations(node):
            late.add(node.lineno)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            late |= _late_imports(node)
    if path.name != LOADER and "import_module" in text:
        found += [name for node in ast.walk(tree) if isinstance(node, ast.Call) for name in _by_name(node)]
    return Imports([(n, name) for n, name in found if name.split(".")[0] == PACKAGE], at_the_top(tree), late)


def _by_name(call: ast.Call) -> list[tuple[int, str]]:
    f = call.func
    called = f.id if isinstance(f, ast.Name) else f.attr if isinstance(f, ast.Attribute) else ""
    named = call.args[0] if called.endswith("import_module") and call.args else None
    return [(call.lineno, str(named.value))] if isinstance(named, ast.Constant) else []


def _for_annotations(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def violations(root: Path) -> list[str]:
    """Every import of the engine that points to a lower folder or out of the engine."""
    found = []
    engine = root / PACKAGE / ENGINE
    for path in sorted(engine.rglob("*.py")):
        relative = path.relative_to(engine)
        folder = folder_of(".".join((PACKAGE, ENGINE, *relative.with_suffix("").parts)))
        if folder == "__init__":
            continue
        for line, name in imports(path).all:
            target = folder_of(name)
            allowed = target in FOLDERS and FOLDERS.index(target) <= FOLDERS.index(folder)
            if not allowed and (relative.as_posix(), target) not in EXCEPTIONS:
                found.append(f"{PACKAGE}/{ENGINE}/{relative}:{line}: {folder}/ imports {name} ({target})")
    return found


# Files that are about another package, which they import at their top; what loads them sees that it is there.
ABOUT_ANOTHER = {
    "rushlight/onnx/model.py": "onnx",
    "rushlight/onnx/builder.py": "onnx",
    "rushlight/distributed/checkpoint/_fsspec_filesystem.py": "fsspec",
    "rushlight/as_torch/functorch/__init__.py": "torch functorch",
    "rushlight/as_torch/torchvision/__init__.py": "torch torchvision",
}


def undeclared(root: Path) -> list[str]:
    """Imports, at the top of files, of packages that `dependencies` in pyproject.toml does not name."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    brought = {re.split(r"[^\w-]", name)[0] for name in project["dependencies"]}
    brought |= {*sys.stdlib_module_names, PACKAGE, "rushlight_audio", "rushlight_vision"}
    found = []
    for package in (PACKAGE, "rushlight_audio", "rushlight_vision"):
        for path in sorted((root / package).rglob("*.py")):
            asked = {name.split(".")[0] for name in imports(path).top}
            name = path.relative_to(root).as_posix()
            for missing in sorted(asked - brought - {*ABOUT_ANOTHER.get(name, "").split()}):
                found.append(f"{name}: imports {missing}, which an installation does not bring")
    return found


LARGEST_CIRCLE = 12


def at_the_top(tree: ast.Module) -> set[str]:
    """What importing a file imports: not what stands in its functions, or is for annotations alone."""
    found: set[str] = set()
    waiting: list[ast.stmt] = [*tree.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, (ast.If, ast.Try)):
            annotations = isinstance(node, ast.If) and _for_annotations(node)
            waiting += node.orelse if annotations else [*node.body, *node.orelse]
    return found


def graph(root: Path) -> dict[str, set[str]]:
    """Which modules of the package each of them imports as it is imported itself."""
    files = {path.relative_to(root).with_suffix(""): path for path in (root / PACKAGE).rglob("*.py")}
    named = {".".join(name.parts).removesuffix(".__init__"): path for name, path in files.items()}
    made: dict[str, set[str]] = {}
    for module, path in named.items():
        asked = imports(path).top
        targets = {name if name in named else name.rpartition(".")[0] for name in asked}
        made[module] = (targets & named.keys()) - {module, PACKAGE}
    return made


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """The sets of modules that reach each other, largest first."""
    reached = {module: _reached(edges, module) for module in edges}
    found = {
        tuple(sorted(other for other in reached[module] if module in reached[other]))
        for module in edges
        if module in reached[module]
    }
    return sorted(map(list, found), key=len, reverse=True)


def _reached(edges: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [*edges[start]]
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += edges[module]
    return seen


def unexplained(root: Path) -> list[str]:
    """Imports of the package that are not at the top of their file, without a comment there or above them."""
    found = []
    for path in sorted((root / PACKAGE).rglob("*.py")):
        late = sorted(imports(path).late)
        lines = path.read_text(encoding="utf-8").splitlines() if late else []
        for line in late:
            if not _is_explained(lines, line - 1):
                found.append(
                    f"{path.relative_to(root)}:{line}: a late import that does not say why it is late"
                )
    return found


def _late_imports(f: ast.FunctionDef | ast.AsyncFunctionDef) -> set[int]:
    """The lines of the package's imports inside a function."""
    return {
        part.lineno
        for part in statements(f)
        if isinstance(part, ast.ImportFrom) and (part.module or "").split(".")[0] == PACKAGE
    }


def _is_explained(lines: list[str], index: int) -> bool:
    """Whether a comment stands on a line, or above it with nothing but other imports in between."""
    while index >= 0 and lines[index].lstrip().startswith(("from ", "import ", "if TYPE_CHECKING")):
        if "#" in lines[index]:
            return True
        index -= 1
    return index >= 0 and lines[index].lstrip().startswith("#")


def main() -> int:
    """Print the violations; the exit status says whether there are any."""
    root = Path(__file__).resolve().parent.parent
    found = violations(root) + undeclared(root) + unexplained(root)
    for circle in circles(graph(root)):
        if len(circle) > LARGEST_CIRCLE:
            found.append(f"a circle of {len(circle)} files: {', '.join(circle)}")
    print("\n".join(found) or "layers: every import points up, and late ones say why")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
