"""The deprecated arguments size_average and reduce as today's `reduction`."""

from __future__ import annotations

from rushlight._engine.core.callers import warn
from rushlight._engine.ops.nn.losses import from_flags


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """ "mean", "sum" or "none"."""
    return from_flags(size_average, reduce, emit_warning)


def get_enum(reduction: str) -> int:
    """0, 1, 2 for "none", "mean", "sum"."""
    numbers = {"none": 0, "mean": 1, "sum": 2, "elementwise_mean": 1}
    if reduction not in numbers:
        raise ValueError(f"{reduction} is not a valid value for reduction; use none, mean or sum")
    if reduction == "elementwise_mean":
        warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
    return numbers[reduction]
