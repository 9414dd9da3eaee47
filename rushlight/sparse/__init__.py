"""torch.sparse: making sparse tensors, and the functions that only they have."""
from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.sparse import ops
from rushlight.sparse.ops import mm as _mm, softmax as softmax, sum as sum
from rushlight.sparse.tensor import SparseTensor, make
from rushlight.tensor.tensor import Tensor

# Methods of dense tensors too.
METHODS = {name: getattr(ops, name) for name in ("to_sparse", "to_dense", "sparse_mask")}
METHODS["to_sparse_csr"] = ops.to_csr

def method(name: str) -> Any:
    """Tensor.NAME for dense tensors."""
    def refuse(self: Tensor) -> Any:
        raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got Strided")
    return METHODS.get(name, refuse)


for _name, _f in {**METHODS, "coalesce": ops.coalesce}.items():
    setattr(SparseTensor, _name, _f)


def _values(values: Any, dtype: Any, requires_grad: bool) -> Tensor:
    found: Tensor = torch.as_tensor(values, dtype=dtype)
    return found.detach().requires_grad_() if requires_grad else found


def sparse_coo_tensor(indices: Any, values: Any = None, size: Any = None, *, dtype: Any = None,
                      device: Any = None, requires_grad: bool = False, check_invariants: bool | None = None,
                      is_coalesced: bool | None = None, pin_memory: bool = False) -> SparseTensor:
    """A COO tensor of values (nnz, *dense dims) at indices (sparse dims, nnz); the size alone: empty."""
    if values is None:
        size, indices = tuple(indices), torch.zeros(len(indices), 0, dtype=torch.int64)
        values = torch.zeros(0, dtype=dtype)
    places, held = torch.as_tensor(indices).long(), _values(values, dtype, requires_grad)
    if places.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    if places.shape[1] != (held.shape[0] if held.ndim else -1):
        raise RuntimeError("indices and values must have same nnz, but got nnz from indices: "
                           f"{places.shape[1]}, nnz from values: {held.shape[0] if held.ndim else 0}")
    if size is None:
        size = [int(row.max()) + 1 if len(row) else 0 for row in places] + list(held.shape[1:])
    if len(size) != len(places) + held.ndim - 1:
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
                           f"{len(size)}, sparse_dim = {len(places)}, dense_dim = {held.ndim - 1}")
    limits = torch.tensor([*size[:len(places)]])[:, None]
    if check_invariants and bool(((places < 0) | (places >= limits)).any()):
        raise RuntimeError(f"size is inconsistent with indices: some lie outside of {list(size)}")
    return make((places, held), size, bool(is_coalesced))


def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *,
                      dtype: Any = None, device: Any = None, requires_grad: bool = False,
                      check_invariants: bool | None = None, pin_memory: bool = False) -> SparseTensor:
    """A CSR matrix: the values of row i are values[crow_indices[i]:crow_indices[i + 1]]."""
    crow, col, held = (torch.as_tensor(crow_indices), torch.as_tensor(col_indices),
                       _values(values, dtype, requires_grad))
    if crow.ndim != 1 or len(col) != len(held) or int(crow[-1]) != len(col):
        raise RuntimeError("sparse_csr_tensor: crow_indices must begin with 0 and end with the number of "
                           f"columns and values, got {crow.tolist()[-1:]}, {len(col)} and {len(held)}")
    wide = int(col.max()) + 1 if len(col) else 0
    return make((crow, col, held), (len(crow) - 1, wide) if size is None else size)


def mm(mat1: Any, mat2: Any, reduce: str | None = None) -> Any:
    """The product with a sparse first matrix; reduce: "sum", "mean", "amax" or "amin" of the terms."""
    if reduce is None:
        return _mm(mat1, mat2)
    if not mat1.dtype.is_floating_point:
        raise NotImplementedError(f"\"spmm_reduce_kernel\" not implemented for '{mat1.dtype.legacy}'")
    (row, col), values = ops.to_coo(mat1).parts
    terms = values[:, None] * mat2[col]
    start = torch.zeros((mat1.shape[0], mat2.shape[1]), dtype=terms.dtype)
    return start.scatter_reduce(0, row[:, None].expand(terms.shape), terms, reduce, include_self=False)


def addmm(mat: Tensor, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * mat + alpha * (mat1 @ mat2)."""
    return ops.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)  # type: ignore[no-any-return]


def sampled_addmm(input: SparseTensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1,
                  out: Any = None) -> SparseTensor:
    """beta * input + alpha * (mat1 @ mat2), at input's places alone."""
    if input.dtype.itemsize < 4 or not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError("sparse_sampled_addmm: Expected self to be a floating-point or complex tensor, "
                           f"but got {input.dtype.legacy}")
    row, col = ops.to_coo(input).parts[0]
    found = input.map(lambda v: beta * v + alpha * (mat1[row] * mat2.mT[col]).sum(-1))
    return found if out is None else out._become(found)


def log_softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """log(softmax) along dim of the numbers that there are."""
    return softmax(input, dim, dtype=dtype, log=True)  # type: ignore[no-any-return]
