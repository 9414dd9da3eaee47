"""What arithmetic of two operands and matrix products mean on sparse tensors."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.core.errors import check_multipliable
from rushlight._engine.dispatch.runners.meta import refuse_devices
from rushlight._engine.ops.refusals import ONE_BOOL_SUB
from rushlight._engine.tensors.tensor import Tensor
from rushlight.sparse.layouts import coalesce, compress, flat, like, name_of, to_coo, to_dense
from rushlight.sparse.ops import keeping_layout, op
from rushlight.sparse.shapes import spread, transpose
from rushlight.sparse.tensor import BLOCKS, LEGACY, SparseTensor, make

# --- elementwise ------------------------------------------------------------------------------------


def _scaled(values: Any, alpha: Any, of: torch.dtype) -> Any:
    """values * alpha in the sum's dtype: where that is wider, -1 times a byte is no byte."""
    values = values.to(of)
    if isinstance(alpha, int | float) and alpha == 1:
        return values
    if isinstance(alpha, float) and not (of.is_floating_point or of.is_complex):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    return values * alpha


def _check_shapes(a: Tensor, b: Tensor) -> None:
    if a.shape != b.shape:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {list(a.shape)} while "
            f"other has size {list(b.shape)} (FYI: dense-sparse addition does not currently support "
            "broadcasting)"
        )


@op()
def add(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """a + alpha * b; with a dense a, the sum is dense. Of a CSR or CSC a and a dense b: b + alpha * a."""
    plain = isinstance(b, Tensor) and not isinstance(b, SparseTensor)
    both = isinstance(a, SparseTensor) and isinstance(b, SparseTensor)
    if both and not a.is_sparse and a.shape != b.shape:
        raise RuntimeError(
            "torch.add: Expected input tensors to have the same shape, but got tensor `self` with shape "
            f"{list(a.shape)} and tensor `other` with shape {list(b.shape)}"
        )
    if plain and isinstance(a, SparseTensor) and not a.is_sparse and a.layout not in BLOCKS:
        return torch.add(b, to_dense(a), alpha=alpha)  # whichever stands first: PyTorch exchanges the two
    return _add(a, b, alpha=alpha)


@keeping_layout
def _add(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    if not isinstance(a, SparseTensor):
        if not isinstance(a, Tensor):
            a = torch.tensor(a)
        _check_shapes(a, b)
        return _into_dense(a.to(torch.result_type(a, b), copy=True), b, alpha)
    if not isinstance(b, SparseTensor):
        if isinstance(b, Tensor):
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if a.shape != b.shape:
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != {list(b.shape)}"
        )
    if (a.sparse_dim(), a.dense_dim()) != (b.sparse_dim(), b.dense_dim()):
        raise RuntimeError("cadd operands have incompatible desnse dims")
    terms = _scaled(b.parts[1], alpha, torch.result_type(a, b))
    merged = _merged(a, b, terms)
    if merged is not None:
        return make(merged, a.shape, a.coalesced and b.coalesced)
    found = make((torch.cat([a.parts[0], b.parts[0]], 1), torch.cat([a.parts[1], terms])), a.shape)
    return coalesce(found) if a.coalesced and b.coalesced else found


def _merged(a: SparseTensor, b: SparseTensor, terms: Tensor) -> tuple[Tensor, Tensor] | None:
    """(places, values) of a sum, in the order of the places, where both have theirs in order; the first
    values of a place are added up, then the second ones. None for others, for values with gaps, and on a
    device: there they stand one behind the other.
    """
    plain = a.parts[1].is_contiguous() and b.parts[1].is_contiguous()
    if a.device.type != "cpu" or not plain or not len(a.parts[0]) or terms.dtype == torch.bool:
        return None
    keys = [flat(t.parts[0], t.shape[: t.sparse_dim()]) for t in (a, b)]
    if not all(len(k) and bool((k[1:] >= k[:-1]).all()) for k in keys):
        return None
    turns = [torch.arange(len(k)) - torch.searchsorted(k, k) for k in keys]
    most = 1 + int(max(t.max() for t in turns))
    each = [k * most + t for k, t in zip(keys, turns, strict=True)]
    order = torch.cat(each).unique()
    here, there = (torch.searchsorted(order, e) for e in each)
    of = torch.result_type(a.parts[1], terms)
    places = a.parts[0].new_empty(len(a.parts[0]), len(order))
    places[:, here], places[:, there] = a.parts[0], b.parts[0]
    values = torch.zeros(len(order), *terms.shape[1:], dtype=of)
    values = values.index_add(0, here, a.parts[1].to(of)).index_add(0, there, terms.to(of))
    return places, values


def _into_dense(a: Tensor, b: SparseTensor, alpha: Any) -> Any:
    """A dense a with alpha * b added."""
    terms = _scaled(b.parts[1], alpha, a.dtype)
    if not len(b.parts[0]):
        return a + terms.sum(0, dtype=a.dtype)
    return a.index_put(tuple(b.parts[0]), terms, accumulate=True)


@op("add_")
def add_(a: Tensor, b: SparseTensor, *, alpha: Any = 1) -> Tensor:
    """a += alpha * b."""
    of = torch.result_type(a, b)
    if not torch.can_cast(of, a.dtype):
        raise RuntimeError(
            f"Can't convert result type {of.legacy} to output {a.dtype.legacy} in add operation"
        )
    if isinstance(a, SparseTensor):
        found = add(a, b, alpha=alpha)
        if not isinstance(found, SparseTensor):
            raise RuntimeError(f"Sparse {a.layout.name[7:].upper()} tensors do not have is_contiguous")
        return a._become(found.to(a.dtype))
    b = to_coo(b)
    _check_shapes(a, b)
    terms = _scaled(b.parts[1], alpha, of).to(a.dtype)
    if not len(b.parts[0]):
        return a.add_(to_dense(b), alpha=alpha)
    return a.index_put_(tuple(b.parts[0]), terms, accumulate=True)


@op("sub", "subtract")
def sub(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """a - alpha * b; RuntimeError of compressed layouts."""
    _refuse_compressed(a, b)
    _refuse_bools(a, b)
    return add(a, b, alpha=-alpha)


@op("sub_")
def sub_(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """a -= alpha * b; RuntimeError of compressed layouts."""
    _refuse_compressed(a, b)
    _refuse_bools(a, b)
    return add_(a, b, alpha=-alpha)


def _refuse_compressed(*operands: Any) -> None:
    for a in operands:
        if isinstance(a, SparseTensor) and not a.is_sparse:
            raise RuntimeError(f"unsupported tensor layout: {LEGACY[a.layout]}")


def _refuse_bools(*operands: Any) -> None:
    found = [a is True or a is False or getattr(a, "dtype", None) is torch.bool for a in operands]
    if all(found):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    if any(found):
        raise RuntimeError(ONE_BOOL_SUB)


@op()
def rsub(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """b - alpha * a."""
    return add(b, a, alpha=-alpha)


@op("mul", "multiply")
def mul(a: Any, b: Any) -> Any:
    """The product: at the places that both have."""
    for of, by in ((a, b), (b, a)):
        number = not isinstance(by, Tensor) or not (by.ndim or isinstance(by, SparseTensor))
        if number and isinstance(of, SparseTensor):
            return of.map(lambda v, by=by: v * by)  # type: ignore[misc]
    return _times(a, b)


@keeping_layout
def _times(a: Any, b: Any) -> Any:
    if not isinstance(a, SparseTensor):
        a, b = b, a
    if not isinstance(b, SparseTensor):
        return _times_dense(a, b)
    if a.shape != b.shape and not (a.ndim and b.ndim):
        one, many = (b, a) if not b.ndim else (a, b)
        return many.map(lambda v: v * to_dense(one))
    return _times_sparse(coalesce(a), coalesce(b))


def _times_dense(a: SparseTensor, b: Tensor) -> SparseTensor:
    size = torch.broadcast_shapes(a.shape, b.shape)
    if tuple(size) != tuple(a.shape):
        a = coalesce(spread(a, size))
    if not a.parts[0].shape[0]:
        return a.map(lambda v: v * b.reshape(-1))
    return a.map(lambda v: v * b.expand(a.shape)[tuple(a.parts[0])])


def _times_sparse(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    many = a.sparse_dim()
    if a.ndim != b.ndim or many != b.sparse_dim() or a.shape[:many] != b.shape[:many]:
        raise RuntimeError(
            "mul: expects sparse inputs with equal dimensionality, number of sparse dimensions, and shape "
            f"of sparse dimensions; got {list(a.shape)} and {list(b.shape)} of {many} and {b.sparse_dim()} "
            "sparse dims"
        )
    mine, theirs = (flat(s.parts[0], s.shape) for s in (a, b))
    place = torch.searchsorted(theirs, mine).clamp(max=max(len(theirs) - 1, 0))
    both = theirs[place] == mine if len(theirs) else torch.zeros_like(mine, dtype=torch.bool)
    values = a.parts[1][both] * b.parts[1][place[both]]
    return make((a.parts[0][:, both], values), (*a.shape[:many], *values.shape[1:]), True)


@op("mul_")
def mul_(a: Any, b: Any) -> Any:
    """a *= b."""
    found = mul(a, b)
    if not torch.can_cast(found.dtype, a.dtype):
        raise RuntimeError(
            f"result type {found.dtype.legacy} can't be cast to the desired output type {a.dtype.legacy}"
        )
    if isinstance(a, SparseTensor):
        return a._become(found.to(a.dtype))
    return a.copy_(to_dense(found))


@op("div", "divide", "true_divide")
def div(a: SparseTensor, b: Any, *, rounding_mode: Any = None) -> SparseTensor:
    """The values divided by a number."""
    divisor = list(b.shape) if isinstance(b, Tensor) and (b.ndim or isinstance(b, SparseTensor)) else None
    if divisor is not None:
        raise RuntimeError(
            f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {divisor} "
            "for divisor)"
        )
    start = coalesce(a) if rounding_mode is not None and a.is_sparse else a
    return start.map(lambda v: torch.div(v, b, rounding_mode=rounding_mode))


@op()
def floor_divide(a: SparseTensor, b: Any) -> SparseTensor:
    """The values divided by a number, rounded down."""
    if isinstance(b, Tensor) and (b.ndim or isinstance(b, SparseTensor)):
        raise RuntimeError(
            "Sparse floor division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(b.shape)} for divisor)"
        )
    return div(a, b, rounding_mode="floor")


@op()
def dist(a: Any, b: Any, p: float = 2) -> Any:
    """The norm of a - b."""
    return torch.norm(torch.sub(a, b), p)


# --- products of matrices ---------------------------------------------------------------------------


@op()
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """input @ weight.T + bias, of a sparse matrix as input or weight."""
    if isinstance(input, SparseTensor):
        turned = transpose(weight, 0, 1) if isinstance(weight, SparseTensor) else weight.t()
        return mm(input, turned) if bias is None else addmm(bias, input, turned)
    rows = input.reshape(-1, input.shape[-1])
    found = mm(weight, rows.mT).mT.reshape(*input.shape[:-1], weight.shape[0])
    return found if bias is None else found + bias


@op("mm", "matmul", "mv", "dot")
def mm(a: Any, b: Any) -> Tensor:
    """The matrix product; of two sparse matrices, sparse."""
    if 3 in (a.ndim, b.ndim):
        return bmm(a, b)
    if not isinstance(a, SparseTensor):
        return mm(transpose(b, 0, 1), a.mT).mT if a.ndim > 1 else mm(transpose(b, 0, 1), a)
    if isinstance(a, SparseTensor) and a.ndim == 1 and b.ndim == 1:
        total: Tensor = mul(a, b).sum()
        return total
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise RuntimeError(
            f"mm: Expected mat1 to be 2-D and mat2 a matrix or a vector, got {a.ndim}-D and {b.ndim}-D"
        )
    refuse_devices((a, b))
    check_multipliable(a.shape, b.shape)
    if a.dtype is not b.dtype:
        raise RuntimeError(f"mat1 dtype {a.dtype.legacy} does not match mat2 dtype {b.dtype.legacy}")
    if isinstance(b, SparseTensor):
        found = _product(coalesce(to_coo(a)), compress(coalesce(to_coo(b)), torch.sparse_csr))
        return found if a.is_sparse and b.is_sparse else compress(found, torch.sparse_csr)
    (row, col), values = to_coo(a).parts
    terms: Tensor = (values if b.ndim == 1 else values[:, None]) * b[col]
    return terms.new_zeros((a.shape[0], *b.shape[1:])).index_add(0, row, terms)


def _product(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    (row, col), (crow, columns, values) = a.parts[0], b.parts
    count = crow[col + 1] - crow[col]
    mine = torch.repeat_interleave(torch.arange(len(row), device=row.device), count)
    before = torch.repeat_interleave(count.cumsum(0) - count, count)
    theirs = torch.arange(len(mine), device=row.device) - before + crow[col[mine]]
    return coalesce(
        make(
            (torch.stack([row[mine], columns[theirs]]), a.parts[1][mine] * values[theirs]),
            (a.shape[0], b.shape[1]),
        )
    )


@op()
def bmm(a: Any, b: Any) -> Tensor:
    """The products of the matrices of two batches, dense."""
    if a.ndim != 3 or b.ndim != 3:
        raise RuntimeError(f"bmm: batches of matrices are needed, got {a.ndim}-D and {b.ndim}-D")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(
            f"bmm: Argument #3: Expected dim 0 size {a.shape[0]} and dim 1 size {a.shape[2]}, got "
            f"{list(b.shape)}"
        )
    if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
        raise RuntimeError(
            "bmm: batches of two sparse tensors have no product: make one dense, by .to_dense()"
        )
    if not isinstance(a, SparseTensor):
        return bmm(transpose(b, 1, 2), a.mT).mT
    (batch, row, col), values = to_coo(a).parts
    terms = values[:, None] * to_dense(b)[batch, col]
    found = terms.new_zeros((a.shape[0] * a.shape[1], b.shape[2]))
    return found.index_add(0, batch * a.shape[1] + row, terms).reshape(a.shape[0], a.shape[1], b.shape[2])


@op("addmm", "saddmm")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""
    if mat1.ndim != 2 or mat2.ndim != 2:
        name, n = ("mat1", mat1.ndim) if mat1.ndim != 2 else ("mat2", mat2.ndim)
        raise RuntimeError(f"{name} must be a matrix, got {n}-D tensor")
    check_multipliable(mat1.shape, mat2.shape)
    product = torch.mm(mat1, mat2)
    if isinstance(input, SparseTensor) and isinstance(product, SparseTensor):
        return like(input, add(mul(to_coo(input), beta), to_coo(product), alpha=alpha))
    if isinstance(input, SparseTensor):
        raise RuntimeError(
            f"addmm: computation on CPU is not implemented for {name_of(input)} + {name_of(mat1)} @ "
            f"{name_of(mat2)}"
        )
    shape = product.shape
    if torch.broadcast_shapes(input.shape, shape) != shape:
        raise RuntimeError(
            f"The expanded size of the tensor {list(shape)} must match the existing size {list(input.shape)}"
        )
    start = input.expand(shape) * beta if beta != 0 else product.new_zeros(shape)
    return torch.add(start, to_dense(product), alpha=alpha)


@op()
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""
    product = mm(mat, vec)
    start = input.expand(product.shape) * beta if beta != 0 else torch.zeros_like(product)
    return torch.add(start, product, alpha=alpha)


@op()
def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2)."""
    product = bmm(batch1, batch2)
    start = input.expand(product.shape) * beta if beta != 0 else torch.zeros_like(product)
    return torch.add(start, product, alpha=alpha)


def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> SparseTensor:
    """torch.sspaddmm: beta * input + alpha * (mat1 @ mat2) of sparse input and mat1, sparse."""
    (row, col), values = coalesce(mat1).parts
    terms = (values[:, None] * mat2[col] * alpha).reshape(-1)
    wide = mat2.shape[1]
    places = torch.stack(
        [
            row[:, None].expand(len(row), wide).reshape(-1),
            torch.arange(wide, device=row.device).repeat(len(row)),
        ]
    )
    found = make(
        (torch.cat([input.parts[0], places], 1), torch.cat([input.parts[1] * beta, terms])), input.shape
    )
    return coalesce(found)


def hspmm(mat1: Any, mat2: Any) -> SparseTensor:
    """torch.hspmm: mat1 @ mat2, the rows that mat1 has anything in as the values of a hybrid tensor."""
    (row, col), values = coalesce(mat1).parts
    rows, of = torch.unique(row, return_inverse=True)
    start = values.new_zeros((len(rows), mat2.shape[1]))
    return make(
        (rows[None], start.index_add(0, of, values[:, None] * mat2[col])),
        (mat1.shape[0], mat2.shape[1]),
        True,
    )


hsmm = hspmm


@op()
def triangular_solve(
    b: Tensor, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """torch.triangular_solve with a sparse triangular matrix; the copy of A that comes with it is empty."""
    # for this op alone
    from rushlight import return_types

    found = torch.triangular_solve(b, to_dense(A), upper, transpose, unitriangular)[0]
    return return_types.triangular_solve((found, found.new_empty(0)))
