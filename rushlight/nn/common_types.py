"""Names of the types in PyTorch's signatures: one number, or one for each dim."""

from typing import TypeAlias, TypeVar

from rushlight import Tensor

T = TypeVar("T")

_scalar_or_tuple_any_t: TypeAlias = T | tuple[T, ...]
_scalar_or_tuple_1_t: TypeAlias = T | tuple[T]
_scalar_or_tuple_2_t: TypeAlias = T | tuple[T, T]
_scalar_or_tuple_3_t: TypeAlias = T | tuple[T, T, T]
_scalar_or_tuple_4_t: TypeAlias = T | tuple[T, T, T, T]
_scalar_or_tuple_5_t: TypeAlias = T | tuple[T, T, T, T, T]
_scalar_or_tuple_6_t: TypeAlias = T | tuple[T, T, T, T, T, T]

# Sizes: of a kernel, a stride, a padding.
_size_any_t: TypeAlias = _scalar_or_tuple_any_t[int]
_size_1_t: TypeAlias = _scalar_or_tuple_1_t[int]
_size_2_t: TypeAlias = _scalar_or_tuple_2_t[int]
_size_3_t: TypeAlias = _scalar_or_tuple_3_t[int]
_size_4_t: TypeAlias = _scalar_or_tuple_4_t[int]
_size_5_t: TypeAlias = _scalar_or_tuple_5_t[int]
_size_6_t: TypeAlias = _scalar_or_tuple_6_t[int]

# Sizes of a result, None for a dim that stays as it is.
_size_any_opt_t: TypeAlias = _scalar_or_tuple_any_t[int | None]
_size_1_opt_t: TypeAlias = _scalar_or_tuple_1_t[int | None]
_size_2_opt_t: TypeAlias = _scalar_or_tuple_2_t[int | None]
_size_3_opt_t: TypeAlias = _scalar_or_tuple_3_t[int | None]
_size_4_opt_t: TypeAlias = _scalar_or_tuple_4_t[int | None]
_size_5_opt_t: TypeAlias = _scalar_or_tuple_5_t[int | None]
_size_6_opt_t: TypeAlias = _scalar_or_tuple_6_t[int | None]

# Factors by which sizes change.
_ratio_any_t: TypeAlias = _scalar_or_tuple_any_t[float]
_ratio_1_t: TypeAlias = _scalar_or_tuple_1_t[float]
_ratio_2_t: TypeAlias = _scalar_or_tuple_2_t[float]
_ratio_3_t: TypeAlias = _scalar_or_tuple_3_t[float]
_ratio_4_t: TypeAlias = _scalar_or_tuple_4_t[float]
_ratio_5_t: TypeAlias = _scalar_or_tuple_5_t[float]
_ratio_6_t: TypeAlias = _scalar_or_tuple_6_t[float]

_tensor_list_t: TypeAlias = Tensor | list[Tensor]

# What max pooling gives: the maxima, or the maxima and where they are.
_maybe_indices_t: TypeAlias = Tensor | tuple[Tensor, Tensor]
