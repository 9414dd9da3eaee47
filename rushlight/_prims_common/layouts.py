"""Functions of strides and memory formats, and whether two tensors are alike but for their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import rushlight as torch
from rushlight._engine.core.layout import contiguous_strides
from rushlight._prims_common.shapes import is_same_shape, validate_shape

_FORMATS = {torch.channels_last: 4, torch.channels_last_3d: 5}
_PRESERVED = (torch.contiguous_format, torch.preserve_format)


def make_contiguous_strides_for(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    """The strides of a contiguous tensor; not row_major: of contiguous matrices by columns."""
    validate_shape(shape)
    strides = contiguous_strides(tuple(max(n, 1) for n in shape))
    if row_major or len(shape) < 2:
        return strides
    return (*strides[:-2], 1, max(shape[-2], 1))


def make_channels_last_strides_for(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor of 3, 4 or 5 dims whose channels, dim 1, lie side by side."""
    if len(shape) not in (3, 4, 5):
        raise RuntimeError(f"no channels last format strides exist in {len(shape)} dimensions")
    order = [1, *range(len(shape) - 1, 1, -1), 0]
    strides, step = [0] * len(shape), 1
    for d in order:
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


def _of_rank(shape: Sequence[int], rank: int, what: str) -> tuple[int, ...]:
    if len(shape) != rank:
        raise RuntimeError(f"Only tensors of rank {rank} can use the {what} memory format")
    return make_channels_last_strides_for(shape)


def make_channels_last_1d_strides_for(shape: Sequence[int]) -> tuple[int, ...]:
    """`make_channels_last_strides_for` of 3 dims."""
    return _of_rank(shape, 3, "channels_last_1d")


def make_channels_last_2d_strides_for(shape: Sequence[int]) -> tuple[int, ...]:
    """`make_channels_last_strides_for` of 4 dims."""
    return _of_rank(shape, 4, "channels_last")


def make_channels_last_3d_strides_for(shape: Sequence[int]) -> tuple[int, ...]:
    """`make_channels_last_strides_for` of 5 dims."""
    return _of_rank(shape, 5, "channels_last_3d")


def is_contiguous(a: Any, false_if_dde: bool = False) -> bool:
    """Whether a tensor is contiguous."""
    return bool(a.is_contiguous())


def is_channels_last_contiguous_2d(a: Any, false_if_dde: bool = False) -> bool:
    """Whether a tensor is of 4 dims, whose channels lie side by side, without gaps."""
    return a.ndim == 4 and bool(a.is_contiguous(memory_format=torch.channels_last))


def is_channels_last_contiguous_3d(a: Any, false_if_dde: bool = False) -> bool:
    """Whether a tensor is of 5 dims, whose channels lie side by side, without gaps."""
    return a.ndim == 5 and bool(a.is_contiguous(memory_format=torch.channels_last_3d))


def is_channels_last_contiguous(a: Any) -> bool:
    """Whether a tensor is of 4 or 5 dims, whose channels lie side by side, without gaps."""
    return is_channels_last_contiguous_2d(a) or is_channels_last_contiguous_3d(a)


is_contiguous_or_false = is_contiguous
is_channels_last_contiguous_or_false = is_channels_last_contiguous
is_channels_last_contiguous_or_false_2d = is_channels_last_contiguous_2d
is_channels_last_contiguous_or_false_3d = is_channels_last_contiguous_3d


def validate_memory_format(memory_format: torch.memory_format) -> None:
    """RuntimeError for what is no memory format."""
    torch._check(
        memory_format in (*_PRESERVED, *_FORMATS), lambda: f"Received unknown memory format {memory_format}!"
    )


def is_contiguous_for_memory_format(
    a: Any, *, memory_format: torch.memory_format, false_if_dde: bool = False
) -> bool:
    """Whether a tensor lies in this format without gaps."""
    validate_memory_format(memory_format)
    if memory_format is torch.contiguous_format:
        return is_contiguous(a)
    if memory_format is torch.channels_last:
        return is_channels_last_contiguous_2d(a)
    if memory_format is torch.channels_last_3d:
        return is_channels_last_contiguous_3d(a)
    raise RuntimeError(f"is_contiguous received unsupported memory format {memory_format}")


is_contiguous_for_memory_format_or_false = is_contiguous_for_memory_format


def are_strides_like_channels_last_or_false(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the channels of 4 or 5 dims lie side by side, perhaps with gaps between."""
    if len(shape) not in (4, 5) or strides[1] == 0:
        return False
    least = 0
    for d in (1, *range(len(shape) - 1, 1, -1), 0):
        if shape[d] == 0 or strides[d] < least or (d == 0 and least == strides[1]):
            return False
        least = strides[d] * shape[d]
    return True


def suggest_memory_format(x: Any) -> torch.memory_format:
    """The format that results for a tensor should have."""
    if x.layout is torch.strided and are_strides_like_channels_last_or_false(x.shape, x.stride()):
        return torch.channels_last if x.ndim == 4 else torch.channels_last_3d
    return torch.contiguous_format


def is_non_overlapping_and_dense_or_false(a: Any) -> bool:
    """Whether a tensor's elements, in some order of its dims, lie side by side."""
    if a.is_sparse:
        return False
    step = 1
    for stride, size in sorted((s, n) for s, n in zip(a.stride(), a.shape, strict=True) if n != 1):
        if size == 0:
            return True
        if stride != step:
            return False
        step *= size
    return True


is_non_overlapping_and_dense = is_non_overlapping_and_dense_or_false


def compute_required_storage_length(shape: Sequence[int], strides: Sequence[int], storage_offset: int) -> int:
    """The elements that a storage needs for a tensor that lies so."""
    if prod(shape) == 0:
        return 0
    return 1 + storage_offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


def check_in_bounds_for_storage(
    a: Any, shape: Sequence[int], strides: Sequence[int], storage_offset: int
) -> None:
    """ValueError where a (typed) storage is too small for a tensor that lies so."""
    needed = compute_required_storage_length(shape, strides, storage_offset)
    if a.size() < needed:
        raise ValueError(
            f"Can't view a storage of size {a.size()} with an offset of {storage_offset}, shape of {shape}, "
            f"and strides of {strides}, which requires a storage of size {needed}"
        )


def clone_preserve_strides(x: Any) -> Any:
    """A copy that lies in memory as the tensor does, gaps and all."""
    needed = compute_required_storage_length(x.size(), x.stride(), x.storage_offset())
    whole = torch.as_strided(x, (needed,), (1,), 0).clone()
    return torch.as_strided(whole, x.size(), x.stride(), x.storage_offset())


def _differing(a: Any, b: Any, only_cuda: bool, all_dims: bool) -> int | None:
    """The first dim whose strides differ; if not `all_dims`, of those that have more than one place."""
    if (only_cuda and "cuda" not in (a.device.type, b.device.type)) or a.numel() == 0:
        return None
    pairs = enumerate(zip(a.stride(), b.stride(), strict=True))
    return next((d for d, (s, t) in pairs if s != t and (all_dims or a.shape[d] > 1)), None)


def check_significant_strides(
    a: Any, b: Any, *, only_cuda: bool = True, allow_rhs_unbacked: bool = False
) -> tuple[bool, int | None]:
    """Whether strides agree where a dim has more than one place, and the first that does not."""
    dim = _differing(a, b, only_cuda, False)
    return dim is None, dim


def check_all_strides(a: Any, b: Any, *, only_cuda: bool = True) -> tuple[bool, int | None]:
    """Whether all strides agree, and the first that does not."""
    dim = _differing(a, b, only_cuda, True)
    return dim is None, dim


def compare_tensor_meta(
    a: Any,
    b: Any,
    check_sizes: bool = True,
    check_strides: bool = False,
    *,
    allow_rhs_unbacked: bool = False,
    check_conj: bool = True,
) -> None:
    """MetadataMismatchError where two tensors differ in shape, dtype, device, conjugation, or as asked in
    strides.
    """
    # it imports this package
    from rushlight._subclasses.fake_tensor import MetadataMismatchError

    for name, value in (("a", a), ("b", b)):
        if not isinstance(value, torch.Tensor):
            raise AssertionError(f"{name} must be TensorLike, got {type(value)}")
    wrong = ""
    if check_sizes and not is_same_shape(a.shape, b.shape):
        wrong = f"Shapes {a.shape} and {b.shape} are not equal!"
    elif a.dtype != b.dtype:
        wrong = f"Dtypes {a.dtype} and {b.dtype} are not equal!"
    elif a.device != b.device and not {str(a.device), str(b.device)} <= {"cuda", "cuda:0"}:
        wrong = f"Devices {a.device} and {b.device} are not equal!"
    elif check_strides and (dim := _differing(a, b, False, False)) is not None:
        wrong = f"Stride mismatch! Strides are {a.stride()} and {b.stride()} (mismatched at {dim})!"
    elif check_strides and a.storage_offset() != b.storage_offset():
        offsets = f"{a.storage_offset()} and {b.storage_offset()}"
        wrong = f"Storage offset mismatch! Storage offsets are {offsets}!"
    elif check_conj and a.is_conj() != b.is_conj():
        wrong = f"Conj mismatch! is_conj is set to {a.is_conj()} and {b.is_conj()}"
    elif a.is_neg() != b.is_neg():
        wrong = f"Neg mismatch! is_neg is set to {a.is_neg()} and {b.is_neg()}"
    if wrong:
        raise MetadataMismatchError(wrong)
