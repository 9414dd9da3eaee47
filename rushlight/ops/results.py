"""The result types of ops with several results; most have (values, indices)."""
from __future__ import annotations

from typing import Any

from rushlight.base.results import result_type


def named(op: str, *fields: str) -> Any:
    """The result type of an op: (values, indices) unless fields are given."""
    return result_type(op, *(fields or ("values", "indices")))
