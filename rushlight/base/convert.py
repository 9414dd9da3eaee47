"""Element conversion by PyTorch's rules, where NumPy's differ.

1. The half-size dtypes are reached by way of float32: float64 is rounded twice.
2. float8_e4m3fn has no infinity: what is too large, infinity included, becomes +-448.
3. complex to real drops the imaginary part; anything to bool asks whether it is non-zero.
"""
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]

_E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
_E4M3_MAX = 448.0
_FLOAT8 = frozenset({_E4M3, *map(np.dtype, (ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz,
                                            ml_dtypes.float8_e5m2fnuz))})
_SMALL = _FLOAT8 | {np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)}


def convert(array: Array, to: np.dtype[Any], *, copy: bool = False) -> Array:
    """`array` with element type `to`; itself where nothing changes, unless `copy`."""
    source = array.dtype
    if source == to:
        return array.copy(order="K") if copy else array
    with np.errstate(all="ignore"):
        if source.kind == "c" and to.kind not in "cb":
            array = array.real
        if to == _E4M3:
            array = np.clip(array.astype(np.float32), -_E4M3_MAX, _E4M3_MAX)
        elif to in _SMALL or source in _FLOAT8:
            array = array.astype(np.float32, copy=False)
        return array.astype(to)
