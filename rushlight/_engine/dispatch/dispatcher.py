"""The dispatcher: from a public name to the callable generated from its row.

`lookup("torch", "add")`, `lookup("Tensor", "add_")`, `lookup("nn.functional", "gelu")`: built at
first use and kept. A name's callable is shared by all namespaces that publish the row.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import update_wrapper
from importlib import import_module
from types import FunctionType
from typing import Any

import rushlight._engine.kernels  # noqa: F401  (registers its services)
from rushlight._engine.core.services import service
from rushlight._engine.core.tracebacks import own
from rushlight._engine.dispatch import methods, operators, signatures
from rushlight._engine.dispatch.runners import general, in_place, pointwise
from rushlight._engine.lazy import LazyPackage, our_module, package
from rushlight._engine.names import completion
from rushlight._engine.names.alternatives import attribute
from rushlight._engine.ops.help_text import help_text
from rushlight._engine.ops.table import NAMES, ROWS, Row, public
from rushlight._engine.tensors.tensor import Tensor

# Methods that have to do with sparse layouts.
_SPARSE = frozenset(
    "to_sparse to_sparse_coo to_sparse_csr to_sparse_csc to_sparse_bsr to_sparse_bsc "
    "to_dense coalesce sparse_mask indices values crow_indices ccol_indices col_indices "
    "row_indices is_coalesced sparse_dim dense_dim smm sspaddmm hspmm resize_as_sparse_".split()
)
# PyTorch's names of functions that it keeps in modules of their own.
_PREFIXES = {"rushlight.fft": "fft_", "rushlight.linalg": "linalg_", "rushlight.special": "special_"}
_built: dict[tuple[str, str], Callable[..., Any]] = {}


def lookup(namespace: str, name: str) -> Callable[..., Any] | None:
    """The callable behind a public name, or None where the table has no such name."""
    return own(_lookup(namespace, name))


def _lookup(namespace: str, name: str) -> Callable[..., Any] | None:
    if namespace == "operator":
        return operators.build(name)
    extra = methods.METHODS if namespace == "Tensor" else methods.FUNCTIONS
    if name in extra and namespace in ("Tensor", "torch"):
        return general.build_before(ROWS["_view"], extra[name]) if name == "view" else extra[name]
    if name.startswith("_foreach_") and namespace == "torch":
        from rushlight._engine.dispatch.foreach import build  # few programs need it

        return build(name)
    found = NAMES.get((namespace, name))
    if found is None and namespace == "Tensor" and name in _SPARSE:
        method: Callable[[str], Callable[..., Any] | None] = service("sparse method")
        return method(name)
    if found is None:
        return None
    row, variant = found
    if variant == "function":
        return _under(name, function(row)) if namespace == "torch" else function(row)
    key = (row.name, variant)
    built = _built.get(key)
    if built is None:
        built = _built[key] = in_place.build(row)
        written = next(leaf for _, leaf, kind in public(row) if kind == variant)
        built.__name__ = built.__qualname__ = written
        setattr(built, "__signature__", signatures.of(row, writes=True))
    return _under(name, built) if namespace == "torch" else built


def function(row: Row) -> Callable[..., Any]:
    """The functional form of a row."""
    key = (row.name, "function")
    found = _built.get(key)
    if found is None:
        build = pointwise.build if row.kind == "pointwise" else general.build
        found = _built[key] = build(row)
        found.__doc__ = help_text(row)
        found.__module__, found.__qualname__ = _home(row)
        found.__name__ = _PREFIXES.get(our_module(found), "") + found.__qualname__
        setattr(found, "table_row", row)
        setattr(found, "__signature__", signatures.of(row))
    return found


def _under(name: str, found: Callable[..., Any]) -> Callable[..., Any]:
    """A row's function under another of its names: an object of its own, as in PyTorch, of the same code."""
    if found.__qualname__ == name:
        return found
    key = (found.__qualname__, name)
    other = _built.get(key)
    if other is None:
        code = found.__code__.replace(co_qualname=name)
        other = FunctionType(code, found.__globals__, name, found.__defaults__, found.__closure__)
        update_wrapper(other, found)
        del other.__wrapped__  # type: ignore[attr-defined]
        other.__kwdefaults__ = found.__kwdefaults__
        other.__module__, other.__name__, other.__qualname__ = package(), name, name
        _built[key] = other
    return other


def _home(row: Row) -> tuple[str, str]:
    """(module, name) under which a row's function is found, for pickle."""
    several = [(space, name) for space, name, variant in public(row) if variant == "function"]
    space, name = next(
        (found for found in several if found[0] not in ("Tensor", "aten")), ("torch", row.name)
    )
    if several and all(owner == "Tensor" for owner, _ in several):
        name = several[0][1]
    return (package() if space == "torch" else f"{package()}.{space}"), name


def namespace(space: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """__getattr__ and __dir__ of a module whose names are the table's."""

    def find(name: str) -> Any:
        if name == "__all__":
            return sorted(completion.names(space))
        found = lookup(space, name)
        if found is None:
            return attribute(f"rushlight.{space}", name)
        setattr(import_module(f"rushlight.{space}"), name, found)
        return found

    sys.modules[f"rushlight.{space}"].__class__ = LazyPackage
    return own(find), lambda: sorted(completion.names(space))


own(Tensor)
