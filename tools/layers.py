"""The layer checker: a room of the package imports only itself and rooms above it.

    python tools/layers.py        prints every import that points the wrong way; exit 1 if any
"""
from __future__ import annotations

import ast
import sys
from pathlib import Path

PACKAGE = "rushlight"
# From the top: each room may import those before it. Modules of the package's root (random.py,
# launcher.py, ...) and the rooms with PyTorch's names are user rooms: they may import anything.
ROOMS = ("base", "ops", "derive", "compiler", "tensor", "autograd", "dispatch", "devices", "transforms",
         "serialize", "capture")

# (importing file, imported room): why this one may point down. The number of rows only falls.
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("ops/__main__.py", "user rooms"): "the command line of the table loads the whole package",
    ("ops/__main__.py", "derive"): "the command line of the table prints cards",
    ("tensor/gradient.py", "autograd"): "a leaf's node; the engine and hooks when they are called",
    ("autograd/forward_ad.py", "transforms"): "PyTorch names this module; duals are made there",
    ("autograd/forward_ad.py", "user rooms"): "make_dual checks as func.jvp does",
    ("autograd/functional.py", "user rooms"): "PyTorch names this module; forward mode is torch.func's",
    ("autograd/savedvalues.py", "dispatch"): "it reads what the rows' nodes keep",
    ("autograd/function.py", "dispatch"): "custom Functions keep tensors as the rows' nodes do",
}


def room_of(module: str) -> str | None:
    """The engine room that a dotted module name lies in, or None for user rooms."""
    parts = module.split(".")
    if len(parts) > 1 and parts[0] == PACKAGE and parts[1] in ROOMS:
        return parts[1]
    return None


def imports(path: Path) -> list[tuple[int, str]]:
    """(line, module) of every import of the package in a file, also those inside functions."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # `from rushlight.tensor import printing` names a module too.
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return [(line, name) for line, name in found if name.split(".")[0] == PACKAGE]


def violations(root: Path) -> list[str]:
    """Every import that points to a lower room or to a user room."""
    found = []
    for path in sorted((root / PACKAGE).rglob("*.py")):
        relative = path.relative_to(root / PACKAGE)
        room = relative.parts[0] if relative.parts[0] in ROOMS else None
        if room is None:
            continue
        for line, name in imports(path):
            target = room_of(name) or "user rooms"
            allowed = target in ROOMS and ROOMS.index(target) <= ROOMS.index(room)
            if not allowed and (relative.as_posix(), target) not in EXCEPTIONS:
                found.append(f"{PACKAGE}/{relative}:{line}: {room}/ imports {name} ({target})")
    return found


def main() -> int:
    """Print the violations; the exit status says whether there are any."""
    found = violations(Path(__file__).resolve().parent.parent)
    print("\n".join(found) or "layers: every import points up")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
