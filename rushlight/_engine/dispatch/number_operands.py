"""Python numbers as operands: arrays without axes, in the dtype that a kernel reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core.numpy_warnings import hush, restore
from rushlight._engine.tensors.kind import CPU_KINDS

Array = np.ndarray[Any, Any]
NUMBERS = frozenset({float, int, bool, complex})

_scalars: dict[tuple[Any, type, Any], Array] = {}


def scalar(value: Any, np_dtype: Any) -> Array:
    """A Python number as a 0-d array; kept, since programs use the same few constants."""
    key = (value, value.__class__, np_dtype)
    found = _scalars.get(key)
    if found is None or (value == 0 and value.__class__ is not int):  # 0.0 and -0.0 are equal
        found = _number_array(value, np_dtype)
        if len(_scalars) > 4096:
            _scalars.clear()
        _scalars[key] = found
    return found


def _number_array(value: Any, np_dtype: Any) -> Array:
    try:
        if isinstance(value, complex) and np_dtype.kind != "c":
            raise OverflowError
        if np_dtype.kind in "iu" and isinstance(value, float):
            value = int(value)
        token = hush()
        try:
            return np.array(value, np_dtype)
        finally:
            restore(token)
    except OverflowError:
        if np_dtype.kind in "iu" and not isinstance(value, complex) and -(1 << 63) <= value < (1 << 64):
            return np.array(value & ((1 << 64) - 1), np.uint64).astype(np_dtype)
        raise RuntimeError(
            f"value cannot be converted to type {CPU_KINDS[np_dtype].dtype.name} without overflow: {value}"
        ) from None
