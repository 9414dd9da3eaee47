"""Whether what several records have in one place is the same."""

from __future__ import annotations

from typing import Any

import numpy as np

import rushlight as torch


def alike(t: Any, other: Any) -> bool:
    """Whether two constants are the same numbers; of other kinds of tensors nothing is known."""
    if not (type(t) is type(other) is torch.Tensor and t.layout is other.layout is torch.strided):
        return True
    return t.dtype is other.dtype and torch.equal(t.nan_to_num(), other.nan_to_num())


def equal(value: Any, other: Any) -> bool:
    """Whether two arguments are the same."""
    if isinstance(value, np.ndarray):  # places, of a row of Rushlight's own
        return np.array_equal(value, other)
    return bool(value == other or (value != value and other != other))
