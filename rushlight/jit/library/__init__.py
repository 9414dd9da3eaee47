"""torch.nn's functions and modules as TorchScript: Python files whose definitions torch.jit.script compiles.

They are parsed, never imported: an argument without an annotation is a Tensor, and a name is looked up as in
names.py. What is not here is compiled from its Python, or is an op. Begin with functional.py.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

from rushlight.jit.frontend import Source

_FILES = (
    "functional",
    "pooling",
    "layers",
    "recurrent",
    "attention",
    "helpers",
    "overloads",
    "resizing",
    "sequences",
)


class Definition(NamedTuple):
    """A function of the library and the text that it stands in."""

    tree: ast.FunctionDef
    source: Source


@cache
def library() -> dict[str, Definition]:
    """The definitions, methods by "Class.method"; more of one name are numbered from 2 on:
    "functional.tensordot.2".
    """
    found: dict[str, Definition] = {}
    for file in _FILES:
        text = (Path(__file__).parent / f"{file}.py").read_text(encoding="utf-8")
        source = Source(text, "torch/nn/functional.py")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef):
                found[node.name] = Definition(node, source)
            elif isinstance(node, ast.ClassDef):
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef):
                        found[_free_key(f"{node.name}.{inner.name}", found)] = Definition(inner, source)
    return found


def _free_key(key: str, found: dict[str, Definition]) -> str:
    """The key, numbered where there is such a definition already."""
    if key not in found:
        return key
    number = 2
    while f"{key}.{number}" in found:
        number += 1
    return f"{key}.{number}"
