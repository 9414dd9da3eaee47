"""gradcheck of functions that take or give sparse tensors: of their values, which are strided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, cast

import rushlight as torch
from rushlight.sparse import layouts, ops
from rushlight.sparse.tensor import SparseTensor

_BLOCKS = (torch.sparse_bsr, torch.sparse_bsc)
_ROWS = (torch.sparse_csr, torch.sparse_bsr)


def _materialized(x: SparseTensor) -> SparseTensor:
    """The same sparse tensor with every place stored, those that were not with a zero."""
    batch = x.ndim - x.dense_dim() - x.sparse_dim()
    block = x.values().shape[batch + 1 : batch + 3] if x.layout in _BLOCKS else None
    everywhere = torch.ones(x.shape, device=x.device, dtype=torch.bool)
    mask = layouts.to_sparse(everywhere, layout=x.layout, blocksize=block, dense_dim=x.dense_dim())
    return ops.sparse_mask(x.to_dense(), cast(SparseTensor, mask))


def _values_of(x: Any, masked: bool) -> tuple[Any, Callable[[Any], Any]]:
    """What stands for an input before gradcheck, and what makes the input of it again: a sparse tensor that
    requires grad is stood for by its values.
    """
    if not (isinstance(x, SparseTensor) and x.requires_grad):
        return x, lambda given: given
    whole = x if masked else _materialized(x)
    layout, shape = whole.layout, whole.shape
    if layout is torch.sparse_coo:
        places, coalesced = whole._indices(), whole.is_coalesced()
        return whole._values().requires_grad_(True), lambda values: torch.sparse_coo_tensor(
            places, values, size=shape, is_coalesced=coalesced
        )
    if layout in _ROWS:
        compressed, plain = whole.crow_indices(), whole.col_indices()
    else:
        compressed, plain = whole.ccol_indices(), whole.row_indices()
    return whole.values().requires_grad_(True), lambda values: torch.sparse_compressed_tensor(
        compressed, plain, values, size=shape, layout=layout
    )


def as_sparse_gradcheck(gradcheck: Callable[..., bool]) -> Callable[..., bool]:
    """A gradcheck that takes sparse tensors, too, made of one of strided tensors (`torch.autograd.gradcheck`,
    or a functools.partial of it).

    With `masked=True` only stored places are checked; else (the default) the others as well.

    >>> gradcheck = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    >>> x = torch.eye(2, dtype=torch.float64).to_sparse_coo().requires_grad_(True)
    >>> gradcheck(lambda x: x.to_sparse_csr(), x)
    True
    """

    @wraps(gradcheck)
    def with_sparse(func: Callable[..., Any], inputs: Any, **options: Any) -> bool:
        masked = options.pop("masked", False)
        given: Sequence[Any] = inputs if isinstance(inputs, (list, tuple)) else (inputs,)
        pairs = [_values_of(x, masked) for x in given]

        def of_values(*args: Any, **kwargs: Any) -> Any:
            outputs = func(
                *(make(arg) for (_, make), arg in zip(pairs, args, strict=True)),
                **kwargs,
            )
            if isinstance(outputs, (list, tuple)):
                return tuple(map(strided, outputs))
            return strided(outputs)

        def strided(output: Any) -> Any:
            if isinstance(output, SparseTensor) and output.requires_grad:
                return output.to_dense(masked_grad=masked)
            return output

        return gradcheck(of_values, tuple(values for values, _ in pairs), **options)

    return with_sparse
