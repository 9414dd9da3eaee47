"""What ops on shapes mean on sparse tensors: dims swapped, added and taken out, parts put together."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.tensors.tensor import Tensor
from rushlight.sparse.layouts import block_sizes, compress, places, to_coo
from rushlight.sparse.ops import op
from rushlight.sparse.tensor import BLOCKS, SparseTensor, make

_TURNED = {
    torch.sparse_csr: torch.sparse_csc,
    torch.sparse_csc: torch.sparse_csr,
    torch.sparse_bsr: torch.sparse_bsc,
    torch.sparse_bsc: torch.sparse_bsr,
}


def _dim(t: Tensor, dim: int, more: int = 0) -> int:
    """A dim counted from the front; IndexError where there is none."""
    many = t.ndim + more
    if not -max(many, 1) <= dim < max(many, 1):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-max(many, 1)}, {max(many, 1) - 1}], but "
            f"got {dim})"
        )
    return dim % max(many, 1)


@op("transpose", "swapaxes", "swapdims")
def transpose(t: SparseTensor, dim0: int, dim1: int) -> SparseTensor:
    """Two sparse dims, or two dense ones, swapped."""
    dim0, dim1 = sorted((_dim(t, dim0), _dim(t, dim1)))
    order = list(range(t.ndim))
    if dim0 == dim1:
        return t if t.is_sparse else _seen(t, make(t.parts, t.shape, layout=t.layout))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    if not t.is_sparse:
        return _seen(t, _transpose_compressed(t, dim0, dim1, order))
    found = permute(t, order)
    return _seen(t, found if t._nnz() else make(found.parts, found.shape, t.coalesced))


def _seen(t: SparseTensor, found: SparseTensor) -> SparseTensor:
    """A tensor as a view of another, or of what that one is a view of."""
    found._seen_of = t if t._seen_of is None else t._seen_of
    return found


def _transpose_compressed(t: SparseTensor, dim0: int, dim1: int, order: list[int]) -> SparseTensor:
    batch = t.batch_dim()
    size = [t.shape[i] for i in order]
    first, minor, values = t.parts
    if (dim0, dim1) == (batch, batch + 1):  # rows are columns: the same parts
        values = values.transpose(batch + 1, batch + 2) if t.layout in BLOCKS else values
        return make((first, minor, values), size, layout=_TURNED[t.layout])
    if dim1 < batch:
        return make(tuple(part.transpose(dim0, dim1).contiguous() for part in t.parts), size, layout=t.layout)
    if dim0 >= batch + 2:
        shift = values.ndim - t.ndim
        return make((first, minor, values.transpose(dim0 + shift, dim1 + shift)), size, layout=t.layout)
    raise RuntimeError(
        "transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got "
        f"{_kind(dim0, batch)} and {_kind(dim1, batch)}"
    )


def _kind(dim: int, batch: int) -> str:
    return "Batch" if dim < batch else "Sparse" if dim < batch + 2 else "Dense"


@op()
def permute(t: SparseTensor, dims: Any) -> SparseTensor:
    """The dims in another order, sparse ones among themselves."""
    order = [_dim(t, d) for d in dims]
    many, ordered = (
        t.sparse_dim(),
        not len(dims) or dims[0] == 0,
    )  # PyTorch looks at the first dim as it is given
    if len(order) != t.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of "
            f"the desired ordering of dimensions i.e. input.dim() = {t.ndim} is not equal to len(dims) = "
            f"{len(order)}"
        )
    if len(set(order)) != len(order):
        raise RuntimeError("permute(dims): duplicate dims are not allowed.")
    if not t.is_sparse:
        raise NotImplementedError(
            "permute: of the compressed layouts only transpose() is there; use .to_sparse() first"
        )
    if order == list(range(t.ndim)):
        return t if ordered else make(t.parts, t.shape, False)
    if sorted(order[:many]) != list(range(many)):
        mixed = "sparse and dense"
        raise RuntimeError(
            f"transpositions between {mixed} dimensions are not allowed.Please use `to_dense` first: sparse "
            f"dims are the first {many} of {t.ndim}, the order asked for is {order}"
        )
    values = t.parts[1]
    if order[many:] != list(range(many, t.ndim)):
        values = values.permute([0, *[d - many + 1 for d in order[many:]]])
    indices = t.parts[0][order[:many]] if many else t.parts[0]
    moved = order[:many] != list(range(many))
    return make((indices, values), [t.shape[i] for i in order], t.coalesced and ordered and not moved)


@op()
def t(input: SparseTensor) -> SparseTensor:
    """A matrix turned."""
    if input.ndim > 2 or (input.is_sparse and input.dense_dim()):
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
            f"{input.sparse_dim()} sparse and {input.dense_dim()} dense dimensions"
        )
    return transpose(input, 0, 0 if input.ndim < 2 else 1)


@op("adjoint")
def adjoint(input: SparseTensor) -> SparseTensor:
    """The last two dims swapped, and conjugated."""
    found = transpose(input, -2, -1)
    return found.map(torch.conj) if input.dtype.is_complex else found


def _matrix_transpose(input: SparseTensor) -> SparseTensor:
    return transpose(input, -2, -1)


setattr(SparseTensor, "T", property(t))
setattr(SparseTensor, "mT", property(_matrix_transpose))
for _name in ("H", "mH"):
    setattr(SparseTensor, _name, property(adjoint))


@op()
def unsqueeze(t: SparseTensor, dim: int) -> SparseTensor:
    """A dim of one, among the sparse or the dense ones."""
    dim = _dim(t, dim, 1)
    if not t.is_sparse:
        raise RuntimeError(f"Sparse {t.layout.name[7:].upper()} tensors do not have strides")
    many = t.sparse_dim()
    size = [*t.shape[:dim], 1, *t.shape[dim:]]
    if dim <= many:
        indices, place = t.parts[0], t.parts[0].new_zeros((1, t._nnz()))
        return make((torch.cat([indices[:dim], place, indices[dim:]]), t.parts[1]), size, t.coalesced)
    return make((t.parts[0], t.parts[1].unsqueeze(dim - many + 1)), size, t.coalesced)


@op("select", "select_copy")
def select(t: SparseTensor, dim: int, index: int) -> Tensor:
    """One place of a dim."""
    if not t.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim, many = _dim(t, dim), t.sparse_dim()
    n = t.shape[dim]
    if not -n <= index < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(t.shape)} at dimension {dim}"
        )
    index %= n
    size = [*t.shape[:dim], *t.shape[dim + 1 :]]
    if not t.is_sparse:
        return _select_compressed(t, dim, index, size)
    if dim >= many:
        return make((t.parts[0], t.parts[1].select(dim - many + 1, index)), size, t.coalesced)
    hold = t.parts[0][dim] == index
    values = t.parts[1][hold]
    rest = [d for d in range(many) if d != dim]
    if not rest:
        return values.sum(0, dtype=values.dtype)
    return make((t.parts[0][rest][:, hold], values), size, t.coalesced)


@op("__getitem__")
def getitem(t: SparseTensor, index: Any) -> Tensor:
    """Places of the first dims, by ints; `...` and full slices leave dims as they are."""
    found: Tensor = t
    dim = 0
    given = index if isinstance(index, tuple) else (index,)
    for i, item in enumerate(given):
        if item is Ellipsis:
            dim += t.ndim - (len(given) - 1)
        elif isinstance(item, slice) and item == slice(None):
            dim += 1
        elif isinstance(item, int) and not isinstance(item, bool):
            if not isinstance(found, SparseTensor):
                return found[tuple(given[i:])]
            found = select(found, dim, item)
        else:
            raise NotImplementedError(
                f"an index of type {type(item).__name__} is not there for sparse tensors: take "
                "index_select(), narrow_copy() or .to_dense() first"
            )
    return found


def _select_compressed(t: SparseTensor, dim: int, index: int, size: list[int]) -> Tensor:
    batch = t.batch_dim()
    first, minor, values = t.parts
    if dim < batch:
        return make(
            (first.select(dim, index), minor.select(dim, index), values.select(dim, index)),
            size,
            layout=t.layout,
        )
    if dim >= batch + 2:
        return make((first, minor, values.select(dim + values.ndim - t.ndim, index)), size, layout=t.layout)
    if batch:
        raise RuntimeError(
            "selecting sparse dimensions is not supported for batched sparse compressed tensors."
        )
    (row, col), held = places(t)
    mine, other = (row, col) if dim == batch else (col, row)
    hold = mine == index
    return make((other[hold][None], held[hold]), size, True)


@op()
def index_select(t: SparseTensor, dim: int, index: Tensor) -> Tensor:
    """The places of a dim that a vector of indices names, in its order."""
    if not t.ndim:
        raise IndexError("index_select() cannot be applied to a 0-dim tensor.")
    if index.ndim > 1 or index.dtype not in (torch.int64, torch.int32):
        raise IndexError("index_select() argument index must be 1-D long-tensor.")
    dim, many, index = _dim(t, dim), t.sparse_dim(), index.reshape(-1).long()
    n = t.shape[dim]
    size = [*t.shape[:dim], len(index), *t.shape[dim + 1 :]]
    wrong = index[(index < -n) | (index >= n)]
    if len(wrong):
        raise IndexError(
            f"index_select(): index contains {int(wrong[0])} that is out of range for tensor of size "
            f"{list(t.shape)} at dimension {dim}"
        )
    index = torch.where(index < 0, index + n, index)
    if not t.is_sparse:
        return compress(
            index_select(to_coo(t), dim, index), t.layout, block_sizes(t) if t.layout in BLOCKS else None
        )
    if dim >= many:
        return make((t.parts[0], t.parts[1].index_select(dim - many + 1, index)), size, t.coalesced)
    ordered, order = index.sort(stable=True)
    begin = torch.searchsorted(ordered, t.parts[0][dim])
    count = torch.searchsorted(ordered, t.parts[0][dim], right=True) - begin
    mine = torch.repeat_interleave(torch.arange(t._nnz(), device=count.device), count)
    within = torch.arange(len(mine), device=count.device) - torch.repeat_interleave(
        count.cumsum(0) - count, count
    )
    indices = t.parts[0][:, mine].clone()
    indices[dim] = order[begin[mine] + within]
    return make((indices, t.parts[1][mine]), size, False)


@op("cat", "concat", "concatenate")
def cat(tensors: Any, dim: int = 0) -> SparseTensor:
    """Sparse tensors one after the other along a dim."""
    first = tensors[0]
    for i, other in enumerate(tensors):
        if not isinstance(other, SparseTensor):
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {i}.")
    if not first.is_sparse:
        raise RuntimeError(f"Sparse {first.layout.name[7:].upper()} tensors do not have is_contiguous")
    dim, many = _dim(first, dim), first.sparse_dim()
    for i, other in enumerate(tensors):
        if (other.sparse_dim(), other.dense_dim()) != (many, first.dense_dim()):
            raise RuntimeError(
                f"All tensors must have the same sparse_dim and dense_dim: {many}, {first.dense_dim()}, but "
                f"tensor at position {i} has {other.sparse_dim()}, {other.dense_dim()}."
            )
        if any(a != b for d, (a, b) in enumerate(zip(first.shape, other.shape, strict=True)) if d != dim):
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.shape)} (except in the concatenating "
                f"dimension), but found shape: {list(other.shape)} at position {i}."
            )
    size = [n if d != dim else sum(other.shape[d] for other in tensors) for d, n in enumerate(first.shape)]
    indices, parts, start = [], [], 0
    for other in tensors:
        own, values = other.parts
        if dim < many:
            own = own.clone()
            own[dim] += start
        else:
            at = dim - many + 1
            sizes = list(values.shape)
            before, behind = list(sizes), list(sizes)
            before[at], behind[at] = start, size[dim] - start - sizes[at]
            values = torch.cat([values.new_zeros(before), values, values.new_zeros(behind)], at)
        indices.append(own)
        parts.append(values)
        start += other.shape[dim]
    return make((torch.cat(indices, 1), torch.cat(parts)), size, len(tensors) == 1 and first.coalesced)


@op("stack")
def stack(tensors: Any, dim: int = 0) -> SparseTensor:
    """Sparse tensors of one size along a new dim."""
    for i, other in enumerate(tensors):
        if other.shape != tensors[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 "
                f"and {list(other.shape)} at entry {i}"
            )
    dim = _dim(tensors[0], dim, 1)
    return cat([t.unsqueeze(dim) for t in tensors], dim)


@op()
def unbind(t: SparseTensor, dim: int = 0) -> tuple[Tensor, ...]:
    """All places of a dim."""
    return tuple(select(t, dim, i) for i in range(t.shape[_dim(t, dim)]))


@op()
def narrow_copy(t: SparseTensor, dim: int, start: int, length: int) -> SparseTensor:
    """The places of a dim from start on."""
    dim, many = _dim(t, dim), t.sparse_dim()
    if not 0 <= start <= start + length <= t.shape[dim]:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({t.shape[dim]}).")
    size = [*t.shape[:dim], length, *t.shape[dim + 1 :]]
    if dim >= many:
        return make((t.parts[0], t.parts[1].narrow(dim - many + 1, start, length)), size, t.coalesced)
    hold = (t.parts[0][dim] >= start) & (t.parts[0][dim] < start + length)
    indices = t.parts[0][:, hold].clone()
    indices[dim] -= start
    return make((indices, t.parts[1][hold]), size, t.coalesced)


@op("expand", "broadcast_to")
def expand(t: SparseTensor, *size: Any, **options: Any) -> Any:
    """Refused, with PyTorch's words."""
    kind = "Sparse" if t.is_sparse else f"Sparse{t.layout.name[7:].title()}"
    raise RuntimeError(f"expand is unsupported for {kind} tensors")


@op("reshape", "flatten")
def reshape(t: SparseTensor, *size: Any) -> Any:
    """Refused, with PyTorch's words."""
    raise RuntimeError("reshape is not implemented for sparse tensors")


@op("view_as_real")
def view_as_real(t: SparseTensor) -> Tensor:
    """The numbers' parts as a last dim."""
    return make((*t.parts[:-1], torch.view_as_real(t.parts[-1])), (*t.shape, 2), t.coalesced, t.layout)


def spread(t: SparseTensor, size: Any) -> SparseTensor:
    """torch._sparse_broadcast_to: a COO tensor repeated along dims of one and new ones in front."""
    more = len(size) - t.ndim
    found = t
    for _ in range(more):
        found = unsqueeze(found, 0)
    for d, n in enumerate(size):
        if found.shape[d] != n and n != -1:
            if found.shape[d] != 1:
                raise RuntimeError(
                    f"The expanded size of the tensor ({n}) must match the existing size "
                    f"({found.shape[d]}) at non-singleton dimension {d}."
                )
            found = cat([found] * n, d) if n else narrow_copy(found, d, 0, 0)
    return make(found.parts, found.shape, False) if found is not t else to_coo(found)
