"""torch.nn's functions and modules, spelled in TorchScript."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from rushlight.jit.frontend import Source


@cache
def library() -> tuple[dict[str, ast.FunctionDef], Source]:
    """The definitions in library.torchscript, methods by "Class.method"; more of one name are numbered from
    2 on: "functional.tensordot.2".
    """
    text = (Path(__file__).parent / "library.torchscript").read_text(encoding="utf-8")
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    key, more = f"{node.name}.{inner.name}", 1
                    while key in found:
                        more += 1
                        key = f"{node.name}.{inner.name}.{more}"
                    found[key] = inner
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = node
    return found, Source(text, "torch/nn/functional.py")
