"""Ops on two tensors, one of them a MaskedTensor, element by element; masks must be equal."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight.masked.maskedtensor.core import (
    SPARSE,
    _masks_match,
    data_of,
    is_masked_tensor,
    mask_of,
    same_places,
    with_values,
)
from rushlight.masked.maskedtensor.unary import given

BINARY_NAMES = """
    add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div
    divide floor_divide fmod logaddexp logaddexp2 mul multiply nextafter remainder sub subtract
    true_divide eq ne le ge greater greater_equal gt less_equal lt less maximum minimum fmax fmin
    not_equal
""".split()
_OUT_OF_PLACE = ("logaddexp", "logaddexp2", "fmin", "minimum", "maximum", "fmax")
INPLACE_BINARY_NAMES = [f"{name}_" for name in BINARY_NAMES if name not in _OUT_OF_PLACE]

NATIVE_BINARY_FNS = [getattr(torch.ops.aten, name) for name in BINARY_NAMES]
NATIVE_INPLACE_BINARY_FNS = [getattr(torch.ops.aten, name) for name in INPLACE_BINARY_NAMES]


def binary(func: Any, input: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
    """The op's result under the mask that is there; sparse data must have the same indices.

    ValueError for masks or indices that differ and for keywords, TypeError for further tensors.
    """
    if kwargs:
        raise ValueError("len(kwargs) must equal 0")
    if any(isinstance(each, Tensor) for each in args):
        raise TypeError("MaskedTensor binary ops do not support Tensor arguments aside from the lhs and rhs")
    if not _masks_match(input, other):
        raise ValueError(
            "Input masks must match. If you need support for this, please open an issue on Github."
        )
    mask = mask_of(input) if is_masked_tensor(input) else mask_of(other)
    one, two = data_of(input), data_of(other)
    if getattr(one, "layout", None) in SPARSE:
        return given(func, input, with_values(one, func(one.values(), _values(one, two), *args)), mask)
    data = func(one, two, *args)
    return given(func, input, data, mask.expand_as(data))


def _values(one: Tensor, two: Any) -> Any:
    """The values of sparse data beside another's; what is not of its layout stays as it is."""
    if not isinstance(two, Tensor) or two.layout != one.layout:
        return two
    if not same_places(one, two):
        raise ValueError(
            f"{one.layout.name} indices must match. If you need support for this, please open an issue on "
            "Github."
        )
    if one.size() != two.size():
        raise ValueError("input1 and input2 must have the same size for binary functions.")
    return two.values()
