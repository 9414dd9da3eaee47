"""torch.finfo and torch.iinfo: the numeric limits of dtypes."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from rushlight._engine.core import dtype as dt


@cache
def _of_floats(d: dt.dtype) -> dict[str, Any]:
    limits: Any = ml_dtypes.finfo if d in dt.REDUCED and d is not dt.float16 else np.finfo
    known = limits(d.np)
    eps, smallest = float(known.eps), float(known.smallest_normal)
    return {
        "dtype": d.name,
        "bits": d.itemsize * 8,
        "eps": eps,
        "max": float(known.max),
        "min": float(known.min),
        "tiny": smallest,
        "smallest_normal": smallest,
        "resolution": 10.0 ** -int(-math.log10(eps)),  # the last digit that is safe
    }


class finfo:
    """Limits of a floating-point dtype: eps, max, min, tiny, smallest_normal, resolution, bits."""

    dtype: str
    bits: int
    eps: float
    max: float
    min: float
    tiny: float
    smallest_normal: float
    resolution: float

    def __init__(self, type: dt.dtype | None = None) -> None:
        d = dt.get_default_dtype() if type is None else dt.of_python(type)
        if not isinstance(d, dt.dtype) or d.category < dt.FLOATING:
            raise TypeError(
                f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle {d!r}"
            )
        vars(self).update(_of_floats(d.to_real()))

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype


class iinfo:
    """Limits of an integer dtype: max, min, bits."""

    def __init__(self, type: dt.dtype) -> None:
        d = dt.of_python(type)
        if d is dt.bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if not isinstance(d, dt.dtype) or d.category != dt.INTEGRAL:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle {d!r}")
        known = np.iinfo(d.levels.np if isinstance(d, dt.QuantizedDtype) else d.np)
        self.dtype, self.bits = d.name, d.itemsize * 8
        self.max, self.min = int(known.max), int(known.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype
