"""torch.sparse: making sparse tensors, and the functions that only they have."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.tensors.tensor import Tensor
from rushlight.sparse import ops
from rushlight.sparse.invariants import (
    check_sparse_tensor_invariants as check_sparse_tensor_invariants,
    wanted,
)
from rushlight.sparse.ops import mm as _mm, softmax as softmax, sum as sum
from rushlight.sparse.tensor import BLOCKS, COLUMNS, COMPRESSED, LEGACY, PARTS, SparseTensor, make


def _compressing(layout: Any) -> Any:
    names = ("blocksize", "dense_dim") if layout in BLOCKS else ("dense_dim",)

    def convert(self: Tensor, *args: Any, **options: Any) -> Tensor:
        given = dict(zip(names, args, strict=False)) | options
        return ops.compress(self, layout, name=f"dense_to_{layout.name}", **given)

    convert.__name__, convert.__doc__ = f"to_{layout.name}", f"The same matrix as {layout}."
    return convert


# Methods of dense tensors too.
METHODS = {name: getattr(ops, name) for name in ("to_sparse", "to_dense", "sparse_mask")}
METHODS["to_sparse_coo"] = lambda self: ops.to_sparse(self)
METHODS.update({f"to_{layout.name}": _compressing(layout) for layout in COMPRESSED})


def method(name: str) -> Any:
    """Tensor.NAME for dense tensors."""

    def refuse(self: Tensor) -> Any:
        raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got Strided")

    return METHODS.get(name, refuse)


for _name, _f in {**METHODS, "coalesce": ops.coalesce}.items():
    setattr(SparseTensor, _name, _f)


def _values(values: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    found: Tensor = torch.as_tensor(values, dtype=dtype, device=device)
    return found.detach().requires_grad_() if requires_grad else found


def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """A COO tensor of values (nnz, *dense dims) at indices (sparse dims, nnz); the size alone: empty."""
    if values is None:
        size, indices = tuple(indices), torch.zeros(len(indices), 0, dtype=torch.int64)
        values = torch.zeros(0, dtype=dtype)
    places, held = torch.as_tensor(indices).long(), _values(values, dtype, device, requires_grad)
    if places.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    if places.shape[1] != (held.shape[0] if held.ndim else -1):
        raise RuntimeError(
            "indices and values must have same nnz, but got nnz from indices: "
            f"{places.shape[1]}, nnz from values: {held.shape[0] if held.ndim else 0}"
        )
    if size is None:
        size = [int(row.max()) + 1 if len(row) else 0 for row in places] + list(held.shape[1:])
    if len(size) != len(places) + held.ndim - 1:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
            f"{len(size)}, sparse_dim = {len(places)}, dense_dim = {held.ndim - 1}"
        )
    limits = torch.tensor([*size[: len(places)]])[:, None]
    if wanted(check_invariants) and bool(((places < 0) | (places >= limits)).any()):
        raise RuntimeError(f"size is inconsistent with indices: some lie outside of {list(size)}")
    return make((places, held), size, bool(is_coalesced))


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """A matrix in a compressed layout: row or column i has values[c[i]:c[i + 1]], c the compressed_indices.

    layout: torch.sparse_csr, sparse_csc, sparse_bsr or sparse_bsc. A value has the sizes of a block, in the
    last two, and of dense dims. size: as far as the indices reach, by default.
    """
    if layout not in COMPRESSED:
        raise RuntimeError(
            "sparse_compressed_tensor expected sparse compressed tensor layout but got "
            f"{LEGACY.get(layout, 'none')}"
        )
    first, minor, held = (
        torch.as_tensor(compressed_indices),
        torch.as_tensor(plain_indices),
        _values(values, dtype, device, requires_grad),
    )
    block = 2 * (layout in BLOCKS)
    if held.ndim <= block:
        raise RuntimeError(
            "values must have dimensionality > sum of batch and block dimensionalities (=0 + "
            f"{block}) but got {held.ndim}"
        )
    if (
        first.ndim != 1
        or len(minor) != len(held)
        or (wanted(check_invariants) and int(first[-1]) != len(minor))
    ):
        raise RuntimeError(
            f"sparse_compressed_tensor: {PARTS[layout][0]} must begin with 0 and end with the "
            f"number of values, got {first.tolist()[-1:]}, {len(minor)} and {len(held)}"
        )
    if size is None:
        counts = [len(first) - 1, int(minor.max()) + 1 if len(minor) else 0]
        counts = counts[::-1] if layout in COLUMNS else counts
        size = [n * b for n, b in zip(counts, held.shape[1:3] if block else (1, 1), strict=True)]
        size += held.shape[1 + block :]
    return make((first, minor, held), size, layout=layout)


def _maker(layout: Any) -> Any:
    def made(*args: Any, **options: Any) -> Tensor:
        given = dict(zip((*PARTS[layout], "size"), args, strict=False)) | options
        return sparse_compressed_tensor(*[given.pop(name) for name in PARTS[layout]], layout=layout, **given)

    made.__name__, made.__doc__ = f"{layout.name}_tensor", sparse_compressed_tensor.__doc__
    return made


sparse_csr_tensor, sparse_csc_tensor, sparse_bsr_tensor, sparse_bsc_tensor = map(_maker, COMPRESSED)


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """A matrix with these rows (n, length) as diagonals at offsets (n): element i of each lies in column i.

    layout: COO by default, or CSR or CSC.
    """
    rows, places = torch.atleast_2d(diagonals), torch.atleast_1d(offsets)
    wrong = {
        "Output shape must be 2d": len(shape) != 2,
        f"Offset Tensor must have dtype Long but got {places.dtype.legacy}": places.dtype is not torch.int64,
        f"Number of diagonals ({len(rows)}) does not match the number of offsets ({len(places)})": len(rows)
        != len(places),
        "Offset tensor contains duplicate values": len(places.unique()) < len(places),
        "Only output layouts (Sparse, SparseCsc, SparseCsr) are supported": layout in BLOCKS,
    }
    if any(wrong.values()):
        raise RuntimeError(next(words for words, so in wrong.items() if so))
    col = torch.arange(rows.shape[1]).expand(rows.shape)
    row = col - places[:, None]
    hold = (row >= 0) & (row < shape[0]) & (col < shape[1])
    found = make((torch.stack([row[hold], col[hold]]), rows[hold]), shape)
    return found if layout is None else ops.to_sparse(found, layout=layout)


def mm(mat1: Any, mat2: Any, reduce: str | None = None) -> Any:
    """The product with a sparse first matrix; reduce: "sum", "mean", "amax" or "amin" of the terms."""
    if reduce is None:
        return _mm(mat1, mat2)
    if not mat1.dtype.is_floating_point:
        raise NotImplementedError(f"\"spmm_reduce_kernel\" not implemented for '{mat1.dtype.legacy}'")
    (row, col), values = ops.to_coo(mat1).parts
    terms = values[:, None] * mat2[col]
    start = torch.zeros((mat1.shape[0], mat2.shape[1]), dtype=terms.dtype)
    how = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    return start.scatter_reduce(0, row[:, None].expand(terms.shape), terms, how, include_self=False)


def addmm(mat: Tensor, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * mat + alpha * (mat1 @ mat2)."""
    return ops.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)  # type: ignore[no-any-return]


def sampled_addmm(
    input: SparseTensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2), at input's places alone."""
    if input.dtype.itemsize < 4 or not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(
            "sparse_sampled_addmm: Expected self to be a floating-point or complex tensor, "
            f"but got {input.dtype.legacy}"
        )
    row, col = ops.to_coo(input).parts[0]
    found = input.map(lambda v: beta * v + alpha * (mat1[row] * mat2.mT[col]).sum(-1))
    return found if out is None else out._become(found)


def log_softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> Tensor:
    """log(softmax) along dim of the numbers that there are."""
    return softmax(input, dim, dtype=dtype, log=True)  # type: ignore[no-any-return]
