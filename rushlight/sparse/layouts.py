"""From one layout to another: dense, COO, compressed by rows or columns, in blocks or not, in batches."""

from __future__ import annotations

from math import prod
from typing import Any

import rushlight as torch
from rushlight._engine.tensors.tensor import Tensor
from rushlight.sparse.tensor import BLOCKS, COLUMNS, LEGACY, SparseTensor, make


def name_of(t: Tensor) -> str:
    """What PyTorch's messages call a tensor's layout."""
    return LEGACY[t.layout] if isinstance(t, SparseTensor) else "Strided"


def block_sizes(t: SparseTensor) -> tuple[int, int]:
    """The sizes of a block, of BSR and BSC."""
    at = t.batch_dim() + 1
    high, wide = t.parts[-1].shape[at : at + 2]
    return high, wide


# --- where the values of a compressed tensor lie ----------------------------------------------------


def lines(first: Tensor, count: int) -> Tensor:
    """The line (row or column) of each value: of (*, n + 1) beginnings a (*, count) tensor."""
    n, many = first.shape[-1] - 1, prod(first.shape[:-1])
    each = torch.arange(n if many else 0, device=first.device).repeat(max(many, 1))
    found = torch.repeat_interleave(each, first.diff(dim=-1).reshape(-1).long())
    return found.reshape([*first.shape[:-1], count])


def places(t: SparseTensor) -> tuple[list[Tensor], Tensor]:
    """Of a compressed tensor: indices of all dims but the dense ones, each (m,), and values (m, *dense)."""
    first, minor, values = t.parts
    batch = t.batch_dim()
    major, minor = lines(first, minor.shape[-1]), minor.long()
    row, col = (minor, major) if t.layout in COLUMNS else (major, minor)
    sizes = list(minor.shape)
    if t.layout in BLOCKS:
        high, wide = block_sizes(t)
        sizes += [high, wide]
        row = (row[..., None, None] * high + torch.arange(high, device=row.device)[:, None]).expand(sizes)
        col = (col[..., None, None] * wide + torch.arange(wide, device=col.device)).expand(sizes)
    outer = [
        torch.arange(n, device=row.device)
        .reshape([-1 if i == d else 1 for i in range(len(sizes))])
        .expand(sizes)
        for d, n in enumerate(sizes[:batch])
    ]
    return [index.reshape(-1) for index in (*outer, row, col)], values.reshape(
        [prod(sizes), *values.shape[len(sizes) :]]
    )


def to_coo(t: SparseTensor) -> SparseTensor:
    """A compressed tensor as COO; everything else as it is."""
    if not isinstance(t, SparseTensor) or t.is_sparse:
        return t
    indices, values = places(t)
    return make((torch.stack(indices), values), t.shape, t.layout is torch.sparse_csr)


def to_dense(t: Tensor, dtype: Any = None, masked_grad: Any = None) -> Tensor:
    """A dense tensor of the same numbers.

    masked_grad: taken as True, that is, what is not specified has no gradient.
    """
    if not isinstance(t, SparseTensor):
        return t if dtype is None else t.to(dtype)
    indices, values = (list(t.parts[0]), t.parts[1]) if t.is_sparse else places(t)
    values = values if dtype is None else values.to(dtype)
    start = torch.zeros(t.shape, dtype=values.dtype, device=values.device)
    if not indices:
        return start + values.sum(0, dtype=values.dtype)
    return start.index_put(tuple(indices), values, accumulate=True)


# --- into compressed layouts ------------------------------------------------------------------------


def compress(
    t: Any, layout: Any, blocksize: Any = None, dense_dim: Any = None, name: str | None = None
) -> SparseTensor:
    """A matrix, or a batch of them, in a compressed layout.

    blocksize: of BSR and BSC; an int for square blocks. dense_dim: how many dims are the values'.
    name: what conversions of dense tensors are called in messages.
    """
    sizes = _check_blocks(t, layout, blocksize, name)
    if not isinstance(t, SparseTensor):
        return _compress_dense(t, layout, sizes, dense_dim, name or f"dense_to_{layout.name}")
    if t.layout is layout:
        return t
    if t.is_sparse:
        if t.sparse_dim() != 2:
            by = "sparse_coo_to_sparse" if name == "dense_to_sparse" else f"coo_to_{layout.name}"
            raise RuntimeError(
                f"{by}: conversion from Sparse to {LEGACY[layout]} for input tensors with sparse_dim()!=2 is "
                "not supported"
            )
        t = coalesce(t)
        rows = _counted(t.parts[0][0], t.parts[0][1], t.parts[1], t.shape, torch.sparse_csr)
        return compress(rows, layout, blocksize)
    if t.layout in BLOCKS or layout not in BLOCKS:
        return _turned(t, layout) if (t.layout in COLUMNS) != (layout in COLUMNS) else t
    return _into_blocks(t, layout, sizes)


def _check_blocks(t: Any, layout: Any, blocksize: Any, called: str | None) -> tuple[int, int] | None:
    """The sizes of blocks that a conversion makes; RuntimeError for conversions that there are not."""
    same = isinstance(t, SparseTensor) and t.layout is layout
    if not isinstance(t, SparseTensor):
        name = "dense_to_sparse"
    elif same:
        name = "to_sparse"
    else:
        name = "sparse_coo_to_sparse" if t.is_sparse else "sparse_compressed_to_sparse"
    sizes = (
        (blocksize, blocksize)
        if isinstance(blocksize, int)
        else None
        if blocksize is None
        else tuple(blocksize)
    )
    way = f"{name}: conversion from {name_of(t)} to {LEGACY[layout]}"
    compressed = isinstance(t, SparseTensor) and not t.is_sparse
    if compressed and t.batch_dim() and t.layout not in BLOCKS and layout in BLOCKS:
        raise RuntimeError(f"{way} for batched inputs is not supported")
    if (sizes is not None) != (layout in BLOCKS):
        raise RuntimeError(f"{way} with{'out' * (sizes is None)} blocksize argument given is not supported")
    if compressed and t.layout in BLOCKS:
        if layout not in BLOCKS:
            raise RuntimeError(
                f"{name}_{layout.name.removeprefix('sparse_')}: expected SparseCsr or SparseCsc "
                f"layout but got {name_of(t)}"
            )
        if sizes != block_sizes(t):
            raise RuntimeError(
                f"{way} with blocksize changed from {list(block_sizes(t) or ())} to {list(sizes or ())} is "
                "not supported"
            )
    return _fitting(sizes, called or f"{name}_{layout.name.removeprefix('sparse_')}")


def _fitting(sizes: Any, name: str) -> tuple[int, int] | None:
    if sizes is None:
        return None
    if len(sizes) != 2:
        raise RuntimeError(f"{name}: blocksize needs to be a tuple of size 2, but got {len(sizes)}")
    if min(sizes) < 1:
        raise RuntimeError(f"{name}: blocksize needs to be positive, but got {list(sizes)}")
    return tuple(sizes)


def _divisible(shape: Any, sizes: tuple[int, int], name: str) -> None:
    if shape[0] % sizes[0] or shape[1] % sizes[1]:
        raise RuntimeError(
            f"{name}: tensor sparse size ({shape[0]},{shape[1]}) must be divisible by given "
            f"blocksize ({sizes[0]},{sizes[1]})"
        )


def _compress_dense(t: Tensor, layout: Any, sizes: Any, dense_dim: Any, name: str) -> SparseTensor:
    """What is not 0, of all matrices of a batch equally many; blocks that are not all 0."""
    many = dense_dim or 0
    if not 0 <= many <= max(t.ndim - 2, 0):
        raise RuntimeError(
            f"{name}: dense_dim argument must be in [0,{t.ndim - 2}] range, but {many} is given"
        )
    if t.ndim - many < 2:
        raise RuntimeError(
            f"{name}: expected a tensor of at least 2 dims, or a batch of matrices, got {t.ndim}"
        )
    batch = t.ndim - many - 2
    outer, (rows, columns), inner = t.shape[:batch], t.shape[batch : batch + 2], t.shape[batch + 2 :]
    if batch and not prod(outer):
        raise RuntimeError(
            f"{name.replace('dense_to', 'to')}: Expected product of batch dimensions to be non-zero."
        )
    high, wide = sizes or (1, 1)
    _divisible((rows, columns), (high, wide), name)
    grid = t.reshape([prod(outer), rows // high, high, columns // wide, wide, *inner]).transpose(2, 3)
    grid = grid if sizes else grid[:, :, :, 0, 0]
    grid = grid.transpose(1, 2) if layout in COLUMNS else grid
    hold = grid != 0
    hold = hold.flatten(3).any(-1) if hold.ndim > 3 else hold
    per = hold.flatten(1).sum(-1)
    if bool((per != per[:1]).any()):
        raise RuntimeError("Expect the same number of specified elements per batch.")
    which = hold.nonzero(as_tuple=True)
    values, count = grid[which], int(per[0])
    first = torch.nn.functional.pad(hold.sum(-1).cumsum(-1), (1, 0))
    return make(
        (
            first.reshape([*outer, first.shape[-1]]),
            which[2].reshape([*outer, count]),
            values.reshape([*outer, count, *values.shape[1:]]),
        ),
        t.shape,
        layout=layout,
    )


def _counted(
    major: Tensor,
    minor: Tensor,
    values: Tensor,
    size: Any,
    layout: Any,
    lines: int | None = None,
    kind: Any = torch.int64,
) -> SparseTensor:
    """A compressed tensor of values that are in the order of their lines."""
    many = size[int(layout in COLUMNS)] if lines is None else lines
    first = torch.nn.functional.pad(torch.bincount(major, minlength=many).cumsum(0), (1, 0))
    return make((first.to(kind), minor.to(kind).contiguous(), values), size, layout=layout)


def _turned(t: SparseTensor, layout: Any) -> SparseTensor:
    """Compressed by columns what is compressed by rows, and the other way."""
    first, minor, values = t.parts
    batch, many = t.batch_dim(), minor.shape[-1]
    outer = prod(first.shape[:-1])
    place = t.ndim - t.dense_dim() - 2
    high, wide = block_sizes(t) if t.layout in BLOCKS else (1, 1)
    count = t.shape[place] // high if t.layout in COLUMNS else t.shape[place + 1] // wide
    major, minor = lines(first, many).reshape([outer, many]), minor.reshape([outer, many]).long()
    order = minor.argsort(-1, stable=True)
    counts = minor.new_zeros([outer, count]).scatter_add(1, minor, torch.ones_like(minor))
    begin = torch.nn.functional.pad(counts.cumsum(-1), (1, 0)).to(first.dtype)
    inner = values.shape[batch + 1 :]
    values = values.reshape([outer, many, *inner])[torch.arange(outer, device=order.device)[:, None], order]
    lead = first.shape[:-1]
    return make(
        (
            begin.reshape([*lead, count + 1]),
            major.gather(1, order).to(first.dtype).reshape([*lead, many]),
            values.reshape([*lead, many, *inner]),
        ),
        t.shape,
        layout=layout,
    )


def _into_blocks(t: SparseTensor, layout: Any, sizes: Any) -> SparseTensor:
    """Blocks of a matrix whose numbers are compressed one by one."""
    (row, col), values = places(t)
    name = f"sparse_compressed_to_{layout.name}"
    _divisible(t.shape, sizes, name)
    high, wide = sizes
    up, side = row // high, col // wide
    high_count, wide_count = t.shape[0] // high, t.shape[1] // wide
    place = side * high_count + up if layout in COLUMNS else up * wide_count + side
    blocks, of = torch.unique(place, return_inverse=True)
    grid = values.new_zeros([len(blocks), high, wide, *values.shape[1:]])
    grid = grid.index_put((of, row % high, col % wide), values)
    across = high_count if layout in COLUMNS else wide_count
    return _counted(
        blocks // across,
        blocks % across,
        grid,
        t.shape,
        layout,
        wide_count if layout in COLUMNS else high_count,
        t.parts[0].dtype,
    )


# --- COO --------------------------------------------------------------------------------------------


def flat(indices: Tensor, size: Any) -> Tensor:
    """The places as single numbers, row by row."""
    found = torch.zeros(indices.shape[1], dtype=torch.int64, device=indices.device)
    for row, n in zip(indices, size, strict=False):
        found = found * n + row
    return found


def coalesce(t: SparseTensor) -> SparseTensor:
    """The same tensor with places in order, each once."""
    if not t.is_sparse:
        raise RuntimeError(f"coalesce expected sparse coordinate tensor layout but got {name_of(t)}")
    if t.is_coalesced():
        return t
    indices, values = t.parts
    if indices.shape[1] < 2:
        return make((indices, values), t.shape, True)
    first, back = _distinct(t)
    start = values.new_zeros((len(first), *values.shape[1:]))
    return make((indices[:, first], start.index_add(0, back, values)), t.shape, True)


def _distinct(t: SparseTensor) -> tuple[Tensor, Tensor]:
    """Of a COO tensor's distinct places, in order: a value that lies there, and of each value its place."""
    where, back = torch.unique(flat(t.parts[0], t.shape), return_inverse=True)
    number = torch.arange(len(back), device=back.device)
    return torch.zeros_like(where).scatter_(0, back, number), back


def once(t: SparseTensor) -> SparseTensor:
    """A COO tensor with one of the values that lie in the same place, in order."""
    if t.parts[0].shape[1] < 2:
        return make(t.parts, t.shape, True)
    first, _ = _distinct(t)
    return make((t.parts[0][:, first], t.parts[1][first]), t.shape, True)


def to_sparse(
    t: Tensor, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: Any = None
) -> Tensor:
    """A dense tensor's nonzero values and their places, counted in the first sparse_dim dims; or a compressed
    layout, with the last dense_dim dims in the values.
    """
    if isinstance(sparse_dim, type(torch.strided)):
        layout, sparse_dim = sparse_dim, None
    if layout is torch.strided and not isinstance(t, SparseTensor):
        return t
    if layout not in (None, torch.sparse_coo):
        return compress(t, layout, blocksize, dense_dim, "dense_to_sparse")
    if isinstance(t, SparseTensor):
        if blocksize is not None:
            name = "to_sparse" if t.is_sparse else "sparse_compressed_to_sparse"
            raise RuntimeError(
                f"{name}: conversion from {name_of(t)} to Sparse with blocksize argument given is not "
                "supported"
            )
        own = t.sparse_dim() if t.is_sparse else 2
        if sparse_dim not in (None, own):
            name = "to_sparse" if t.is_sparse else "sparse_compressed_to_sparse"
            raise RuntimeError(
                f"{name}: conversion from {name_of(t)} to Sparse with sparse_dim argument "
                f"!={'self.sparse_dim()' if t.is_sparse else 2} is not supported"
            )
        return to_coo(t)
    if blocksize is not None:
        raise RuntimeError(
            "dense_to_sparse: conversion from Strided to Sparse with blocksize argument given is not "
            "supported"
        )
    dims = t.ndim - (dense_dim or 0) if sparse_dim is None else sparse_dim
    if not 0 <= dims <= t.ndim:
        raise RuntimeError(
            f"dense_to_sparse: sparse_dim argument must be in [0,{t.ndim}] range, but {dims} is given"
        )
    if not dims and t.ndim:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    if not t.ndim:
        count = int(bool(t != 0))
        return make(
            (torch.zeros((0, count), dtype=torch.int64, device=t.device), t.reshape(1)[:count]), t.shape, True
        )
    hold = t != 0
    hold = hold if dims == t.ndim else hold.flatten(dims).any(-1)
    indices = torch.nonzero(hold).t().contiguous()
    return make((indices, t[tuple(indices)]), t.shape, True)


def like(t: SparseTensor, found: Any) -> SparseTensor:
    """A tensor in the layout of a compressed one."""
    if t.is_sparse:
        return to_coo(found)
    return compress(
        found,
        t.layout,
        block_sizes(t) if t.layout in BLOCKS else None,
        None if isinstance(found, SparseTensor) else t.dense_dim(),
    )
