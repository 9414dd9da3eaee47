"""torch.sparse: making sparse tensors, and the functions that only they have."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import prod
from typing import Any, TypeVar

import rushlight as torch
from rushlight._engine.core.errors import wrap_dims
from rushlight._engine.tensors.tensor import Tensor
from rushlight.overrides import handle_torch_function, has_torch_function
from rushlight.sparse import layouts, ops, products, shapes as shapes
from rushlight.sparse.invariants import (
    check_compressed,
    check_coo,
    check_coo_sizes,
    check_sparse_tensor_invariants as check_sparse_tensor_invariants,
    wanted,
)
from rushlight.sparse.ops import softmax as softmax
from rushlight.sparse.tensor import BLOCKS, COLUMNS, COMPRESSED, LEGACY, PARTS, SparseTensor, make


def _compressing(layout: Any) -> Any:
    names = ("blocksize", "dense_dim") if layout in BLOCKS else ("dense_dim",)

    def convert(self: Tensor, *args: Any, **options: Any) -> Tensor:
        given = dict(zip(names, args, strict=False)) | options
        return layouts.compress(self, layout, name=f"dense_to_{layout.name}", **given)

    convert.__name__, convert.__doc__ = f"to_{layout.name}", f"The same matrix as {layout}."
    return convert


def _to_sparse_coo(self: Tensor) -> Tensor:
    """The same tensor as COO."""
    return layouts.to_sparse(self)


def _sparse_dim(self: Tensor) -> int:
    """How many dims the indices count: none, of a dense tensor."""
    return 0


def _dense_dim(self: Tensor) -> int:
    """How many dims lie in values: all, of a dense tensor."""
    return self.ndim


def _smm(self: Tensor, mat2: Tensor) -> Tensor:
    """The matrix product of a sparse matrix and another."""
    return products.mm(self, mat2)


for _method in (_sparse_dim, _dense_dim, _smm):
    _method.__name__ = _method.__name__.removeprefix("_")
# Methods of dense tensors too.
METHODS = {
    "to_sparse": layouts.to_sparse,
    "to_dense": layouts.to_dense,
    "sparse_mask": ops.sparse_mask,
    "to_sparse_coo": _to_sparse_coo,
    "sparse_dim": _sparse_dim,
    "dense_dim": _dense_dim,
    "smm": _smm,
    "sspaddmm": products.sspaddmm,
    "hspmm": products.hspmm,
    "resize_as_sparse_": ops.resize_as_sparse_,
}
METHODS.update({f"to_{layout.name}": _compressing(layout) for layout in COMPRESSED})
_ASKED = {
    "indices": "coordinate tensor",
    "is_coalesced": "coordinate tensor",
    "coalesce": "coordinate tensor",
    "values": "tensor",
    "crow_indices": "row compressed tensor",
    "col_indices": "row compressed tensor",
    "ccol_indices": "column compressed tensor",
    "row_indices": "column compressed tensor",
}


def method(name: str) -> Any:
    """Tensor.NAME for dense tensors."""

    def refuse(self: Tensor) -> Any:
        if isinstance(self, SparseTensor):
            return getattr(self, name)()
        raise RuntimeError(
            f"{name} expected sparse {_ASKED.get(name, 'coordinate tensor')} layout but got Strided"
        )

    refuse.__name__ = name
    return METHODS.get(name, refuse)


for _name, _f in {**METHODS, "coalesce": layouts.coalesce}.items():
    if _name not in vars(SparseTensor):
        setattr(SparseTensor, _name, _f)


def _values(values: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    found: Tensor = torch.as_tensor(values, dtype=dtype, device=device)
    # One that shares its memory: what is then asked of the sparse tensor is not to reach the caller's own.
    if found.requires_grad and torch.is_grad_enabled() and not requires_grad:
        return found.view_as(found)
    held = found.detach()
    return held.requires_grad_() if requires_grad else held


def sparse_coo_tensor(
    indices: Any = None,
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
    """A COO tensor: values (nnz, *dense sizes), of any dtype, at int64 indices (sparse dims, nnz).

    size: sparse sizes, then dense ones; by default as far as the indices reach. Given alone, first, it makes
    a tensor without values. Indices that occur several times stand for the sum of their values;
    is_coalesced=True says that none do and that they are sorted. check_invariants: whether indices are held
    against the size; by default as torch.sparse.check_sparse_tensor_invariants says. RuntimeError for parts
    that do not fit.
    """
    if indices is None:
        if size is None:
            raise TypeError(
                'sparse_coo_tensor() missing 1 required positional arguments: "indices" or "size"'
            )
        indices = tuple(size)
    if values is None:
        size, indices = tuple(indices), torch.zeros(len(indices), 0, dtype=torch.int64, device=device)
        values = torch.zeros(0, dtype=dtype, device=device)
    held = _values(values, dtype, device, requires_grad)
    places = torch.as_tensor(indices, device=held.device).long()
    if places.ndim == 1 and not len(places):
        places = places.reshape(0, 0)
    if not held.ndim and places.ndim == 2:
        held = held.expand(places.shape[1])
    check_coo_sizes(places, held)
    if size is None:
        lowest = [int(row.min()) if len(row) else 0 for row in places]
        if min(lowest, default=0) < 0:
            at = next(d for d, low in enumerate(lowest) if low < 0)
            raise RuntimeError(f"found negative index {lowest[at]} for dim {at}")
        size = [int(row.max()) + 1 if len(row) else 0 for row in places] + list(held.shape[1:])
    if len(size) != len(places) + held.ndim - 1:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
            f"{len(size)}, sparse_dim = {len(places)}, dense_dim = {held.ndim - 1}"
        )
    if any(n < 0 for n in size):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    if wanted(check_invariants):
        check_coo(places, held, size)
    return make(
        (places, held),
        size,
        bool(is_coalesced) or (places.shape[1] < 2 and values is not None and not places.shape[1]),
    )


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
    """A matrix, or a batch of them, in a compressed layout.

    Row or column i has values[c[i]:c[i + 1]], c the compressed_indices; leading dims of all parts are
    the batch's. layout: torch.sparse_csr, sparse_csc, sparse_bsr or sparse_bsc; RuntimeError for another one.
    Indices are int32 or int64. A value has the sizes of a block, in the last two, and of dense dims. size: as
    far as the indices reach, by default. check_invariants: as of sparse_coo_tensor.
    """
    if layout not in COMPRESSED:
        raise RuntimeError(
            "sparse_compressed_tensor expected sparse compressed tensor layout but got "
            f"{'Strided' if layout is torch.strided else LEGACY.get(layout, 'none')}"
        )
    held = _values(values, dtype, device, requires_grad)
    first, minor = (torch.as_tensor(part, device=held.device) for part in (compressed_indices, plain_indices))
    block = 2 * (layout in BLOCKS)
    if held.ndim <= block or held.ndim <= first.ndim - 1 + block:
        raise RuntimeError(
            "values must have dimensionality > sum of batch and block dimensionalities "
            f"(={max(first.ndim - 1, 0)} + {block}) but got {held.ndim}"
        )
    if size is None:
        size = _reached(first, minor, held, layout)
    if wanted(check_invariants):
        check_compressed(first, minor, held, size, layout)
    return make((first, minor, held), size, layout=layout)


def _reached(first: Tensor, minor: Tensor, held: Tensor, layout: Any) -> list[int]:
    """The size that indices of a compressed layout reach."""
    if first.ndim < 1:
        raise RuntimeError(f"{PARTS[layout][0]} must have dimensionality >= 1 but got {first.ndim}")
    batch = first.ndim - 1
    counts = [first.shape[-1] - 1, int(minor.max()) + 1 if minor.numel() else 0]
    counts = counts[::-1] if layout in COLUMNS else counts
    sides = held.shape[batch + 1 : batch + 3] if layout in BLOCKS else (1, 1)
    inner = held.shape[batch + 1 + 2 * (layout in BLOCKS) :]
    return [*first.shape[:-1], *[n * b for n, b in zip(counts, sides, strict=True)], *inner]


def _maker(layout: Any) -> Any:
    def made(*args: Any, **options: Any) -> Tensor:
        given = dict(zip((*PARTS[layout], "size"), args, strict=False)) | options
        return sparse_compressed_tensor(*[given.pop(name) for name in PARTS[layout]], layout=layout, **given)

    made.__name__, made.__doc__ = f"{layout.name}_tensor", sparse_compressed_tensor.__doc__
    return made


sparse_csr_tensor, sparse_csc_tensor, sparse_bsr_tensor, sparse_bsc_tensor = map(_maker, COMPRESSED)


def nothing(name: str, size: Any, layout: Any, dtype: Any = None, where: Any = None) -> Tensor:
    """A tensor of a layout that holds nothing, for the factory NAME."""
    if name.endswith("_like") and name != "zeros_like":
        backend = "SparseCPU" if layout is torch.sparse_coo else "SparseCsrCPU"
        raise NotImplementedError(
            f"Could not run 'aten::empty_strided' with arguments from the '{backend}' backend: {name} of a "
            f"dense tensor gives none of layout {layout}; use zeros_like"
        )
    if name not in ("empty", "zeros", "zeros_like", "new_empty", "new_zeros"):
        raise RuntimeError(f"{name}(...) is not implemented for sparse layout")
    size = list(size)
    values = torch.zeros(0, dtype=dtype, device=where)
    if layout is torch.sparse_coo:
        return make((torch.zeros((len(size), 0), dtype=torch.int64, device=where), values), size, True)
    if layout in BLOCKS:
        raise RuntimeError(
            "empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got "
            f"{LEGACY[layout]}"
        )
    if len(size) < 2:
        raise RuntimeError(
            "torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size "
            f"{size}"
        )
    batch, lines = size[:-2], size[-1 if layout in COLUMNS else -2]
    first, minor = (
        torch.zeros([*batch, lines + 1], dtype=torch.int64, device=where),
        torch.zeros([*batch, 0], dtype=torch.int64, device=where),
    )
    return make(
        (
            first,
            minor,
            values.reshape([*batch, 0])
            if prod(batch) or not batch
            else torch.zeros([*batch, 0], dtype=dtype, device=where),
        ),
        size,
        layout=layout,
    )


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """A matrix with these rows (n, length) as diagonals at offsets (n,): element i of each lies in column i.

    offsets: int64, each once; 0 is the main diagonal, 1 the one above. shape: (rows, columns). layout: COO by
    default, or CSR or CSC. RuntimeError for other shapes, dtypes and layouts.
    """
    rows, places = torch.atleast_2d(diagonals), torch.atleast_1d(offsets)
    wrong = {
        "Diagonals must be vector or matrix": rows.ndim > 2,
        "Offsets must be scalar or vector": places.ndim > 1,
        "Output shape must be 2d": len(shape) != 2,
        f"Offset Tensor must have dtype Long but got {places.dtype.legacy}": places.dtype is not torch.int64,
        f"Number of diagonals ({len(rows)}) does not match the number of offsets ({len(places)})": len(rows)
        != len(places),
        "Offset tensor contains duplicate values": len(places.unique()) < len(places),
        f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {layout}": layout
        not in (None, torch.sparse_coo, torch.sparse_csr, torch.sparse_csc),
    }
    if any(wrong.values()):
        raise RuntimeError(next(words for words, so in wrong.items() if so))
    col = torch.arange(rows.shape[1], device=rows.device).expand(rows.shape)
    row = col - places[:, None]
    hold = (row >= 0) & (row < shape[0]) & (col < shape[1])
    found = make((torch.stack([row[hold], col[hold]]), rows[hold]), shape)
    return found if layout is None else layouts.to_sparse(found, layout=layout)


_Function = TypeVar("_Function", bound=Callable[..., Any])


def _taken_over(function: _Function) -> _Function:
    """A decorator: modes, and arguments of classes that are no sparse tensors', may answer for the call."""

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        others = [v for v in (*args, *kwargs.values()) if not isinstance(v, SparseTensor)]
        if has_torch_function(others):
            return handle_torch_function(wrapped, others, *args, **kwargs)
        return function(*args, **kwargs)

    return wrapped  # type: ignore[return-value]  # it has the function's signature


@_taken_over
def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The sum over all dims, a dense number, or over `dim`, an int or several: sparse as long as a sparse dim
    is left. dtype: what the values are converted to first. IndexError for a dim that is not there.
    """
    if not isinstance(input, SparseTensor):
        return torch.sum(input, dtype=dtype) if dim is None else torch.sum(input, dim, dtype=dtype)
    wrap_dims(() if dim is None else (dim,) if isinstance(dim, int) else tuple(dim), input.ndim)
    return ops.sum(input if input.is_sparse or dim is None else layouts.to_coo(input), dim, dtype=dtype)


@_taken_over
def mm(mat1: Any, mat2: Any, reduce: str | None = None) -> Tensor:
    """The product of matrices (n, k) @ (k, m), of which either may be sparse: dense, or sparse if both are.

    reduce: what becomes of a row's terms, "sum" (the product), "mean", "amax" or "amin"; with it mat2 is
    dense, rows without values give zeros, and dtypes other than floating ones raise NotImplementedError.
    """
    if reduce is None:
        return torch.mm(mat1, mat2)
    if not mat1.dtype.is_floating_point:
        raise NotImplementedError(f"\"spmm_reduce_kernel\" not implemented for '{mat1.dtype.legacy}'")
    (row, col), values = layouts.to_coo(mat1).parts
    terms: Tensor = values[:, None] * mat2[col]
    start = terms.new_zeros((mat1.shape[0], mat2.shape[1]))
    how = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    return start.scatter_reduce(0, row[:, None].expand(terms.shape), terms, how, include_self=False)


@_taken_over
def addmm(mat: Tensor, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * mat + alpha * (mat1 @ mat2), of matrices (n, m), (n, k) and (k, m), which may be sparse."""
    return torch.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def _sampled_batch(input: SparseTensor, mat1: Tensor, mat2: Tensor, beta: Any, alpha: Any) -> SparseTensor:
    """sampled_addmm of batches, which broadcast."""
    product = mat1 @ mat2
    batch = torch.broadcast_shapes(input.shape[:-2], product.shape[:-2])
    first, col, values = (part.expand(*batch, part.shape[-1]) for part in input.parts)
    flat = product.expand(*batch, *product.shape[-2:]).flatten(-2)
    place = layouts.lines(first, col.shape[-1]) * product.shape[-1] + col
    found = beta * values + alpha * flat.gather(-1, place)
    return make((first, col, found), (*batch, *product.shape[-2:]), layout=input.layout)


@_taken_over
def sampled_addmm(
    input: SparseTensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2) where a sparse input (n, m) has values, and nowhere else.

    mat1 (n, k) and mat2 (k, m) are dense. RuntimeError for dtypes other than float32, float64 and complex.
    """
    if input.dtype.itemsize < 4 or not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(
            "sparse_sampled_addmm: Expected self to be a floating-point or complex tensor, "
            f"but got {input.dtype.legacy}"
        )
    if input.ndim == mat1.ndim == mat2.ndim == 2:
        row, col = layouts.to_coo(input).parts[0]
        found = input.map(lambda v: beta * v + alpha * (mat1[row] * mat2.mT[col]).sum(-1))
    else:
        found = _sampled_batch(input, mat1, mat2, beta, alpha)
    return found if out is None else out._become(found)


@_taken_over
def log_softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> Tensor:
    """log(softmax(input)) along dim, as if what is not specified were minus infinity; the same places."""
    return softmax(input, dim, dtype=dtype, log=True)


def __getattr__(name: str) -> Any:
    """Classes of sparse tensors by dtype, and gradcheck's form, are there when a program asks for one."""
    from importlib import import_module

    if name == "as_sparse_gradcheck":
        return import_module("rushlight.sparse.gradcheck").as_sparse_gradcheck
    if name.endswith("Tensor"):
        found = vars(import_module("rushlight.sparse.legacy")).get(name)
        if found is not None and name != "Tensor":
            globals()[name] = found
            return found
    return import_module("rushlight._engine.names.alternatives").attribute("rushlight.sparse", name)
