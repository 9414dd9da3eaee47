"""Functions of dtypes, and of Python's numbers as if they were some."""

from __future__ import annotations

from enum import Enum
from typing import Any

import rushlight as torch
from rushlight._engine.derive import cast

Number = (bool, int, float, complex, torch.SymInt, torch.SymFloat, torch.SymBool)
IntLike = (int, torch.SymInt)
FloatLike = (float, torch.SymFloat)
BoolLike = (bool, torch.SymBool)
_REAL = {
    torch.complex32: torch.float16,
    torch.complex64: torch.float32,
    torch.complex128: torch.float64,
}
_COMPLEX = {real: of for of, real in _REAL.items()} | {torch.bfloat16: torch.complex64}


def corresponding_complex_dtype(dtype: torch.dtype) -> torch.dtype:
    """The complex dtype whose parts are of a real one; KeyError for dtypes that have none."""
    return _COMPLEX[dtype]


def corresponding_real_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype of the parts of a complex one; KeyError for others."""
    return _REAL[dtype]


_TYPES: tuple[type, ...] = (bool, int, float, complex)
_LOW = (torch.float16, torch.bfloat16, torch.complex32)
_COMPUTED_IN = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64}


class ELEMENTWISE_TYPE_PROMOTION_KIND(Enum):
    """How the dtype of an elementwise op's result follows from that of its operands."""

    DEFAULT = (0,)
    NO_OPMATH = (1,)
    INT_TO_FLOAT = (2,)
    ALWAYS_BOOL = (3,)
    COMPLEX_TO_FLOAT = (4,)
    BOOL_TO_LONG = (5,)


class RETURN_TYPE(Enum):
    """What an op gives: a new tensor, a view, the tensor that it wrote to, or nothing."""

    NEW = (0,)
    VIEW = (1,)
    INPLACE = (2,)
    NONE = (3,)


class REDUCTION_OUTPUT_TYPE_KIND(Enum):
    """How the dtype of a reduction's result follows from that of its operand."""

    SAME = (0,)
    COMPLEX_TO_FLOAT = (1,)
    KEEP_PROMOTED_TYPE = (2,)
    ALWAYS_BOOL = (3,)


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


def is_low_precision_dtype(dtype: torch.dtype) -> bool:
    """Whether a dtype's floating point numbers have two bytes."""
    return dtype in _LOW


def is_grad_dtype(dtype: torch.dtype) -> bool:
    """Whether tensors of a dtype may require a gradient."""
    return dtype.is_floating_point or dtype.is_complex


def type_to_dtype(typ: type) -> torch.dtype:
    """The dtype of a type of Python's numbers."""
    if not isinstance(typ, type):
        raise AssertionError(f"Expected type, got {type(typ)}")
    if typ in BoolLike:
        return torch.bool
    if typ in IntLike:
        return torch.int64
    default = torch.get_default_dtype()
    if typ in FloatLike:
        return default
    if typ is complex:
        return corresponding_complex_dtype(default)
    raise ValueError(f"Invalid type {typ}!")


def get_dtype(x: Any) -> torch.dtype:
    """The dtype of a tensor or a number."""
    return x.dtype if isinstance(x, torch.Tensor) else type_to_dtype(type(x))


def get_higher_type(a: type, b: type) -> type:
    """The later of two in the order bool, int, float, complex."""
    return max(a, b, key=_TYPES.index)


def is_weakly_lesser_type(a: type, b: type) -> bool:
    """Whether `a` is not behind `b` in the order bool, int, float, complex."""
    return get_higher_type(a, b) is b


def can_safe_cast_to(*, cast_to: torch.dtype, cast_from: torch.dtype) -> bool:
    """Whether numbers keep their kind: no complex ones become real, no fractions integers."""
    return is_weakly_lesser_type(dtype_to_type(cast_from), dtype_to_type(cast_to))


def get_higher_dtype(a: Any, b: Any) -> torch.dtype | None:
    """The lowest dtype that holds both; each is a dtype, a tensor, a number or None."""
    first, second = (x if x is None or isinstance(x, torch.dtype) else get_dtype(x) for x in (a, b))
    if first is None or second is None:
        return second if first is None else first
    return torch.promote_types(first, second)


def get_computation_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype that kernels compute in: two-byte floats are computed in four."""
    return _COMPUTED_IN.get(dtype, dtype)


def _rank(x: Any) -> Any:
    """Which part an operand has in promotion."""
    if isinstance(x, torch.Tensor):
        return (cast.DIMS if x.ndim else cast.ZERO, x.dtype)
    return cast.rank_of_number(x)


def elementwise_dtypes(
    *_args: Any, type_promotion_kind: ELEMENTWISE_TYPE_PROMOTION_KIND
) -> tuple[torch.dtype, torch.dtype]:
    """The dtype that an elementwise op computes in, and its result's, for tensors and numbers as operands."""
    kinds, args = ELEMENTWISE_TYPE_PROMOTION_KIND, [x for x in _args if x is not None]
    for x in args:
        if not isinstance(x, (*Number, torch.Tensor)):
            raise ValueError(f"Unexpected type {type(x)} when computing elementwise type promotion!")
    of = cast.common_dtype([_rank(x) for x in args]) if args else torch.bool
    computed = get_computation_dtype(of)
    if type_promotion_kind is kinds.NO_OPMATH:
        return of, of
    if type_promotion_kind is kinds.INT_TO_FLOAT and not is_grad_dtype(of):
        return torch.get_default_dtype(), torch.get_default_dtype()
    if type_promotion_kind is kinds.COMPLEX_TO_FLOAT and of.is_complex:
        return computed, corresponding_real_dtype(of)
    if type_promotion_kind is kinds.BOOL_TO_LONG and of is torch.bool:
        return torch.int64, torch.int64
    return computed, torch.bool if type_promotion_kind is kinds.ALWAYS_BOOL else of
