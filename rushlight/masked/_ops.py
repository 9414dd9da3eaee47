"""Reductions and normalisations over the elements that a mask chooses.

`mask` is a bool tensor that broadcasts to the input; what it leaves out counts as the operation's identity
(0 for a sum, -inf for a maximum), so that a row without any element gives that identity. Without a mask every
element counts. `dim` is an int, a tuple of ints, or None for all dims.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import rushlight as torch
from rushlight._engine.core.errors import wrap_dim
from rushlight.masked.maskedtensor.core import is_masked_tensor

Tensor = torch.Tensor
__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]


def _dims(input: Tensor, dim: Any) -> tuple[int, ...]:
    return _canonical_dim(dim, input.ndim)


def _canonical_dim(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dims that a reduction of a tensor of `ndim` dims is over."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    dims: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d in dims:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        dims.append(wrap_dim(d, ndim))
    return tuple(sorted(dims))


def _mask(input: Tensor, mask: Tensor) -> Tensor:
    if mask.ndim > input.ndim:
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher "
            f"than of the input): mask {tuple(mask.shape)}, input {tuple(input.shape)}"
        )
    chosen = mask.to_dense().to(torch.bool)
    return chosen if mask.shape == input.shape else chosen.broadcast_to(input.shape)


def _filled(input: Tensor, mask: Tensor | None, value: Any, dtype: Any = None) -> Tensor:
    """The input in `dtype` with `value` where the mask leaves it out."""
    if dtype is not None and input.dtype is not dtype:
        input = input.to(dtype)
    if mask is None:
        return input
    return torch.where(_mask(input, mask), input, torch.tensor(value, dtype=input.dtype, device=input.device))


def _lowest(op: str, input: Tensor) -> Any:
    """Less than every number of the dtype."""
    if input.is_complex() and op == "logsumexp":
        return complex(-torch.inf, 0)
    if input.dtype in (torch.bool, torch.uint16, torch.uint32, torch.uint64):
        raise NotImplementedError(f"identity of {op} on {input.dtype} input")
    return float("-inf") if input.is_floating_point() else torch.iinfo(input.dtype).min


def _highest(op: str, input: Tensor) -> Any:
    lowest = _lowest(op, input)
    return -lowest if isinstance(lowest, float) else torch.iinfo(input.dtype).max


def _bounded(op: str, bound: Any, input: Tensor, mask: Tensor | None, dtype: Any) -> Tensor:
    """The input with the op's bound, `_lowest` or `_highest`, where the mask leaves it out."""
    return _filled(input, mask, None if mask is None else bound(op, input), dtype)


def _of_sparse(reduction: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A reduction that takes COO and CSR tensors too, whose result is of that layout: it has what the mask
    chooses. All but a sum need a mask then.
    """

    @wraps(reduction)
    def reduce(input: Tensor, dim: Any = None, **options: Any) -> Tensor:
        if input.layout is torch.strided:
            return reduction(input, dim, **options)
        mask = options.pop("mask", None)
        if mask is None:
            if reduction.__name__ != "sum":
                raise ValueError(
                    f"masked {reduction.__name__} expects explicit mask for {input.layout.name} tensor input"
                )
            found = reduction(input.to_dense(), dim, **options)
            return found.to_sparse(layout=input.layout)
        dense = input.to_dense()
        found = reduction(dense, dim, mask=mask, **options)
        whole = dim is None or (not isinstance(dim, int) and len(dim) in (0, input.ndim))
        if not found.ndim or (whole and input.layout is torch.sparse_coo):
            return found.to_sparse(layout=input.layout)  # which leaves a zero out
        reduced = _output_mask(reduction, dense, dim, mask=mask, **options)
        return found.sparse_mask(reduced.to_sparse(layout=input.layout))

    return reduce


@_of_sparse
def sum(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The sum of the chosen elements; integers are added up as int64."""
    return _filled(input, mask, 0, dtype).sum(_dims(input, dim), keepdim, dtype=dtype)


@_of_sparse
def prod(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The product of the chosen elements."""
    found = _filled(input, mask, 1, dtype)
    for d in sorted((d % max(input.ndim, 1) for d in _dims(input, dim)), reverse=True):
        found = found.prod(d, keepdim, dtype=dtype)
    return found.prod(dtype=dtype) if not input.ndim else found


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Running sums of the chosen elements."""
    return _filled(input, mask, 0, dtype).cumsum(_dims(input, dim)[0], dtype=dtype or input.dtype)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Running products of the chosen elements."""
    return _filled(input, mask, 1, dtype).cumprod(_dims(input, dim)[0], dtype=dtype or input.dtype)


@_of_sparse
def amax(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The greatest chosen element."""
    return _bounded("amax", _lowest, input, mask, dtype).amax(_dims(input, dim), keepdim)


@_of_sparse
def amin(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The least chosen element."""
    return _bounded("amin", _highest, input, mask, dtype).amin(_dims(input, dim), keepdim)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the greatest chosen element is, as a number of the input's dtype (PyTorch's choice)."""
    found = _bounded("argmax", _lowest, input, mask, dtype).argmax(dim, keepdim)
    return found.to(input.dtype if dtype is None else dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the least chosen element is, as a number of the input's dtype."""
    found = _bounded("argmin", _highest, input, mask, dtype).argmin(dim, keepdim)
    return found.to(input.dtype if dtype is None else dtype)


def _count(input: Tensor, dim: Any, keepdim: bool, mask: Tensor | None, dtype: Any) -> Tensor:
    ones = input.new_ones(input.shape, dtype=dtype) if mask is None else _mask(input, mask).to(dtype)
    return ones.sum(_dims(input, dim), keepdim)


@_of_sparse
def mean(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The mean of the chosen elements; nan of none."""
    of = input.dtype if dtype is None else dtype
    if not (of.is_floating_point or of.is_complex):
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating "
            f"point or complex dtype. Got: {of}"
        )
    if mask is None:
        return input.to(of).mean(_dims(input, dim), keepdim)
    return sum(input, dim, keepdim=keepdim, dtype=of, mask=mask) / _count(input, dim, keepdim, mask, of)


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The median of the chosen elements; nan of none (ValueError for integers)."""
    of = input.dtype if dtype is None else dtype
    floating = of.is_floating_point
    filled = _filled(input, mask, float("nan"), of if floating else torch.float32)
    found = filled.nanmedian(_dims(input, dim)[0], keepdim).values
    if floating:
        return found
    if bool(found.isnan().any()):
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return found.to(of)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norm of the chosen elements."""
    order = 2.0 if ord is None else ord
    fill = float("inf") if order == float("-inf") else 0
    filled = _filled(input, mask, fill, dtype)
    return torch.linalg.vector_norm(filled, order, _dims(input, dim), keepdim, dtype=dtype)


def _variance(
    input: Tensor,
    dim: Any,
    unbiased: bool | None,
    correction: float | None,
    keepdim: bool,
    dtype: Any,
    mask: Tensor | None,
) -> Tensor:
    if unbiased is not None and correction is not None:
        raise RuntimeError("Only one of the arguments unbiased and correction can be given")
    if correction is None:
        correction = 1.0 if unbiased is None or unbiased else 0.0
    of = input.dtype if dtype is None else dtype
    of = of if of.is_floating_point or of.is_complex else torch.float32
    x = input.to(of) if input.dtype is not torch.bool else input - input  # PyTorch's error for bools
    around = x - sum(x, dim, keepdim=True, mask=mask) / _count(x, dim, True, mask, of)
    total = sum(around * around.conj(), dim, keepdim=keepdim, mask=mask)
    return total / (_count(x, dim, keepdim, mask, of.to_real()) - correction).clamp(min=0)


def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of the chosen elements, over their number less `correction` (1 unless said otherwise)."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The root of `var`."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """softmax over the chosen elements; 0 elsewhere, nan in a row without any."""
    return _bounded("softmax", _lowest, input, mask, dtype).softmax(_dims(input, dim)[0])


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """log_softmax over the chosen elements; -inf elsewhere."""
    return _bounded("log_softmax", _lowest, input, mask, dtype).log_softmax(_dims(input, dim)[0])


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """softmin over the chosen elements."""
    filled = _bounded("softmin", _highest, input, mask, dtype)
    return torch.nn.functional.softmin(filled, _dims(input, dim)[0])


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The chosen elements over their norm along `dim` (at least eps); 0 elsewhere."""
    length = norm(input, ord, _dims(input, dim)[0], keepdim=True, dtype=dtype, mask=mask)
    return _filled(input, mask, 0, dtype) / length.clamp(min=eps)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(input) + exp(other)); what a mask leaves out counts as exp(-inf)."""
    return torch.logaddexp(
        _bounded("logaddexp", _lowest, input, input_mask, dtype),
        _bounded("logaddexp", _lowest, other, other_mask, dtype),
    )


def logsumexp(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """log of the sum of the exponentials of the chosen elements; -inf of none."""
    found = torch.logsumexp(_bounded("logsumexp", _lowest, input, mask, dtype), _dims(input, dim), keepdim)
    return found.to(dtype or input.dtype)


# --- what tests of masks and of reductions ask ------------------------------------------------------


_IDENTITIES: dict[str, Any] = {"sum": 0, "cumsum": 0, "prod": 1, "cumprod": 1}


def _reduction_identity(op_name: str, input: Tensor, *args: Any) -> Tensor | None:
    """What changes no result of a reduction, as a tensor of no dims and input's dtype, if there is such."""
    name = op_name.rpartition(".")[2]
    if name in ("mean", "var", "std"):
        return None
    if name == "median":
        return torch.tensor(float("nan"), dtype=input.dtype if input.is_floating_point() else torch.float32)
    if name == "norm":
        value: Any = float("inf") if args and args[0] == float("-inf") else 0
    elif name in _IDENTITIES:
        value = _IDENTITIES[name]
    elif name in ("amax", "argmax", "logaddexp", "logsumexp"):
        value = _lowest(name, input)
    elif name in ("amin", "argmin"):
        value = _highest(name, input)
    else:
        raise NotImplementedError(f"identity of {name} on {input.dtype} input")
    return torch.tensor(value, dtype=input.dtype, device=input.device)


def _combine_input_and_mask(op: Any, input: Any, mask: Tensor | None, *args: Any) -> Tensor:
    """The input with what changes no result of `op` where the mask leaves it out."""
    if is_masked_tensor(input):
        input, mask = input.get_data(), input.get_mask()
    if mask is None:
        whole: Tensor = input
        return whole
    if not callable(op):
        raise ValueError(
            f"_combine_input_and_mask expected masked operation (got {type(op).__name__} object)"
        )
    return _where(_mask(input, mask), input, _reduction_identity(op.__name__, input, *args))


def _where(mask: Tensor, input: Tensor, fill_value: Any) -> Tensor:
    """torch.where, also of a mask and an input that are both COO or both CSR: the result has what is chosen.

    Of hybrid tensors a place is chosen where any of its elements is; fill_value stands in the others.
    """
    if mask.layout is torch.strided:
        return torch.where(mask, input, fill_value)
    if mask.layout not in (torch.sparse_coo, torch.sparse_csr):
        raise ValueError(f"_where expects strided or sparse COO or sparse CSR tensor but got {mask.layout}")
    coo = mask.to_sparse_coo().coalesce()
    there = coo.values().flatten(1).any(1) if coo.dense_dim() else coo.values()
    places, chosen = coo.indices()[:, there], coo.values()[there]
    values = torch.where(chosen, input.to_dense()[tuple(places)], fill_value)
    found: Tensor = torch.sparse_coo_tensor(places, values, input.shape, is_coalesced=True)
    return found if mask.layout is torch.sparse_coo else found.to_sparse_csr()


def _input_mask(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The mask that a masked function is given, in the input's shape; without one, all True."""
    mask = kwargs.get("mask")
    return input.new_ones(input.shape, dtype=torch.bool) if mask is None else _mask(input, mask)


def _output_mask(op: Any, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Which elements of a masked function's result any chosen element has contributed to."""
    chosen = _input_mask(input, *args, **kwargs)
    if op.__name__ in ("softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod"):
        return chosen
    dim = args[int(op.__name__ == "norm")] if len(args) > int(op.__name__ == "norm") else kwargs.get("dim")
    for d in reversed(_dims(input, dim)):
        chosen = chosen.any(d, bool(kwargs.get("keepdim", False)))
    return chosen
