"""What ops do to a MaskedTensor: rules of functions, above autograd, and of torch.ops.aten, below it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.core.pytree import tree_map
from rushlight.masked.maskedtensor.binary import BINARY_NAMES, INPLACE_BINARY_NAMES, binary
from rushlight.masked.maskedtensor.core import MaskedTensor, _masks_match, data_of, is_masked_tensor, mask_of
from rushlight.masked.maskedtensor.reductions import (
    NATIVE_REDUCE_FNS,
    REDUCE_NAMES,
    TENSOR_REDUCE_FNS,
    TORCH_REDUCE_FNS,
    reduce,
)
from rushlight.masked.maskedtensor.unary import INPLACE_UNARY_NAMES, UNARY_NAMES, unary

# Ops that only move elements: done to the data, and to the mask.
_MOVING = """select transpose split t slice slice_backward select_backward index expand view _unsafe_view
    _reshape_alias cat unsqueeze unfold unfold_backward im2col col2im stack""".split()

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


def _where(condition: Tensor, input: Any, other: Any) -> Any:
    return _Where.apply(condition, input, other)


def _contiguous(input: MaskedTensor, *args: Any, **kwargs: Any) -> Any:
    return _Contiguous.apply(input)


@functools.cache
def _functions() -> dict[Any, Callable[..., Any]]:
    found: dict[Any, Callable[..., Any]] = {}
    for functions in (NATIVE_REDUCE_FNS, TORCH_REDUCE_FNS, TENSOR_REDUCE_FNS):
        for name, function in zip(REDUCE_NAMES, functions, strict=True):
            found[function] = functools.partial(reduce, name)
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


def _reduced(func: Any, input: MaskedTensor, *args: Any, **kwargs: Any) -> Any:
    return reduce(func.overloadpacket.__name__, input, *args, **kwargs)


def _of_data(func: Any, input: MaskedTensor, *args: Any, **kwargs: Any) -> MaskedTensor:
    return MaskedTensor(func(data_of(input), *args, **kwargs), mask_of(input))


def _to_copy(func: Any, input: MaskedTensor, *args: Any, **kwargs: Any) -> MaskedTensor:
    mask = func(mask_of(input), *args, **{**kwargs, "dtype": torch.bool})
    return MaskedTensor(func(data_of(input), *args, **kwargs), mask)


def _contiguous_op(func: Any, input: MaskedTensor, *args: Any, **kwargs: Any) -> Any:
    return _Contiguous.apply(input)


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
    if not _masks_match(grad, output):
        raise ValueError(
            f"__torch_dispatch__, {func.overloadpacket}: expected the masks of grad and output to match"
        )
    mask = mask_of(grad)
    weighted = (data_of(grad) * data_of(output)).masked_fill(~mask, 0)
    return MaskedTensor(weighted - data_of(output) * weighted.sum(dim, keepdim=True), mask)


def _copy(func: Any, input: Any, other: Any, *args: Any) -> Any:
    if not _masks_match(input, other):
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
    **dict.fromkeys([*UNARY_NAMES, *INPLACE_UNARY_NAMES], unary),
    **dict.fromkeys([*BINARY_NAMES, *INPLACE_BINARY_NAMES], binary),
    **dict.fromkeys(REDUCE_NAMES, _reduced),
    **dict.fromkeys(["detach", "clone", "ones_like", "new_empty_strided"], _of_data),
    "_to_copy": _to_copy,
    "contiguous": _contiguous_op,
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
