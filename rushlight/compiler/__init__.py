"""Kernels and how they become machine code: see docs/design.md. Under its name torch.compiler, this package
also answers for what PyTorch has there: reset(), disable(), is_compiling() ...
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PYTORCHS = frozenset(
    (
        "compile",
        "reset",
        "disable",
        "is_compiling",
        "is_exporting",
        "list_backends",
        "cudagraph_mark_step_begin",
        "allow_in_graph",
        "assume_constant_result",
        "set_default_backend",
        "get_default_backend",
    )
)
_SAME = {"is_dynamo_compiling": "is_compiling"}


def __getattr__(name: str) -> Any:
    if name in _PYTORCHS or name in _SAME:
        return getattr(import_module("rushlight._dynamo.api"), _SAME.get(name, name))
    return import_module("rushlight._engine.names.alternatives").attribute("rushlight.compiler", name)
