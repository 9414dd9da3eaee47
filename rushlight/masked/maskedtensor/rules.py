"""What ops do to a MaskedTensor: rules of functions, above autograd, and of torch.ops.aten, below it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.core.pytree import tree_map
from rushlight.masked.maskedtensor.core import MaskedTensor, Values, data_of, is_masked_tensor, mask_of

# Ops that only move elements: done to the data, and to the mask.
_MOVING = """select transpose split t slice slice_backward select_backward index expand view _unsafe_view
    _reshape_alias cat unsqueeze unfold unfold_backward im2col col2im stack""".split()

_UNARY = """
    abs absolute acos acosh angle arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh
    bitwise_not ceil clamp clip conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1
    fix floor frac i0 isnan lgamma log log10 log1p log2 logit nan_to_num neg negative positive pow
    rad2deg reciprocal round rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc
""".split()

_BINARY = """
    add arctan2 atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor div
    divide eq floor_divide fmax fmin fmod ge greater greater_equal gt le less less_equal logaddexp
    logaddexp2 lt maximum minimum mul multiply ne nextafter not_equal remainder sub subtract true_divide
""".split()

_REDUCING = "sum mean amin amax argmin argmax prod all norm var std".split()


# --- above autograd --------------------------------------------------------------------------------


class _Contiguous(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: MaskedTensor) -> Tensor:
        if input.is_contiguous():
            return input
        return MaskedTensor(input._masked_data.contiguous(), input._masked_mask.contiguous())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad


class _Where(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, condition: Tensor, input: Any, other: Any) -> Any:
        ctx.save_for_backward(condition)
        return _where_op(torch.where, condition, input, other)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (condition,) = ctx.saved_tensors
        nothing = MaskedTensor(grad.get_data(), torch.zeros_like(grad.get_mask()))
        sides = ((grad, nothing), (nothing, grad))
        return None, *(_where_op(torch.where, condition, *each) for each in sides)


def _any(mask: Tensor, dim: Any, keepdim: bool) -> Tensor:
    for each in sorted((dim,) if isinstance(dim, int) else dim, reverse=True):
        mask = mask.any(dim=each, keepdim=keepdim)
    return mask


class _Reduced(Values):
    """The masked result of a reduction, whose gradient is that of its data."""

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Tensor, None]:
        return data_of(grad), None


def _reduce(name: str, input: MaskedTensor, *args: Any, **kwargs: Any) -> Any:
    """A reduction over the elements that count: of all, or with `dim`, `keepdim` and `dtype`."""
    mask = input.get_mask()
    if not args and not kwargs:
        if name == "all":
            return MaskedTensor(input.get_data().masked_fill(~mask, True).all(), mask.any())
        return _Reduced.apply(getattr(torch.masked, name)(input.get_data(), mask=mask), mask.any())
    dim, keepdim, dtype = _reduction_arguments(*args, **kwargs)
    if name == "all":
        result = torch.all(input.get_data().masked_fill(~mask, True), dim=dim, keepdim=keepdim)
    else:
        function = getattr(torch.masked, name)
        result = function(input.get_data(), dim=dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return _Reduced.apply(result, _any(mask, dim, keepdim))


def _reduction_arguments(dim: Any, keepdim: bool = False, dtype: Any = None) -> tuple[Any, bool, Any]:
    return dim, keepdim, dtype


def _where(condition: Tensor, input: Any, other: Any) -> Any:
    return _Where.apply(condition, input, other)


def _contiguous(input: MaskedTensor, *args: Any, **kwargs: Any) -> Any:
    return _Contiguous.apply(input)


@functools.cache
def _functions() -> dict[Any, Callable[..., Any]]:
    found: dict[Any, Callable[..., Any]] = {}
    for name in _REDUCING:
        for space in (torch, Tensor):
            found[getattr(space, name)] = functools.partial(_reduce, name)
    found[torch.where] = found[Tensor.where] = _where
    found[Tensor.contiguous] = _contiguous
    return found


def function_rule(func: Any) -> Callable[..., Any] | None:
    """What a function of torch or a method of Tensor does, where it is not left to the ops below autograd."""
    return _functions().get(func)


# --- below autograd --------------------------------------------------------------------------------


def _masks(args: Any, kwargs: Any) -> Any:
    return tree_map(lambda each: each._masked_mask if is_masked_tensor(each) else each, (args, kwargs))


def _datas(args: Any, kwargs: Any) -> Any:
    return tree_map(data_of, (args, kwargs))


def _wrapped(data: Any, mask: Any) -> Any:
    if isinstance(data, (list, tuple)):
        return type(data)(_wrapped(*each) for each in zip(data, mask, strict=True))
    return MaskedTensor(data, mask)


def _moved(func: Any, *args: Any, **kwargs: Any) -> Any:
    (data, options), (mask, mask_options) = _datas(args, kwargs), _masks(args, kwargs)
    return _wrapped(func(*data, **options), func(*mask, **mask_options))


def _unary(func: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    if kwargs:
        raise ValueError(
            "MaskedTensor unary ops require that len(kwargs) == 0. If you need support for this, please open "
            "an issue on Github."
        )
    if any(isinstance(each, Tensor) for each in args):
        raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    return _given(func, input, func(data_of(input), *args), mask_of(input))


def _given(func: Any, input: Any, data: Tensor, mask: Tensor) -> Any:
    """The result of an op, which is its input where the op writes into it."""
    if not func.overloadpacket.__name__.endswith("_"):
        return MaskedTensor(data, mask)
    input._set_data_mask(data, mask)
    return input


def _matched(one: Any, other: Any) -> bool:
    masks = (mask_of(one), mask_of(other))
    if masks[0] is None or masks[1] is None:
        return True
    return masks[0].dim() == masks[1].dim() and bool(torch.eq(*masks).all())


def _binary(func: Any, input: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
    if kwargs:
        raise ValueError("len(kwargs) must equal 0")
    if any(isinstance(each, Tensor) for each in args):
        raise TypeError("MaskedTensor binary ops do not support Tensor arguments aside from the lhs and rhs")
    if not _matched(input, other):
        raise ValueError(
            "Input masks must match. If you need support for this, please open an issue on Github."
        )
    data = func(data_of(input), data_of(other), *args)
    mask = mask_of(input) if is_masked_tensor(input) else mask_of(other)
    return _given(func, input, data, mask.expand_as(data))


def _reduced(func: Any, input: MaskedTensor, *args: Any, **kwargs: Any) -> Any:
    return _reduce(func.overloadpacket.__name__, input, *args, **kwargs)


def _of_data(func: Any, input: MaskedTensor, *args: Any, **kwargs: Any) -> MaskedTensor:
    return MaskedTensor(func(data_of(input), *args, **kwargs), mask_of(input))


def _to_copy(func: Any, input: MaskedTensor, *args: Any, **kwargs: Any) -> MaskedTensor:
    mask = func(mask_of(input), *args, **{**kwargs, "dtype": torch.bool})
    return MaskedTensor(func(data_of(input), *args, **kwargs), mask)


def _contiguous_op(func: Any, input: MaskedTensor, *args: Any, **kwargs: Any) -> Any:
    return _Contiguous.apply(input)


def _is_contiguous(func: Any, input: MaskedTensor, *args: Any, **kwargs: Any) -> Any:
    return func(data_of(input), *args, **kwargs)


def _item(func: Any, input: MaskedTensor) -> Any:
    if not mask_of(input):
        raise ValueError(f"__torch_dispatch__, {func.overloadpacket}: expected a mask tensor")
    return func(data_of(input))


def _softmax(func: Any, input: MaskedTensor, dim: int, half_to_float: bool) -> MaskedTensor:
    data, mask = data_of(input), mask_of(input)
    result = torch.softmax(data.masked_fill(~mask, -torch.inf), dim)
    return MaskedTensor(result.masked_fill(~mask, 0), mask)


def _softmax_backward(func: Any, grad: Any, output: Any, dim: int, input_dtype: Any) -> MaskedTensor:
    if not (is_masked_tensor(grad) and is_masked_tensor(output)):
        raise ValueError(
            f"__torch_dispatch__, {func.overloadpacket}: grad and output must both be MaskedTensors"
        )
    if not _matched(grad, output):
        raise ValueError(
            f"__torch_dispatch__, {func.overloadpacket}: expected the masks of grad and output to match"
        )
    mask = mask_of(grad)
    weighted = (data_of(grad) * data_of(output)).masked_fill(~mask, 0)
    return MaskedTensor(weighted - data_of(output) * weighted.sum(dim, keepdim=True), mask)


def _copy(func: Any, input: Any, other: Any, *args: Any) -> Any:
    if not _matched(input, other):
        raise ValueError("args[0] mask and args[1] mask must match but do not")
    func(data_of(input), data_of(other))
    return input


def _where_op(func: Any, condition: Tensor, input: Any, other: Any) -> MaskedTensor:
    sides = [
        each if is_masked_tensor(each) else MaskedTensor(each, torch.ones_like(each, dtype=torch.bool))
        for each in (input, other)
    ]
    return MaskedTensor(func(condition, *map(data_of, sides)), func(condition, *map(mask_of, sides)))


def _is_any_true(func: Any, input: MaskedTensor) -> MaskedTensor:
    if data_of(input).dtype != torch.bool:
        raise ValueError(f"__torch_dispatch__, {func.overloadpacket}: expected a boolean tensor")
    return MaskedTensor(func(data_of(input) & mask_of(input)), torch.tensor(True))


def _is_same_size(func: Any, input: Any, other: Any) -> Any:
    return data_of(input).is_same_size(data_of(other))


_OPS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(_MOVING, _moved),
    **dict.fromkeys([*_UNARY, *(f"{name}_" for name in _UNARY)], _unary),
    **dict.fromkeys([*_BINARY, *(f"{name}_" for name in _BINARY)], _binary),
    **dict.fromkeys(_REDUCING, _reduced),
    **dict.fromkeys(["detach", "clone", "ones_like", "new_empty_strided"], _of_data),
    "_to_copy": _to_copy,
    "contiguous": _contiguous_op,
    "is_contiguous": _is_contiguous,
    "_local_scalar_dense": _item,
    "_softmax": _softmax,
    "_softmax_backward_data": _softmax_backward,
    "copy_": _copy,
    "where": _where_op,
    "_is_any_true": _is_any_true,
    "is_same_size": _is_same_size,
}


def op_rule(func: Any) -> Callable[..., Any] | None:
    """What an op of torch.ops.aten does; None where it is not there for a MaskedTensor."""
    return _OPS.get(func.overloadpacket.__name__)
