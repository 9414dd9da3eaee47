"""torch._prims: PyTorch's primitive ops, which promote no dtypes and broadcast no shapes.

`torch._prims.sin` is `torch.ops.prims.sin.default`. Each is declared in `declared.tsv`, and computed by a
function of `formulas` or, of its name there, by an op.
"""

from __future__ import annotations

from importlib import import_module
from importlib.resources import files
from typing import Any

import rushlight as torch
from rushlight import _prims_common as utils  # noqa: F401  (torch._prims.utils)
from rushlight._engine.names.alternatives import attribute
from rushlight._prims.formulas import expand_dims as expand_dims, implementation
from rushlight._prims_common.dtypes import RETURN_TYPE as RETURN_TYPE
from rushlight.library import Library

prim = Library("prims", "DEF")
# Names in Python of ops that are declared under others.
_DECLARED_AS = {"view_element_type": "view_of_dtype", "_uniform_helper": "uniform"}


def _declare() -> list[str]:
    names = []
    text = (files(__name__) / "declared.tsv").read_text(encoding="utf-8")
    for schema in text.splitlines():
        name = prim.define(schema)
        prim.impl(name, implementation(name), "CompositeExplicitAutograd")
        names.append(name)
    return names


_NAMES = frozenset(_declare())


def __getattr__(name: str) -> Any:
    declared = _DECLARED_AS.get(name, name)
    if declared in _NAMES and name not in _DECLARED_AS.values():
        return getattr(getattr(torch.ops, "prims"), declared).default
    if name in ("context", "executor", "rng_prims"):
        return import_module(f"{__name__}.{name}")
    return attribute(__name__, name)
