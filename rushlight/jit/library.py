"""torch.nn's functions and modules, spelled in TorchScript."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from rushlight.jit.frontend import Source


@cache
def library() -> tuple[dict[str, ast.FunctionDef], Source]:
    """The definitions in library.torchscript, methods by "Class.method"."""
    text = (Path(__file__).parent / "library.torchscript").read_text(encoding="utf-8")
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            found.update({f"{node.name}.{f.name}": f for f in node.body if isinstance(f, ast.FunctionDef)})
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = node
    return found, Source(text, "torch/nn/functional.py")
