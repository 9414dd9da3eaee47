"""Functions of shapes and dims, and checks of what functions are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._prims_common.dtypes import (
    FloatLike,
    IntLike,
    Number,
    is_complex_dtype,
    is_float_dtype,
    is_low_precision_dtype,
)

Tensors = Any  # tensors, and numbers among them


def check(b: bool, s: Callable[[], str], exc_type: type[Exception] = RuntimeError) -> None:
    """The exception with this message where a condition does not hold; torch._check does it now."""
    warn(
        "`torch._prims_common.check` is deprecated and will be removed in the future. Please use "
        "`torch._check*` functions instead.",
        FutureWarning,
    )
    torch._check_with(exc_type, b, s)


def is_cpu_scalar_tensor(a: object) -> bool:
    """Whether it is a tensor of no dims on the CPU."""
    return isinstance(a, torch.Tensor) and a.ndim == 0 and a.device.type == "cpu"


def is_same_shape(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes are the same."""
    return tuple(a) == tuple(b)


def same_shape(a: Sequence[int], b: Sequence[int], *, allow_rhs_unbacked: bool = False) -> bool:
    """Whether two shapes are the same."""
    return is_same_shape(a, b)


def _alike(args: Tensors, attribute: str, message: str, allow_cpu_scalar_tensors: bool) -> None:
    """RuntimeError where the attribute of a tensor is not that of the first one; numbers have none."""
    known: Any = None
    for arg in args:
        if not isinstance(arg, (*Number, torch.Tensor)):
            raise RuntimeError(f"Unexpected type when checking for same {attribute}, {type(arg)}!")
        if isinstance(arg, Number) or (allow_cpu_scalar_tensors and is_cpu_scalar_tensor(arg)):
            continue
        found = getattr(arg, attribute)
        known = found if known is None else known
        if found != known:
            raise RuntimeError(message.format(found, known))


def check_same_device(*args: Tensors, allow_cpu_scalar_tensors: bool) -> None:
    """RuntimeError where tensors lie on different devices."""
    if len(args) > 1:
        message = "Tensor on device {} is not on the expected device {}!"
        _alike(args, "device", message, allow_cpu_scalar_tensors)


def check_same_shape(*args: Tensors, allow_cpu_scalar_tensors: bool) -> None:
    """RuntimeError where tensors have different shapes."""
    _alike(args, "shape", "Shape {} is not the expected shape {}!", allow_cpu_scalar_tensors)


def extract_shape(*args: Tensors, allow_cpu_scalar_tensors: bool) -> Any:
    """The shape that all tensors have; None where they differ, () of numbers alone."""
    shapes = [
        a.shape
        for a in args
        if isinstance(a, torch.Tensor) and not (allow_cpu_scalar_tensors and is_cpu_scalar_tensor(a))
    ]
    if not shapes:
        return next((a.shape for a in args if isinstance(a, torch.Tensor)), None)
    return shapes[0] if all(shape == shapes[0] for shape in shapes) else None


def validate_dim_length(length: int) -> None:
    """RuntimeError for a size below 0."""
    torch._check(length >= 0)


def validate_shape(shape: Sequence[int]) -> None:
    """RuntimeError for sizes below 0."""
    if not isinstance(shape, Sequence):
        raise AssertionError(f"shape must be Sequence, got {type(shape)}")
    for length in shape:
        validate_dim_length(length)


def validate_strides(strides: Sequence[int]) -> None:
    """AssertionError for strides below 0."""
    if not isinstance(strides, Sequence) or any(stride < 0 for stride in strides):
        raise AssertionError(f"strides must be a sequence of non-negative numbers, got {strides}")


def validate_idx(rank: int, idx: int) -> None:
    """AssertionError for what is no dim of so many, counted from the front."""
    if not (0 <= idx < rank or idx == 0):
        raise AssertionError(f"idx {idx} is out of bounds for rank {rank}")


def validate_dimension_indices(rank: int, indices: Sequence[int]) -> None:
    """`validate_idx` of each."""
    for idx in indices:
        validate_idx(rank, idx)


def validate_exclusive_idx(rank: int, ex_idx: int) -> None:
    """AssertionError for what is no end of a range of dims."""
    if not 0 < ex_idx <= rank:
        raise AssertionError(f"ex_idx {ex_idx} is out of bounds for rank {rank}")


def validate_no_repeating_dims(dims: Sequence[int]) -> None:
    """RuntimeError where a dim is there twice."""
    if len(dims) != len(set(dims)):
        raise RuntimeError("duplicate value in the list of dims")


def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """A dim counted from the front; IndexError for one that is not there."""
    if rank < 0:
        raise IndexError(f"Rank cannot be negative but got {rank}")
    if rank == 0 and not wrap_scalar:
        raise IndexError(f"Dimension specified as {idx} but tensor has no dimensions")
    rank = rank or 1
    if not -rank <= idx < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {idx})"
        )
    return idx % rank


def canonicalize_dims(rank: int, indices: Any, wrap_scalar: bool = True) -> Any:
    """Dims counted from the front: a tuple, or of one number one."""
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple(canonicalize_dim(rank, idx, wrap_scalar) for idx in indices)


def reduction_dims(shape: Sequence[int], dims: Sequence[int] | None) -> tuple[int, ...]:
    """The dims that a reduction is over; all where none are said."""
    if dims is None:
        return tuple(range(len(shape)))
    found = tuple(canonicalize_dim(len(shape), idx) for idx in dims)
    validate_no_repeating_dims(found)
    return found


def compute_reduction_output_shape(shape: Sequence[int], dimensions: Sequence[int]) -> tuple[int, ...]:
    """The sizes of the dims that a reduction leaves."""
    validate_dimension_indices(len(shape), dimensions)
    return tuple(n for d, n in enumerate(shape) if d not in dimensions)


def is_valid_permutation(rank: int, perm: Sequence[int]) -> bool:
    """Whether each dim is there once."""
    return isinstance(perm, Sequence) and sorted(perm) == list(range(rank))


def apply_perm(inp: Sequence[Any], perm: Sequence[int]) -> list[Any]:
    """The items in this order."""
    return [inp[p] for p in perm]


def invert_perm(perm: Sequence[int]) -> list[int]:
    """The order that takes another back."""
    return sorted(range(len(perm)), key=perm.__getitem__)


def extract_shape_from_varargs(shape: Any, validate: bool = True) -> Any:
    """A shape that was given as one sequence, or as numbers."""
    found = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    if validate:
        validate_shape(found)
    return found


def extract_dims_from_varargs(dims: Any) -> Any:
    """Dims that were given as one sequence, or as numbers."""
    return dims[0] if dims and isinstance(dims[0], Sequence) else dims


def infer_size(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """The shape with the size that -1 stands for; RuntimeError where it is not one of so many elements."""
    sizes, unknown, known = list(shape), [d for d, n in enumerate(shape) if n == -1], 1
    for n in shape:
        if n != -1:
            torch._check(n >= 0, lambda: f"invalid shape dimension {n}")
            known *= n
    torch._check(len(unknown) < 2, lambda: "only one dimension can be inferred")

    def invalid() -> str:
        return f"shape '{sizes}' is invalid for input of size {numel}"

    if not unknown:
        torch._check(numel == known, invalid)
        return tuple(shape)
    if known == 0 and numel == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {sizes} because the unspecified dimension size "
            "-1 can be any value and is ambiguous"
        )
    torch._check(known != 0 and numel % known == 0, invalid)
    sizes[unknown[0]] = numel // known
    return tuple(sizes)


def infer_size_shapes(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The shape that two broadcast to."""
    return tuple(torch.broadcast_shapes(tuple(a), tuple(b)))


def is_expandable_to(shape: Sequence[int], desired: Sequence[int]) -> bool:
    """Whether a tensor of this shape can be seen as one of the other."""
    pairs = zip(reversed(shape), reversed(desired), strict=False)
    return len(shape) <= len(desired) and all(n in (1, m) for n, m in pairs)


def set_correction(unbiased: bool | None = None, correction: float | None = None) -> float:
    """The correction that a variance subtracts from its number of elements."""
    if correction is not None and unbiased is not None:
        raise RuntimeError("cannot specify both correction and unbiased arguments")
    if correction is None:
        correction = 0.0 if unbiased is False else 1.0
    if not isinstance(correction, (*IntLike, *FloatLike)):
        raise ValueError("correction argument should be integer or float")
    return float(correction)


def device_or_default(device: Any) -> Any:
    """The device, or the default one."""
    return torch.get_default_device() if device is None else device


def dtype_or_default(dtype: torch.dtype | None) -> torch.dtype:
    """The dtype, or the default one."""
    return torch.get_default_dtype() if dtype is None else dtype


def layout_or_default(layout: torch.layout | None) -> torch.layout:
    """The layout, or strided."""
    return torch.strided if layout is None else layout


def canonicalize_device(device: Any) -> torch.device:
    """A device as one, whether it was one or its name."""
    return torch.device(device)


def check_layout(layout: torch.layout) -> None:
    """RuntimeError for another layout than strided."""
    torch._check(layout is torch.strided, lambda: f"PrimTorch doesn't support layout={layout}")


def check_pin_memory(pin_memory: bool) -> None:
    """NotImplementedError where pinned memory is asked for."""
    torch._check_not_implemented(not pin_memory, lambda: "PrimTorch does not support pinned memory")


def check_fp_or_complex(dtype: torch.dtype, fn_name: str, allow_low_precision_dtypes: bool = True) -> None:
    """RuntimeError for a dtype of integers; if asked, also for two-byte floats."""
    torch._check(
        is_float_dtype(dtype) or is_complex_dtype(dtype),
        lambda: f"{fn_name}: Expected a floating point or complex tensor as input. Got {dtype}",
    )
    torch._check(
        allow_low_precision_dtypes or not is_low_precision_dtype(dtype),
        lambda: f"{fn_name}: Half precision dtypes not supported. Got {dtype}",
    )


def check_is_matrix(A: Any, f_name: str, arg_name: str = "A") -> None:
    """RuntimeError for fewer than two dims."""
    torch._check(
        len(A.shape) >= 2,
        lambda: f"{f_name}: The input tensor {arg_name} must have at least 2 dimensions.",
    )


def mask_tensor(mask: Any, t: Any) -> Any:
    """The tensor with zeros (of bools False) where the mask is False."""
    return mask.logical_and(t) if t.dtype is torch.bool else torch.where(mask, t, 0)
