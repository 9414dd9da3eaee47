"""What primitive ops compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from math import prod
from typing import Any

import rushlight as torch
from rushlight._prims_common.dtypes import is_float_dtype, is_grad_dtype
from rushlight._prims_common.shapes import (
    canonicalize_dim,
    check_same_device,
    check_same_shape,
    is_valid_permutation,
    validate_idx,
    validate_no_repeating_dims,
    validate_shape,
)

_SPECIAL = {
    "bessel_i0": "i0",
    "bessel_i0e": "i0e",
    "bessel_i1": "i1",
    "bessel_i1e": "i1e",
    "bessel_j0": "bessel_j0",
    "bessel_j1": "bessel_j1",
    "erfcx": "erfcx",
    "ndtri": "ndtri",
    "spherical_bessel_j0": "spherical_bessel_j0",
    "zeta": "zeta",
}
_RENAMED = {
    "erf_inv": "erfinv",
    "shift_left": "bitwise_left_shift",
    "shift_right_arithmetic": "bitwise_right_shift",
}
_BINARY = frozenset(
    "add atan2 bitwise_and bitwise_or bitwise_xor div eq fmax fmin fmod gcd ge gt hypot igamma igammac le lt "
    "maximum minimum mul ne nextafter pow remainder shift_left shift_right_arithmetic sub zeta".split()
)


def implementation(name: str) -> Callable[..., Any]:
    """The function of a primitive op."""
    function = globals().get(f"_{name.strip('_')}")
    if function is None:
        home = torch.special if name in _SPECIAL else torch
        function = getattr(home, _SPECIAL.get(name) or _RENAMED.get(name, name))
    return _checked(function) if name in _BINARY else function


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of two operands: what promotes and broadcasts is no primitive."""

    @wraps(function)
    def checked(self: Any, other: Any) -> Any:
        tensors = [t for t in (self, other) if isinstance(t, torch.Tensor)]
        if len(tensors) == 2 and self.dtype is not other.dtype:
            raise RuntimeError(f"Tensor with dtype {other.dtype} is not the expected dtype of {self.dtype}!")
        check_same_device(*tensors, allow_cpu_scalar_tensors=True)
        check_same_shape(*tensors, allow_cpu_scalar_tensors=True)
        return function(self, other)

    return checked


# --- elementwise ------------------------------------------------------------------------------------


def _cbrt(a: Any) -> Any:
    return torch.copysign(torch.pow(torch.abs(a), 1 / 3), a)


def _div(a: Any, b: Any) -> Any:
    whole = not any(is_float_dtype(t.dtype) or t.is_complex() for t in (a, b) if isinstance(t, torch.Tensor))
    return torch.div(a, b, rounding_mode="trunc") if whole else torch.true_divide(a, b)


def _complex(a: Any, message: str) -> Any:
    if not a.is_complex():
        raise RuntimeError(message)
    return a


def _conj(a: Any) -> Any:
    return torch.conj(_complex(a, "Expected complex dtype in prims.conj"))


def _conj_physical(a: Any) -> Any:
    return torch.conj_physical(_complex(a, "prims.conj_physical is only defined for complex dtypes"))


def _imag(a: Any) -> Any:
    return torch.imag(_complex(a, "Only complex dtype is supported"))


def _real(a: Any) -> Any:
    return torch.real(_complex(a, "Only complex dtype is supported"))


# --- views and shapes -------------------------------------------------------------------------------


def _broadcast_in_dim(a: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> Any:
    """`a` seen in another shape, where its dims are at these places."""
    places = list(broadcast_dimensions)
    if len(shape) < a.ndim or a.ndim != len(places):
        raise AssertionError(f"the places of {a.ndim} dims in {tuple(shape)} must be said, got {places}")
    for place, before in zip(places, [-1, *places], strict=False):
        if place <= before:
            raise AssertionError(f"broadcast_dimensions must be strictly ascending: {place} <= {before}")
        validate_idx(len(shape), place)
    for n, place in zip(a.shape, places, strict=True):
        if n not in (1, shape[place]):
            raise RuntimeError(f"{n} must be broadcastable to {shape[place]}")
    for place in range(len(shape)):
        if place not in broadcast_dimensions:
            a = a.unsqueeze(place)
    return a.expand(shape)


def expand_dims(a: Any, dimensions: Sequence[int], ndim: int | None = None) -> Any:
    """A view with dims of one place at these places of the result."""
    rank = a.ndim + len(dimensions) if ndim is None else ndim
    places = sorted(canonicalize_dim(rank, d) for d in dimensions)
    if len(set(places)) != len(places):
        raise ValueError(f"Received duplicate dimensions to expand in {dimensions}")
    for place in places:
        a = a.unsqueeze(place)
    return a


def _collapsed(a: Any, start: int, end: int) -> list[int]:
    rank = max(1, a.ndim)
    validate_idx(rank, start)
    validate_idx(rank, end)
    if end < start:
        raise ValueError(f"Attempting to collapse but end, {end}, is less than start, {start}!")
    sizes = list(a.shape) or [1]
    return [*sizes[:start], prod(sizes[start : end + 1]), *sizes[end + 1 :]]


def _collapse(a: Any, start: int, end: int) -> Any:
    return a.reshape(_collapsed(a, start, end)).clone()


def _collapse_view(a: Any, start: int, end: int) -> Any:
    sizes = _collapsed(a, start, end)
    try:
        return a.view(sizes)
    except RuntimeError as error:
        message = "Attempting to view a collapsed tensor, but no such view exists!"
        raise RuntimeError(message) from error


def _split_dim(a: Any, dim: int, outer_length: int) -> Any:
    validate_idx(a.ndim, dim)
    if outer_length == 0 or a.shape[dim] % outer_length:
        raise ValueError(
            f"Attempting to split dimension of length {a.shape[dim]}, but outer length of {outer_length} "
            "divides it with a remainder!"
        )
    return a.unflatten(dim, (outer_length, a.shape[dim] // outer_length))


def _squeeze(a: Any, dimensions: Sequence[int]) -> Any:
    for d in dimensions:
        validate_idx(a.ndim, d)
        if a.shape[d] != 1:
            raise AssertionError(f"Cannot squeeze dimension {d} with size {a.shape[d]} (must be 1)")
    return torch.squeeze(a, tuple(dimensions)) if dimensions else a.view(a.shape)


def _transpose(a: Any, permutation: Sequence[int]) -> Any:
    if a.ndim != len(permutation):
        raise ValueError(
            f"Attempting to permute a tensor of rank {a.ndim}, but received a permutation of length "
            f"{len(permutation)}!"
        )
    if not is_valid_permutation(a.ndim, permutation):
        raise ValueError(f"Received an invalid permutation, {permutation}!")
    return a.permute(permutation)


def _view_of(a: Any) -> Any:
    return a.view(a.shape)


def _view_of_dtype(a: Any, dtype: torch.dtype) -> Any:
    return a.view(dtype)


def _reshape(a: Any, shape: Sequence[int]) -> Any:
    validate_shape(shape)
    return a.reshape(shape).contiguous().clone()


def _rev(a: Any, dims: Sequence[int]) -> Any:
    validate_no_repeating_dims(dims)
    return torch.flip(a, tuple(dims))


def _cat(tensors: Any, dim: int) -> Any:
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    return torch.cat(tensors, dim)


# --- conversions, copies ----------------------------------------------------------------------------


def _convert_element_type(a: Any, dtype: torch.dtype) -> Any:
    return a.to(dtype, copy=True)


def _device_put(a: Any, device: Any, non_blocking: bool = False) -> Any:
    return a.to(device, non_blocking=non_blocking)


def _item(a: Any) -> Any:
    return a.item()


def _limit(dtype: torch.dtype, which: str) -> Any:
    if dtype is torch.bool:
        return which == "max"
    return getattr(torch.finfo(dtype) if is_grad_dtype(dtype) else torch.iinfo(dtype), which)


def _maximum_value(dtype: torch.dtype) -> Any:
    return _limit(dtype, "max")


def _minimum_value(dtype: torch.dtype) -> Any:
    return _limit(dtype, "min")


def _copy_strided(a: Any, stride: Sequence[int]) -> Any:
    return torch.empty_strided(a.shape, stride, dtype=a.dtype, device=a.device).copy_(a)


def _copy_to(a: Any, b: Any) -> Any:
    return a.copy_(b)


def _resize(a: Any, shape: Sequence[int]) -> Any:
    return a.resize_(shape)


# --- reductions -------------------------------------------------------------------------------------


def _all_dims(inp: Any, dims: Sequence[int] | None) -> tuple[int, ...]:
    return tuple(range(inp.ndim)) if dims is None else tuple(dims)


def _amax(inp: Any, dims: Any, *, output_dtype: Any = None) -> Any:
    return torch.amax(inp, _all_dims(inp, dims)).to(output_dtype or inp.dtype)


def _amin(inp: Any, dims: Any, *, output_dtype: Any = None) -> Any:
    return torch.amin(inp, _all_dims(inp, dims)).to(output_dtype or inp.dtype)


def _sum(inp: Any, dims: Any, *, output_dtype: Any = None) -> Any:
    return torch.sum(inp, _all_dims(inp, dims), dtype=output_dtype)


def _prod(inp: Any, dims: Any, *, output_dtype: Any = None) -> Any:
    for d in sorted(_all_dims(inp, dims), reverse=True):
        inp = torch.prod(inp, d, dtype=output_dtype)
    return inp if output_dtype is None else inp.to(output_dtype)


def _var(inp: Any, dims: Any, correction: float | None = 1, *, output_dtype: Any = None) -> Any:
    found = torch.var(inp, _all_dims(inp, dims), correction=correction)
    return found if output_dtype is None else found.to(output_dtype)


# --- new tensors ------------------------------------------------------------------------------------


def _iota(length: int, *, start: int, step: int, **options: Any) -> Any:
    if length < 0:
        raise RuntimeError("length must be nonnegative")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    return torch.arange(start, start + length * step, step, **options)


def _normal(
    shape: Sequence[int], *, mean: Any, std: Any, requires_grad: bool, generator: Any = None, **options: Any
) -> Any:
    made = torch.empty(shape, **options)
    return made.normal_(mean, std, generator=generator).requires_grad_(requires_grad)


def _uniform(
    shape: Sequence[int], *, low: Any, high: Any, stride: Sequence[int], generator: Any = None, **options: Any
) -> Any:
    return torch.empty_strided(shape, stride, **options).uniform_(low, high, generator=generator)


def _make_token() -> Any:
    return torch.empty(0)


def _sink_tokens(tokens: Any) -> None:
    """Nothing is left of them."""


# --- linear algebra, transforms ---------------------------------------------------------------------


def _svd(A: Any, *, full_matrices: bool) -> Any:
    return torch.linalg.svd(A, full_matrices=full_matrices)


def _fft_r2c(self: Any, *, dim: Sequence[int], onesided: bool) -> Any:
    return (torch.fft.rfftn if onesided else torch.fft.fftn)(self, dim=tuple(dim))


def _fft_c2c(self: Any, *, dim: Sequence[int], forward: bool) -> Any:
    dims = tuple(dim)
    return torch.fft.fftn(self, dim=dims) if forward else torch.fft.ifftn(self, dim=dims, norm="forward")


def _fft_c2r(self: Any, *, dim: Sequence[int], last_dim_size: int) -> Any:
    sizes = [*(self.shape[d] for d in dim[:-1]), last_dim_size]
    return torch.fft.irfftn(self, s=sizes, dim=tuple(dim), norm="forward")
