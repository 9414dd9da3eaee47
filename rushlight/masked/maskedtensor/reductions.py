"""Reductions of a MaskedTensor: over the elements that count, masked where there is none."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.core.callers import warn
from rushlight.masked.maskedtensor.core import MaskedTensor, Values, data_of

REDUCE_NAMES = "sum mean amin amax argmin argmax prod all norm var std".split()

NATIVE_REDUCE_FNS = [getattr(torch.ops.aten, name) for name in REDUCE_NAMES]
TORCH_REDUCE_FNS = [getattr(torch, name) for name in REDUCE_NAMES]
TENSOR_REDUCE_FNS = [getattr(Tensor, name) for name in REDUCE_NAMES]

_SPARSE = (
    "The sparse version of {} is not implemented in reductions.\nIf you would like this operator to be "
    "supported, please file an issue for a feature request at https://github.com/pytorch/maskedtensor/issues "
    "with a minimal reproducible code snippet.\nIn the case that the semantics for the operator are not "
    "trivial, it would be appreciated to also include a proposal for the semantics."
)


class _Reduced(Values):
    """The masked result of a reduction, whose gradient is that of its data."""

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Tensor, None]:
        return data_of(grad), None


def reduce(name: str, input: MaskedTensor, *args: Any, **kwargs: Any) -> Any:
    """A reduction over the elements that count: of all or, of dense data, with `dim`, `keepdim`, `dtype`."""
    if not args and not kwargs:
        return _of_all(name, input)
    if input.is_sparse:
        warn(_SPARSE.format(name))
        return NotImplemented
    dim, keepdim, dtype = _arguments(*args, **kwargs)
    data, mask = input.get_data(), input.get_mask()
    if name == "all":
        result = torch.all(data.masked_fill(~mask, True), dim=dim, keepdim=keepdim)
    else:
        result = getattr(torch.masked, name)(data, dim=dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return _Reduced.apply(result, _any(mask, dim, keepdim))


def _of_all(name: str, input: MaskedTensor) -> Any:
    """Over all elements that count; of sparse data, over its values."""
    data, mask = input.get_data(), input.get_mask()
    values = data
    if input.is_sparse:
        values, mask = data.values(), mask.values()
    if name == "all":
        return MaskedTensor(values.masked_fill(~mask, True).all(), mask.any())
    result = getattr(torch.masked, name)(values, mask=mask)
    if name in ("argmin", "argmax") and input.is_sparse_coo():
        result = _flat(data, result)
    return _Reduced.apply(result, mask.any())


def _flat(data: Tensor, number: Tensor) -> Tensor:
    """Where in the flattened tensor the value of a COO tensor with this number is, as a float."""
    sizes = torch.tensor(data.size(), device=data.device)
    found: Tensor = (data.indices()[:, int(number)] * (data.size().numel() / sizes.cumprod(0))).sum()
    return found


def _arguments(dim: Any, keepdim: bool = False, dtype: Any = None) -> tuple[Any, bool, Any]:
    return dim, keepdim, dtype


def _any(mask: Tensor, dim: Any, keepdim: bool) -> Tensor:
    for each in sorted((dim,) if isinstance(dim, int) else dim, reverse=True):
        mask = mask.any(dim=each, keepdim=keepdim)
    return mask
