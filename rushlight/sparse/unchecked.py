"""PyTorch's underscored functions of sparse tensors: checks alone, makers without them, index conversions."""

from __future__ import annotations

from functools import partial
from typing import Any

import rushlight as torch
from rushlight import sparse
from rushlight._engine.tensors.tensor import Tensor
from rushlight.sparse.invariants import check_compressed, check_coo, check_numbers
from rushlight.sparse.products import sspaddmm as sspaddmm
from rushlight.sparse.shapes import spread

_validate_sparse_coo_tensor_args = check_coo
_validate_sparse_compressed_tensor_args = check_compressed
_sparse_broadcast_to = spread
_sparse_sum, _sparse_mm = sparse.sum, sparse.mm


def _sparse_coo_tensor_unsafe(
    indices: Tensor,
    values: Tensor,
    size: Any,
    *,
    dtype: Any = None,
    is_coalesced: bool | None = None,
    **options: Any,
) -> Tensor:
    """sparse_coo_tensor without checks."""
    return sparse.sparse_coo_tensor(
        indices, values, size, dtype=dtype, is_coalesced=is_coalesced, check_invariants=False, **options
    )


def _sparse_compressed_tensor_unsafe(
    compressed_indices: Tensor,
    plain_indices: Tensor,
    values: Tensor,
    size: Any,
    *,
    layout: Any,
    **options: Any,
) -> Tensor:
    """sparse_compressed_tensor without checks."""
    return sparse.sparse_compressed_tensor(
        compressed_indices, plain_indices, values, size, layout=layout, check_invariants=False, **options
    )


def _sparse_compressed_tensor_with_dims(
    nnz: int,
    dense_dim: int,
    size: Any,
    blocksize: Any,
    index_dtype: Any,
    *,
    dtype: Any = None,
    layout: Any,
    device: Any = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """A compressed tensor of a size with room for `nnz` values or blocks in each matrix: what they are, and
    where, is not set.
    """
    size, blocksize = list(size), list(blocksize)
    rows = len(size) - dense_dim - 2
    batch, dense = size[:rows], size[rows + 2 :]
    by_columns = layout in (torch.sparse_csc, torch.sparse_bsc)
    lines = size[rows + by_columns] // (blocksize[by_columns] if blocksize else 1)
    first = torch.zeros([*batch, lines + 1], dtype=index_dtype, device=device)
    minor = torch.zeros([*batch, nnz], dtype=index_dtype, device=device)
    values = torch.zeros([*batch, nnz, *blocksize, *dense], dtype=dtype, device=device)
    return _sparse_compressed_tensor_unsafe(first, minor, values, size, layout=layout)


def _validate_compressed_sparse_indices(
    is_crow: bool, compressed_idx: Tensor, plain_idx: Tensor, cdim: int, dim: int, nnz: int
) -> None:
    """RuntimeError unless these are indices of a compressed layout, by rows or by columns."""
    check_numbers(compressed_idx, plain_idx, (cdim, dim), torch.sparse_csr if is_crow else torch.sparse_csc)


def _check_layout(
    layout: Any, first: Tensor, minor: Tensor, values: Tensor, size: Any, check_pinning: bool | None = None
) -> None:
    check_compressed(first, minor, values, size, layout)


def _unsafe_layout(
    layout: Any, first: Tensor, minor: Tensor, values: Tensor, size: Any, **options: Any
) -> Tensor:
    options.pop("layout", None)
    return _sparse_compressed_tensor_unsafe(first, minor, values, size, layout=layout, **options)


_validate_sparse_csr_tensor_args = partial(_check_layout, torch.sparse_csr)
_validate_sparse_csc_tensor_args = partial(_check_layout, torch.sparse_csc)
_validate_sparse_bsr_tensor_args = partial(_check_layout, torch.sparse_bsr)
_validate_sparse_bsc_tensor_args = partial(_check_layout, torch.sparse_bsc)
_sparse_csr_tensor_unsafe = partial(_unsafe_layout, torch.sparse_csr)
_sparse_csc_tensor_unsafe = partial(_unsafe_layout, torch.sparse_csc)
_sparse_bsr_tensor_unsafe = partial(_unsafe_layout, torch.sparse_bsr)
_sparse_bsc_tensor_unsafe = partial(_unsafe_layout, torch.sparse_bsc)


def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Pointers of `size` rows for sorted row indices: (size + 1,), where each row begins."""
    if input.ndim != 1:
        raise RuntimeError(f"Input is expected to be 1-dimensional, but got {input.ndim} dimensions")
    return torch.searchsorted(
        input, torch.arange(size + 1, dtype=input.dtype, device=input.device), out_int32=out_int32
    )


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """The coordinates that row pointers and columns stand for: (2 and one more for each batch dim, nnz);
    `transpose`: columns before rows.
    """
    counts = crow_indices.diff(dim=-1)
    batch, rows = counts.shape[:-1], counts.shape[-1]
    every = torch.arange(counts.numel(), device=counts.device).repeat_interleave(counts.flatten())
    above = [] if not batch else list(torch.unravel_index(every // rows, batch))
    last = [every % rows, col_indices.flatten()]
    dtype = torch.int32 if out_int32 else torch.int64
    return torch.stack([part.to(dtype) for part in (*above, *(reversed(last) if transpose else last))])
