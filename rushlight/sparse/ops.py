"""What ops mean on sparse tensors: functions of index and value tensors, by the public ops alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.tensors.tensor import Tensor
from rushlight.sparse.tensor import BLOCKS, COLUMNS, LEGACY, OPS, SparseTensor, make


def op(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the meaning of ops."""

    def declare(f: Callable[..., Any]) -> Callable[..., Any]:
        OPS.update(dict.fromkeys(names or (f.__name__,), f))
        return f

    return declare


def keeping_layout(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function written for COO: compressed operands go by it, and back."""

    def call(first: Any, *rest: Any, **options: Any) -> Any:
        found = f(*[to_coo(v) for v in (first, *rest)], **options)
        back = isinstance(first, SparseTensor) and not first.is_sparse
        return like(first, found) if back and isinstance(found, SparseTensor) and found.ndim >= 2 else found

    call.__name__ = f.__name__
    return call


# --- layouts --------------------------------------------------------------------------------------


def to_coo(t: Any) -> Any:
    """A compressed tensor as COO; everything else as it is."""
    if not isinstance(t, SparseTensor) or t.is_sparse:
        return t
    first, minor, values = t.parts
    major = torch.repeat_interleave(torch.arange(len(first) - 1), first.diff())
    row, col = (minor, major) if t.layout in COLUMNS else (major, minor)
    if t.layout in BLOCKS:
        shape, (high, wide) = values.shape[:3], values.shape[1:3]
        row = (row[:, None, None] * high + torch.arange(high)[:, None]).expand(shape).flatten()
        col = (col[:, None, None] * wide + torch.arange(wide)).expand(shape).flatten()
        values = values.flatten(0, 2)
    return make((torch.stack([row, col]), values), t.shape, t.layout is torch.sparse_csr)


def like(t: SparseTensor, found: Any) -> SparseTensor:
    """A tensor in the layout of a compressed one."""
    return compress(found, t.layout, tuple(t.parts[-1].shape[1:3]) if t.layout in BLOCKS else None)


def compress(
    t: Any, layout: Any, blocksize: Any = None, dense_dim: Any = None, name: str = "dense_to_sparse"
) -> SparseTensor:
    """A matrix in a compressed layout, of blocks or not; dense_dim: how many dims are the values'."""
    blocksize = _check_blocks(t, layout, blocksize, name)
    many = t.dense_dim() if isinstance(t, SparseTensor) else dense_dim or 0
    if t.ndim - many != 2:
        raise RuntimeError(
            f"{name}: expected a matrix and {many} dense dims, got {t.ndim} dims; a batch of "
            "sparse matrices is a list here"
        )
    if blocksize is None and isinstance(t, SparseTensor):
        (major, minor), values = coalesce(to_coo(t)).parts
        if layout in COLUMNS:
            order = minor.argsort(stable=True)
            major, minor, values = minor[order], major[order], values[order]
    else:
        high, wide = blocksize or (1, 1)
        grid = to_dense(t).unflatten(0, (-1, high)).unflatten(2, (-1, wide)).transpose(1, 2)
        grid = grid if blocksize else grid[:, :, 0, 0]
        grid = grid.transpose(0, 1) if layout in COLUMNS else grid
        major, minor = (grid != 0).reshape(*grid.shape[:2], -1).any(-1).nonzero(as_tuple=True)
        values = grid[major, minor]
    side = int(layout in COLUMNS)
    count = torch.bincount(major, minlength=t.shape[side] // (blocksize[side] if blocksize else 1))
    return make(
        (torch.nn.functional.pad(count.cumsum(0), (1, 0)), minor.contiguous(), values), t.shape, layout=layout
    )


def _check_blocks(t: Any, layout: Any, blocksize: Any, name: str) -> Any:
    """The sizes of blocks that a conversion makes; RuntimeError for those that do not fit."""
    of = t.layout if isinstance(t, SparseTensor) else None
    if blocksize is None and of is layout and layout in BLOCKS:
        return tuple(t.parts[-1].shape[1:3])
    sizes = [blocksize] * 2 if isinstance(blocksize, int) else blocksize
    if sizes is not None and len(sizes) != 2:
        raise RuntimeError(f"{name}: blocksize needs to be a tuple of size 2, but got {len(sizes)}")
    if (sizes is not None) != (layout in BLOCKS):
        raise RuntimeError(
            f"{name}: conversion from {LEGACY.get(of, 'Strided')} to {LEGACY[layout]} with"
            f"{'out' * (sizes is None)} blocksize argument given is not supported"
        )
    if sizes and min(sizes) < 1:
        raise RuntimeError(f"{name}: blocksize needs to be positive, but got {list(sizes)}")
    if sizes and (t.shape[0] % sizes[0] or t.shape[1] % sizes[1]):
        raise RuntimeError(
            f"{name}: tensor sparse size ({t.shape[0]},{t.shape[1]}) must be divisible by "
            f"given blocksize ({sizes[0]},{sizes[1]})"
        )
    return sizes


def to_sparse(
    t: Tensor, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: Any = None
) -> SparseTensor:
    """A dense tensor's nonzero values and their places, counted in the first sparse_dim dims; or a compressed
    layout."""
    if isinstance(sparse_dim, type(torch.strided)):
        layout, sparse_dim = sparse_dim, None
    if layout not in (None, torch.sparse_coo):
        return compress(t, layout, blocksize, dense_dim)
    if isinstance(t, SparseTensor):
        return to_coo(t)
    dims = t.ndim - (dense_dim or 0) if sparse_dim is None else sparse_dim
    hold = t if dims == t.ndim else t.flatten(dims).any(-1)
    indices = torch.nonzero(hold).t().contiguous()
    return make((indices, t[tuple(indices)]), t.shape, True)


def to_dense(t: Tensor, dtype: Any = None, **_: Any) -> Tensor:
    """A dense tensor of the same numbers."""
    if not isinstance(t, SparseTensor):
        return t if dtype is None else t.to(dtype)
    indices, values = to_coo(t).parts
    values = values if dtype is None else values.to(dtype)
    start = torch.zeros(t.shape, dtype=values.dtype)
    return start.index_put(tuple(indices), values, accumulate=True)


def _flat(indices: Tensor, size: Any) -> Tensor:
    """The places as single numbers, row by row."""
    found = torch.zeros_like(indices[0])
    for row, n in zip(indices, size, strict=False):
        found = found * n + row
    return found


def coalesce(t: SparseTensor) -> SparseTensor:
    """The same tensor with places in order, each once."""
    if t.is_coalesced():
        return t
    indices, values = t.parts
    places, back = torch.unique(_flat(indices, t.shape), return_inverse=True)
    first = torch.zeros_like(places).scatter_(0, back, torch.arange(len(back)))
    start = torch.zeros((len(places), *values.shape[1:]), dtype=values.dtype)
    return make((indices[:, first], start.index_add(0, back, values)), t.shape, True)


def sparse_mask(t: Tensor, mask: SparseTensor) -> SparseTensor:
    """A tensor's numbers at the places that mask has."""
    return coalesce(mask).map(lambda _: to_dense(t)[tuple(coalesce(mask).indices())])


# --- one operand ----------------------------------------------------------------------------------


def _valuewise(name: str, linear: bool) -> None:
    f = getattr(torch, name)

    @op(name)
    def apply(t: SparseTensor, *args: Any, **options: Any) -> SparseTensor:
        return (t if linear or not t.is_sparse else coalesce(t)).map(lambda v: f(v, *args, **options))


for _name in ("neg", "positive", "clone", "conj_physical", "real", "imag"):
    _valuewise(_name, True)
# Functions that are 0 at 0.
for _name in (
    "abs sqrt square sin tan tanh asin atan sinh asinh atanh floor ceil round trunc frac sign sgn "
    "relu expm1 log1p deg2rad rad2deg erf erfinv isnan isinf signbit nan_to_num"
).split():
    _valuewise(_name, False)


@op("_to_dtype")
def _to_dtype(t: SparseTensor, dtype: Any, *_: Any) -> SparseTensor:
    return t.map(lambda v: v.to(dtype))


@op()
def zeros_like(t: SparseTensor, **_: Any) -> SparseTensor:
    """Nothing, in the same shape."""
    if not t.is_sparse:
        return like(t, zeros_like(to_coo(t)))
    return make((t.parts[0][:, :0], t.parts[1].detach()[:0]), t.shape, True)


_TURNED = {
    torch.sparse_csr: torch.sparse_csc,
    torch.sparse_csc: torch.sparse_csr,
    torch.sparse_bsr: torch.sparse_bsc,
    torch.sparse_bsc: torch.sparse_bsr,
}


@op("transpose", "swapaxes")
def transpose(t: SparseTensor, dim0: int, dim1: int) -> SparseTensor:
    """Two sparse dims swapped."""
    order = list(range(t.ndim))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    if not t.is_sparse and order[:2] == [1, 0]:  # rows are columns: the same parts
        values = t.parts[-1].transpose(1, 2) if t.layout in BLOCKS else t.parts[-1]
        return make((*t.parts[:2], values), [t.shape[i] for i in order], layout=_TURNED[t.layout])
    t = to_coo(t)
    if order[t.sparse_dim() :] != list(range(t.sparse_dim(), t.ndim)):
        raise RuntimeError("transpose: sparse dims of a sparse tensor may be swapped, and no dense ones")
    return make((t.parts[0][order[: t.sparse_dim()]], t.parts[1]), [t.shape[i] for i in order])


@op()
def t(input: SparseTensor) -> SparseTensor:
    """A matrix turned."""
    return transpose(input, 0, 1)


SparseTensor.T = SparseTensor.mT = property(t)  # type: ignore[assignment]


@op()
@keeping_layout
def sum(t: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum over all dims (dense), or over some; dense where no sparse dim is left."""
    values = t.parts[1] if dtype is None else t.parts[1].to(dtype)
    if dim is None:
        return values.sum()
    dims = {d % t.ndim for d in ((dim,) if isinstance(dim, int) else dim)}
    inner = [d - t.sparse_dim() + 1 for d in dims if d >= t.sparse_dim()]
    values = values.sum(inner) if inner else values
    rest = [d for d in range(t.sparse_dim()) if d not in dims]
    if not rest:
        return values.sum(0)
    return coalesce(make((t.parts[0][rest], values), [n for i, n in enumerate(t.shape) if i not in dims]))


@keeping_layout
def softmax(t: SparseTensor, dim: int, *, dtype: Any = None, log: bool = False) -> SparseTensor:
    """softmax along dim of the numbers that there are."""
    t, dim = coalesce(t if dtype is None else t.to(dtype)), dim % t.ndim
    indices, values = t.parts
    if dim >= t.sparse_dim():
        f = torch.log_softmax if log else torch.softmax
        return t.map(lambda v: f(v, dim - t.sparse_dim() + 1))
    rest = [i for i in range(t.sparse_dim()) if i != dim]
    flat = _flat(indices[rest], [t.shape[i] for i in rest]) if rest else torch.zeros_like(indices[0])
    row = torch.unique(flat, return_inverse=True)[1]
    shape = (int(row.max()) + 1 if len(row) else 0, *values.shape[1:])
    where = row.reshape(-1, *[1] * (values.ndim - 1)).expand(values.shape)
    high = torch.full(shape, -torch.inf, dtype=values.dtype).scatter_reduce(0, where, values.detach(), "amax")
    apart = values - high[row]
    total = torch.zeros(shape, dtype=values.dtype).index_add(0, row, apart.exp())[row]
    return t.map(lambda _: apart - total.log() if log else apart.exp() / total)


# --- two operands ---------------------------------------------------------------------------------


@op()
@keeping_layout
def add(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """a + alpha * b; with a dense a, the sum is dense."""
    if not isinstance(a, SparseTensor):
        return a.index_put(tuple(b.parts[0]), (b.parts[1] * alpha).to(a.dtype), accumulate=True)
    if not isinstance(b, SparseTensor):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if a.shape != b.shape:
        raise RuntimeError(
            f"add: Expected sizes of 'self' and 'other' to match, but {list(a.shape)} != {list(b.shape)}"
        )
    found = make(
        (torch.cat([a.parts[0], b.parts[0]], 1), torch.cat([a.parts[1], b.parts[1] * alpha])), a.shape
    )
    return coalesce(found) if a.coalesced and b.coalesced else found


@op("add_")
def _add_into(a: Tensor, b: SparseTensor, *, alpha: Any = 1) -> Tensor:
    b = to_coo(b)
    return a.index_put_(tuple(b.parts[0]), (b.parts[1] * alpha).to(a.dtype), accumulate=True)


@op()
def sub(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """a - alpha * b."""
    return add(a, b, alpha=-alpha)


@op()
@keeping_layout
def mul(a: Any, b: Any) -> Any:
    """The product: at the places that both have."""
    if not isinstance(a, SparseTensor):
        a, b = b, a
    if not isinstance(b, Tensor) or not b.ndim and not isinstance(b, SparseTensor):
        return a.map(lambda v: v * b)
    a = coalesce(a)
    if not isinstance(b, SparseTensor):
        return a.map(lambda v: v * b.expand(a.shape)[tuple(a.parts[0])])
    b = coalesce(b)
    mine, theirs = (_flat(s.parts[0], s.shape) for s in (a, b))
    place = torch.searchsorted(theirs, mine).clamp(max=max(len(theirs) - 1, 0))
    both = theirs[place] == mine if len(theirs) else torch.zeros_like(mine, dtype=torch.bool)
    return make((a.parts[0][:, both], a.parts[1][both] * b.parts[1][place[both]]), a.shape, True)


@op()
def div(a: SparseTensor, b: Any, *, rounding_mode: Any = None) -> SparseTensor:
    """The values divided by a number."""
    if isinstance(b, Tensor) and b.ndim:
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(b.shape)} for divisor)"
        )
    return a.map(lambda v: torch.div(v, b, rounding_mode=rounding_mode))


@op("mm", "matmul", "mv")
def mm(a: Any, b: Any) -> Any:
    """The matrix product; of two sparse matrices, sparse."""
    if not isinstance(a, SparseTensor):
        return mm(t(b), a.mT).mT if a.ndim > 1 else mm(t(b), a)
    if a.ndim != 2 or b.ndim not in (1, 2) or a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mm: sizes {tuple(a.shape)} and {tuple(b.shape)} of a sparse product do not fit; "
            "matrices (and vectors on the right) do"
        )
    if isinstance(b, SparseTensor):
        found = _product(coalesce(to_coo(a)), compress(b, torch.sparse_csr))
        return found if a.is_sparse else compress(found, torch.sparse_csr)
    (row, col), values = to_coo(a).parts
    terms = (values if b.ndim == 1 else values[:, None]) * b[col]
    return torch.zeros((a.shape[0], *b.shape[1:]), dtype=terms.dtype).index_add(0, row, terms)


def _product(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    (row, col), (crow, columns, values) = a.parts[0], b.parts
    count = crow[col + 1] - crow[col]
    mine = torch.repeat_interleave(torch.arange(len(row)), count)
    before = torch.repeat_interleave(count.cumsum(0) - count, count)
    theirs = torch.arange(len(mine)) - before + crow[col[mine]]
    return coalesce(
        make(
            (torch.stack([row[mine], columns[theirs]]), a.parts[1][mine] * values[theirs]),
            (a.shape[0], b.shape[1]),
        )
    )


@op()
def addmm(input: Tensor, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""
    return torch.add(input * beta, mm(mat1, mat2), alpha=alpha)
