"""The Python array API standard, 2024.12, on Rushlight's tensors: `x.__array_namespace__()` is this.

PyTorch's own names keep PyTorch's meaning (`torch.max` returns indices too, 0-d tensors promote less);
here the standard's spellings mean what the standard says. Functions take Tensors of any class and answer
with `Array`s (array.py), whose operators are these functions: `asarray(tensor)` is where a program changes
over, on the same memory. What both spell alike and mean alike is the very row.
"""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.array_api import functions
from rushlight.array_api.array import handing_out
from rushlight.array_api.extensions import fft as fft, linalg as linalg
from rushlight.array_api.info import DTYPES, __array_namespace_info__ as __array_namespace_info__

__array_api_version__ = "2024.12"
# What PyTorch spells and means alike, and what it only spells otherwise.
_SAME = frozenset(
    (
        "abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor imag isfinite isinf isnan log "
        "log1p log2 log10 logical_not negative positive real reciprocal signbit sin sinh sqrt "
        "square tan tanh trunc empty_like full_like ones_like zeros_like from_dlpack searchsorted tile "
        "e inf nan newaxis pi"
    ).split()
)
_RENAMED = {"bitwise_invert": "bitwise_not", "conj": "conj_physical", "moveaxis": "movedim"}
# Functions of two arrays: these first take the standard's common dtype, whatever their dims.
_PAIRS = {
    **{
        name: name
        for name in (
            "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign "
            "divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor "
            "maximum minimum multiply nextafter not_equal pow subtract"
        ).split()
    },
    "equal": "eq",
}


def __getattr__(name: str) -> Any:
    if name in _SAME or name in DTYPES or name in _RENAMED:
        found = getattr(torch, _RENAMED.get(name, name))
    elif name in _PAIRS:
        found = functions.of_pairs(getattr(torch, _PAIRS[name]))
    else:
        found = functions.PUBLIC.get(name)
        if found is None:
            raise AttributeError(
                f"module 'rushlight.array_api' has no attribute {name!r}: the array API "
                "standard 2024.12 does not name it; torch may"
            )
    globals()[name] = found = handing_out(found) if callable(found) else found
    return found


def __dir__() -> list[str]:
    return sorted(
        {
            *_SAME,
            *_RENAMED,
            *_PAIRS,
            *DTYPES,
            *functions.PUBLIC,
            "fft",
            "linalg",
            "__array_api_version__",
            "__array_namespace_info__",
        }
    )
