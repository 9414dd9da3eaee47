"""torch.export.default_decompositions: which ops are taken apart, and by what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.ops.table import ROWS
from rushlight.export.core import core
from rushlight.export.overloads import Overload, aten_name, composites, overloads, own

# Composite ops that the table has no entry for: back ends have these themselves.
KEPT = frozenset(("aten.upsample_bilinear2d.vec", "aten.upsample_nearest2d.vec"))


def by_fractions(overload: Any, args: Any, kwargs: Any) -> bool:
    """Whether an op interpolates by factors that are not whole: where sizes may change, those within it would
    be told by examples alone.
    """
    factors = kwargs.get("scale_factors", args[-1] if args else None)
    each = factors if isinstance(factors, (list, tuple)) else ()
    return "upsample_" in str(overload) and any(isinstance(f, float) and not f.is_integer() for f in each)


class CustomDecompTable(dict[Any, Callable[..., Any]]):
    """Overloads (torch.ops.aten.NAME.OVERLOAD) and the functions that take them apart: at first all composite
    ops, by the ops that they consist of (those that are one op here stay whole, as linear does). Delete one
    to keep it whole; a function of your own is recorded in the op's place.
    """

    has_materialized = True

    def __init__(self, table: Any = None) -> None:
        super().__init__(_composites() if table is None else table)

    def pop(self, key: Any, *default: Any) -> Any:
        """Take an op out, which is then kept whole. KeyError where it is not there."""
        if key not in self and not default:
            raise KeyError(str(key))
        return super().pop(key, *default)

    def copy(self) -> CustomDecompTable:
        """Another table with the same entries."""
        return CustomDecompTable(self)

    def materialize(self) -> dict[Any, Callable[..., Any]]:
        """The entries as a plain dict."""
        return dict(self)


def _composites() -> dict[Overload, Callable[..., Any]]:
    found: dict[Overload, Callable[..., Any]] = {}
    for name in tuple(ROWS):
        row = ROWS[name]
        if row.kind == "composite":
            several = overloads(aten_name(row)) or {"": own(row)}
            found.update((o, o.decompose) for o in several.values() if not o._schema.writes)
    for name in composites():
        found.update((o, o.decompose) for o in overloads(name).values() if o.is_composite)
    for op in torch.library.defined():
        if op._composite:
            found[op._opoverload] = op._opoverload.decompose
    return {o: fn for o, fn in found.items() if str(o) not in KEPT} | core()
