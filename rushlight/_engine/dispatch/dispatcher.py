"""The dispatcher: from a public name to the callable generated from its row.

`lookup("torch", "add")`, `lookup("Tensor", "add_")`, `lookup("nn.functional", "gelu")`: built at
first use and kept. A name's callable is shared by all namespaces that publish the row.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import rushlight._engine.kernels  # noqa: F401  (registers its services)
from rushlight._engine.core.services import service
from rushlight._engine.core.tracebacks import own
from rushlight._engine.dispatch import methods, operators, signatures, spellings
from rushlight._engine.dispatch.runners import general, in_place, pointwise
from rushlight._engine.lazy import LazyPackage
from rushlight._engine.names import completion
from rushlight._engine.names.alternatives import attribute
from rushlight._engine.ops.help_text import help_text
from rushlight._engine.ops.table import NAMES, ROWS, Row, public
from rushlight._engine.tensors.of_class import ask_by_class
from rushlight._engine.tensors.tensor import Tensor

# Methods that have to do with sparse layouts.
_SPARSE = frozenset(
    "to_sparse to_sparse_coo to_sparse_csr to_sparse_csc to_sparse_bsr to_sparse_bsc "
    "to_dense coalesce sparse_mask indices values crow_indices ccol_indices col_indices "
    "row_indices is_coalesced sparse_dim dense_dim smm sspaddmm hspmm resize_as_sparse_".split()
)
# Other methods that are no rows, of those that do not ask for themselves who takes them over.
_UNASKED = frozenset(
    "type cuda ipu xpu mtia resize_ share_memory_ record_stream pin_memory apply_ map_ map2_ float double "
    "half bfloat16 int long short char byte bool cfloat cdouble".split()
)
_built: dict[tuple[str, str], Callable[..., Any]] = {}


def lookup(namespace: str, name: str) -> Callable[..., Any] | None:
    """The callable behind a public name, or None where the table has no such name."""
    found = own(bare(namespace, name))
    return found and spellings.public(found)


def bare(namespace: str, name: str) -> Callable[..., Any] | None:
    """`lookup` for callers within the engine, at whose own doors errors are trimmed: functions in Python."""
    if namespace == "operator":
        return operators.build(name)
    extra = methods.METHODS if namespace == "Tensor" else methods.FUNCTIONS
    if name in extra and namespace in ("Tensor", "torch"):
        return _method_view(extra[name]) if name == "view" else extra[name]
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
        return spellings.under(row.name, function(row), namespace, name)
    return spellings.under(row.name, _writing(row, variant), namespace, name)


@cache
def _method_view(method: Callable[..., Any]) -> Callable[..., Any]:
    return spellings.entitle(general.build_before(ROWS["_view"], method), "_view", "Tensor", "view")


def _writing(row: Row, variant: str) -> Callable[..., Any]:
    """The form of a row that writes into its first operand."""
    key = (row.name, variant)
    built = _built.get(key)
    if built is None:
        built = in_place.build(row)
        space, written = next((owner, leaf) for owner, leaf, kind in public(row) if kind == variant)
        if any((owner, leaf) == ("Tensor", written) for owner, leaf, _ in public(row)):
            space = "Tensor"
        spellings.entitle(built, row.name, space, written)
        setattr(built, "__signature__", signatures.of(row, writes=True))
        built = spellings.held(_built, key, built, row.name)
    return built


def function(row: Row) -> Callable[..., Any]:
    """The functional form of a row."""
    key = (row.name, "function")
    found = _built.get(key)
    if found is None:
        build = pointwise.build if row.kind == "pointwise" else general.build
        found = build(row)
        found.__doc__ = help_text(row)
        spellings.entitle(found, row.name, *_home(row))
        setattr(found, "table_row", row)
        setattr(found, "__signature__", signatures.of(row))
        found = spellings.held(_built, key, found, row.name)
    return found


def _home(row: Row) -> tuple[str, str]:
    """(namespace, name) under which a row's function is found first."""
    several = [(space, name) for space, name, variant in public(row) if variant == "function"]
    at_first = next((found for found in several if found[0] not in ("Tensor", "aten")), None)
    return at_first or next((found for found in several if found[0] == "Tensor"), ("torch", row.name))


def namespace(space: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """__getattr__ and __dir__ of a module whose names are the table's."""

    def find(name: str) -> Any:
        found = None if name == "__all__" else lookup(space, name)
        if found is None:
            return attribute(f"rushlight.{space}", name)
        setattr(import_module(f"rushlight.{space}"), name, found)
        return found

    sys.modules[f"rushlight.{space}"].__class__ = LazyPackage
    return own(find), lambda: sorted(completion.names(space))


own(Tensor)
ask_by_class((*_UNASKED, *_SPARSE))
