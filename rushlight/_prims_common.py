"""torch._prims_common: the few of its functions of dtypes that programs and tests ask."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.names.alternatives import attribute

_COMPLEX = {torch.float32: torch.complex64, torch.float64: torch.complex128, torch.bfloat16: torch.complex64}


def corresponding_complex_dtype(dtype: torch.dtype) -> torch.dtype:
    """The complex dtype whose parts are of a real one; KeyError for dtypes that have none."""
    return _COMPLEX[dtype]


def corresponding_real_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype of the parts of a complex one."""
    return dtype.to_real()


def is_float_dtype(dtype: torch.dtype) -> bool:
    """Whether a dtype is of floating point numbers."""
    return dtype.is_floating_point


def is_complex_dtype(dtype: torch.dtype) -> bool:
    """Whether a dtype is complex."""
    return dtype.is_complex


def is_boolean_dtype(dtype: torch.dtype) -> bool:
    """Whether a dtype is torch.bool."""
    return dtype is torch.bool


def is_integer_dtype(dtype: torch.dtype) -> bool:
    """Whether a dtype is of integers."""
    return not (dtype.is_floating_point or dtype.is_complex or dtype is torch.bool)


def dtype_to_type(dtype: torch.dtype) -> type:
    """Python's type of a dtype's numbers: bool, int, float or complex."""
    if dtype is torch.bool:
        return bool
    return complex if dtype.is_complex else float if dtype.is_floating_point else int


def __getattr__(name: str) -> Any:
    return attribute("rushlight._prims_common", name)
