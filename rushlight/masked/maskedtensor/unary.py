"""Ops on one MaskedTensor, element by element: done to the data that there is, under the same mask."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight.masked.maskedtensor.core import MaskedTensor, data_of, mask_of, with_values

UNARY_NAMES = """
    abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh
    bitwise_not ceil clamp clip conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1
    fix floor frac lgamma log log10 log1p log2 logit i0 isnan nan_to_num neg negative positive pow
    rad2deg reciprocal round rsqrt sigmoid sign sgn signbit sin sinc sinh sqrt square tan tanh trunc
""".split()
_OUT_OF_PLACE = ("angle", "positive", "signbit", "isnan")
INPLACE_UNARY_NAMES = [f"{name}_" for name in UNARY_NAMES if name not in _OUT_OF_PLACE]

NATIVE_UNARY_FNS = [getattr(torch.ops.aten, name) for name in UNARY_NAMES]
NATIVE_INPLACE_UNARY_FNS = [getattr(torch.ops.aten, name) for name in INPLACE_UNARY_NAMES]


def unary(func: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    """The op's result under the input's mask: of sparse data, the op on its values.

    ValueError for keywords, TypeError for further tensors.
    """
    if kwargs:
        raise ValueError(
            "MaskedTensor unary ops require that len(kwargs) == 0. If you need support for this, please open "
            "an issue on Github."
        )
    if any(isinstance(each, Tensor) for each in args):
        raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    data = data_of(input)
    found = func(data, *args) if not input.is_sparse else with_values(data, func(data.values(), *args))
    return given(func, input, found, mask_of(input))


def given(func: Any, input: Any, data: Tensor, mask: Tensor) -> Any:
    """The result of an op, which is its input where the op writes into it."""
    if not func.overloadpacket.__name__.endswith("_"):
        return MaskedTensor(data, mask)
    input._set_data_mask(data, mask)
    return input
