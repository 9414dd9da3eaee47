"""What ops mean on sparse tensors: functions of index and value tensors, by the public ops alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import rushlight as torch
from rushlight._engine.core.errors import wrap_dims
from rushlight._engine.tensors.tensor import Tensor
from rushlight.sparse.layouts import block_sizes, coalesce, flat, like, name_of, places, to_coo, to_dense
from rushlight.sparse.tensor import BLOCKS, COLUMNS, LEGACY, OPS, SparseTensor, make

_F = TypeVar("_F", bound=Callable[..., Any])


def op(*names: str) -> Callable[[_F], _F]:
    """Declare the meaning of ops."""

    def declare(f: _F) -> _F:
        OPS.update(dict.fromkeys(names or (f.__name__,), f))
        return f

    return declare


def keeping_layout(f: Callable[..., SparseTensor]) -> Callable[..., SparseTensor]:
    """A function written for COO: compressed operands go by it, and back."""

    def call(first: Any, *rest: Any, **options: Any) -> SparseTensor:
        found = f(*[to_coo(v) for v in (first, *rest)], **options)
        back = isinstance(first, SparseTensor) and not first.is_sparse
        return like(first, found) if back and isinstance(found, SparseTensor) and found.ndim >= 2 else found

    call.__name__ = f.__name__
    return call


@op()
def sparse_mask(t: Tensor, mask: SparseTensor) -> SparseTensor:
    """A tensor's numbers at the places that mask has."""
    if not isinstance(mask, SparseTensor):
        raise RuntimeError("sparse_mask: Expected a sparse mask, got a strided one; use t * mask")
    if t.shape != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(t.shape)} but mask has "
            f"size {list(mask.shape)}"
        )
    if not mask.is_sparse:
        return (
            like(mask, sparse_mask(t, to_coo(mask))) if mask.layout not in BLOCKS else _masked_blocks(t, mask)
        )
    known = mask
    if not known.ndim:
        return known.map(lambda _: to_dense(t).reshape(1))
    return known.map(lambda _: to_dense(t)[tuple(known._indices())])


def _masked_blocks(t: Tensor, mask: SparseTensor) -> SparseTensor:
    indices, _ = places(mask)
    return mask.map(lambda v: to_dense(t)[tuple(indices)].reshape(v.shape))


# --- one operand ----------------------------------------------------------------------------------


_ALIASES = {
    "neg": "negative",
    "abs": "absolute",
    "asin": "arcsin",
    "atan": "arctan",
    "asinh": "arcsinh",
    "atanh": "arctanh",
    "trunc": "fix",
}


def _valuewise(name: str, linear: bool) -> None:
    f = getattr(torch, name)
    names = [name, _ALIASES.get(name, name)]

    def on_any(t: SparseTensor, *args: Any, **options: Any) -> SparseTensor:
        return t.map(lambda v: f(v, *args, **options))

    def on_coalesced(t: SparseTensor, *args: Any, **options: Any) -> SparseTensor:
        return (coalesce(t) if t.is_sparse else t).map(lambda v: f(v, *args, **options))

    op(*names)(on_any if linear else on_coalesced)


for _name in (
    "neg",
    "positive",
    "clone",
    "conj",
    "conj_physical",
    "resolve_conj",
    "resolve_neg",
    "real",
    "imag",
):
    _valuewise(_name, True)
# Functions that are 0 at 0.
for _name in (
    "abs angle sqrt square sin tan tanh asin atan sinh asinh atanh floor ceil round trunc frac sign sgn "
    "relu expm1 log1p deg2rad rad2deg erf erfinv isnan isinf isposinf isneginf signbit nan_to_num"
).split():
    _valuewise(_name, False)


@op("_to_dtype")
def _to_dtype(t: SparseTensor, dtype: Any, *_: Any) -> SparseTensor:
    return t.map(lambda v: v.to(dtype))


@op()
def pow(t: SparseTensor, exponent: Any) -> SparseTensor:
    """The numbers to the power of a number."""
    if isinstance(t, SparseTensor) and not isinstance(exponent, Tensor):
        if exponent == 0:
            raise RuntimeError("pow: the power 0 of a sparse tensor would be dense")
        return (coalesce(t) if t.is_sparse else t).map(lambda v: v**exponent)
    raise NotImplementedError(
        "Could not run 'aten::pow.Scalar' with arguments from the 'SparseCPU' backend: only a "
        "power of a sparse tensor to a number is sparse; use .to_dense() first"
    )


@op("fill")
def fill(t: SparseTensor, value: Any) -> SparseTensor:
    """All numbers of a compressed tensor that are specified."""
    if t.is_sparse:
        raise NotImplementedError(
            "Could not run 'aten::fill_.Scalar' with arguments from the 'SparseCPU' backend: "
            "the places of COO are its own; use .to_dense() first"
        )
    return t.map(lambda v: torch.full_like(v, value))


@op()
def isclose(a: Tensor, b: Tensor, *bounds: Any, **options: Any) -> Tensor:
    """Elementwise, dense."""
    return torch.isclose(to_dense(a), to_dense(b), *bounds, **options)


@op()
def allclose(a: Tensor, b: Tensor, *bounds: Any, **options: Any) -> bool:
    """Whether isclose() holds everywhere."""
    return torch.allclose(to_dense(a), to_dense(b), *bounds, **options)


@op()
def is_same_size(a: Tensor, b: Tensor) -> bool:
    """Whether shapes are equal."""
    return a.shape == b.shape


@op("copy_")
def copy_(t: Tensor, source: Tensor, non_blocking: bool = False) -> Tensor:
    """Take over what another tensor of the same layout holds."""
    if isinstance(t, SparseTensor) and not t.is_sparse:
        return _copy_compressed(t, source)
    if not isinstance(t, SparseTensor) or not isinstance(source, SparseTensor):
        kind = "Dense" if isinstance(source, SparseTensor) else "Sparse"
        raise RuntimeError(
            f"copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"torch.{t.dtype.legacy} ({kind}) and src type = torch.{source.dtype.legacy}"
        )
    return t._become(source.map(lambda v: v.to(t.dtype, copy=True)))


def _copy_compressed(t: SparseTensor, source: Any) -> SparseTensor:
    start = "torch.copy_: copy of sparse compressed tensors having different"
    if t.layout is not source.layout:
        raise RuntimeError(
            f"{start} layouts is not supported. self layout is {name_of(t)} and src "
            f"layout is {name_of(source)}"
        )
    if t._nnz() != source._nnz():
        raise RuntimeError(
            "torch.copy_: only sparse compressed tensors with the same number of specified elements are "
            "supported."
        )
    for back in (1, 2):
        mine, theirs = t.shape[-back], source.shape[-back]
        if mine != theirs:
            raise RuntimeError(
                f"torch.copy_: expected shapes of self and src to match along dimension {-back} for "
                f"{t.layout.name[7:].upper()} layout but the corresponding dimensions of self and "
                f"src are {mine} and {theirs}"
            )
    if t.layout in BLOCKS and block_sizes(t) != block_sizes(source):
        raise RuntimeError(
            f"{start} block sizes is not supported. self block size is {list(block_sizes(t))} and "
            f"src block size is {list(block_sizes(source))}"
        )
    parts = [mine.copy_(theirs) for mine, theirs in zip(t.parts[:2], source.parts[:2], strict=True)]
    return t._become(make((*parts, t.parts[2].copy_(source.parts[2])), t.shape, layout=t.layout))


@op("resize_as_sparse_")
def resize_as_sparse_(t: Any, template: Any) -> Tensor:
    """The shape of another sparse tensor; of a compressed one its places, too, and memory for its values."""
    if (
        isinstance(t, SparseTensor)
        and isinstance(template, SparseTensor)
        and t.is_sparse
        and template.is_sparse
    ):
        return t.sparse_resize_(template.shape, template.sparse_dim(), template.dense_dim())
    for name, given in (("src", template), ("self", t)):
        if not isinstance(given, SparseTensor) or given.is_sparse:
            raise RuntimeError(
                f"resize_as_sparse_compressed_: {name}  expected sparse compressed tensor layout "
                f"but got {name_of(given)}"
            )
    if t.layout is not template.layout:
        raise RuntimeError(
            "resize_as_sparse_compressed_tensor_: self and src must have the same layout, but got: self "
            f"({name_of(t)}) and source ({name_of(template)})"
        )
    resized: SparseTensor = t
    first, minor, values = template.parts
    same = resized.shape == template.shape and resized._nnz() == template._nnz()
    if same and resized.parts[2].shape == values.shape:
        return resized
    zeros = torch.zeros(values.shape, dtype=resized.dtype, device=values.device)
    return resized._become(make((first.clone(), minor.clone(), zeros), template.shape, layout=resized.layout))


@op("resize_")
def resize_(t: SparseTensor, size: Any, **options: Any) -> SparseTensor:
    """Another size, of CSR: more rows are empty, fewer rows keep the values that come first."""
    if t.is_sparse:
        raise NotImplementedError(
            "Could not run 'aten::resize_' with arguments from the 'SparseCPU' backend: use sparse_resize_()"
        )
    start, size = "torch.resize_: ", list(size)
    if len(size) < 2:
        raise RuntimeError(f"{start}Only batched sparse CSR matrices are supported, but got size {size}")
    rows, columns = size[-2:]
    if columns < t.shape[-1]:
        raise RuntimeError(
            f"{start}Resizing columns of sparse CSR tensors to a smaller value is not supported. The "
            f"original number of columns is {t.shape[-1]} while the "
            f"requested new number of columns is {columns}."
        )
    first, minor, values = t.parts
    many, batch = t._nnz(), size[:-2]
    held = first.reshape(-1)[: first.shape[-1]][: rows + 1].clone()
    keep = min(many, rows * columns)  # values that come first, whatever rows they were in
    if len(held) < rows + 1:
        held = torch.cat([held, held.new_full((rows + 1 - len(held),), many)])
    elif rows < t.shape[-2]:
        held[-1] = keep
    minor = minor.reshape(-1)[:keep]
    values = values.reshape(-1)[:keep]
    wide = [*batch, rows + 1]
    return t._become(
        make(
            (
                held.expand(wide).contiguous(),
                minor.expand([*batch, keep]).contiguous(),
                values.expand([*batch, keep]).contiguous(),
            ),
            size,
            layout=t.layout,
        )
    )


# --- in the same shape --------------------------------------------------------------------------------


@op("zeros_like")
def zeros_like(
    t: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    **options: Any,
) -> Tensor:
    """A tensor of the same shape, and layout or the one asked for, without values."""
    to, of = layout or t.layout, dtype or t.dtype
    if to is torch.strided:
        return torch.zeros(t.shape, dtype=of, device=t.device, requires_grad=requires_grad)
    if memory_format is not None:
        raise RuntimeError("memory format option is only supported by strided tensors")
    if not isinstance(t, SparseTensor) or (t.is_sparse and to is not t.layout):
        return torch.zeros(t.shape, dtype=of, layout=to, device=t.device, requires_grad=requires_grad)
    held = t.parts[-1].detach()
    if t.is_sparse:
        found = make((t.parts[0][:, :0], held[:0].to(of)), t.shape, True)
    else:
        found = _without_values(t, to, held.narrow(t.batch_dim(), 0, 0).to(of))
    return found.requires_grad_() if requires_grad else found


def _without_values(t: SparseTensor, layout: Any, held: Tensor) -> SparseTensor:
    """A tensor in the shape of a compressed one that has only these values, which are none."""
    at, first = t.batch_dim(), t.parts[0]
    if layout is torch.sparse_coo:
        nowhere = torch.zeros((at + 2, 0), dtype=torch.int64, device=t.device)
        dims = held.shape[at + 3 if t.layout in BLOCKS else at + 1 :]
        return make((nowhere, held.new_zeros((0, *dims))), t.shape, True)
    if (layout in BLOCKS) != (t.layout in BLOCKS):
        told = "blocksize needs to be a tuple of size 2, but got 0"
        if t.layout in BLOCKS:
            told = f"blocksize cannot be specified for non-block layout {LEGACY[layout]}"
        raise RuntimeError(f"sparse_compressed_tensor_with_dims: {told}")
    size = t.shape[at + (layout in COLUMNS)]
    lines = size // held.shape[at + 1 + (layout in COLUMNS)] if layout in BLOCKS else size
    return make(
        (first.new_zeros((*first.shape[:-1], lines + 1)), t.parts[1].narrow(at, 0, 0), held),
        t.shape,
        layout=layout,
    )


def _refuse_layout(t: SparseTensor, layout: Any) -> None:
    if not t.is_sparse and layout not in (None, t.layout):
        raise RuntimeError(
            "empty_like with different sparse layout is not supported (self is "
            f"{name_of(t)} but you requested {LEGACY.get(layout, 'Strided')})"
        )


@op("empty_like")
def empty_like(t: Tensor, *, dtype: Any = None, layout: Any = None, **options: Any) -> Tensor:
    """The same shape; of a compressed tensor the same places, too, with zeros."""
    if isinstance(t, SparseTensor) and not t.is_sparse and layout in (None, t.layout):
        return t.map(lambda v: torch.zeros_like(v, dtype=dtype))
    if isinstance(t, SparseTensor) and layout is not torch.strided:
        _refuse_layout(t, layout)
    return zeros_like(t, dtype=dtype, layout=layout, **options)


def _filled_like(name: str) -> None:
    f = getattr(torch, name)

    @op(name)
    def fill(t: SparseTensor, *args: Any, layout: Any = None, **options: Any) -> Tensor:
        _refuse_layout(t, layout)
        if t.is_sparse and layout is torch.strided:
            return f(torch.zeros(t.shape, dtype=t.dtype, device=t.device), *args, **options)  # type: ignore[no-any-return]
        if t.is_sparse:
            raise NotImplementedError(
                "Could not run 'aten::fill_.Scalar' with arguments from the 'SparseCPU' backend: "
                f"{name} of COO would be dense"
            )
        return t.map(lambda v: f(v, *args, **options))


for _name in ("ones_like", "full_like", "rand_like", "randn_like"):
    _filled_like(_name)


def _new(name: str) -> None:
    @op(name)
    def made(
        t: SparseTensor, size: Any, *, dtype: Any = None, requires_grad: bool = False, **options: Any
    ) -> Tensor:
        where, of = options.get("device") or t.device, dtype or t.dtype
        return torch.zeros(size, dtype=of, layout=t.layout, device=where, requires_grad=requires_grad)


for _name in ("new_zeros", "new_empty"):
    _new(_name)


# --- over dims --------------------------------------------------------------------------------------


@op()
def sum(t: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum over all dims (dense), or over some."""
    given = () if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    dims = wrap_dims(given, t.ndim) if given else ()
    if dtype is not None:
        t = t.map(lambda v: v.to(dtype))
    if dim is None or (t.is_sparse and len(dims) == t.ndim and not keepdim):
        return t.parts[-1].sum()
    if t.is_sparse and not dims:
        return t
    if not t.is_sparse:
        if not keepdim:
            raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
        return like(t, _sum_coo(to_coo(t), dims, True))
    found = _sum_coo(t, dims, keepdim)
    return to_dense(found) if found.is_sparse and set(dims).issuperset(range(t.sparse_dim())) else found


def _sum_coo(t: SparseTensor, dims: tuple[int, ...], keepdim: bool) -> Any:
    across, many = set(dims), t.sparse_dim()
    inner = [d - many + 1 for d in across if d >= many]
    values = t.parts[1].sum(inner, keepdim) if inner else t.parts[1]
    if values.dtype is torch.bool or (
        not inner
        and values.dtype.itemsize < 8
        and not (values.dtype.is_floating_point or values.dtype.is_complex)
    ):
        values = values.long()
    indices = t.parts[0]
    if keepdim and across.issuperset(range(many)) and t._nnz():
        values, indices = values.sum(0, keepdim=True), indices.new_zeros((many, 1))  # rounded once
    elif keepdim:
        indices = indices.clone()
        indices[[d for d in across if d < many]] = 0
    else:
        indices = indices[[d for d in range(many) if d not in across]]
    size = [1 if i in across else n for i, n in enumerate(t.shape) if keepdim or i not in across]
    found = coalesce(make((indices, values), size))
    return found if len(indices) else to_dense(found)


@op()
def norm(
    t: SparseTensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """The norm of all numbers."""
    if dim is not None and len({dim} if isinstance(dim, int) else set(dim)) not in (0, t.ndim):
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or "
            "contain all dimensions of the input"
        )
    if keepdim:
        raise RuntimeError("norm_sparse currently does not support keepdim=True")
    return torch.norm((coalesce(t) if t.is_sparse else t).parts[-1].reshape(-1), p, dtype=dtype)


@op()
def any(t: SparseTensor) -> Tensor:
    """Whether a number is not 0."""
    if not t.is_sparse:
        raise NotImplementedError(
            "Could not run 'aten::any' with arguments from the 'SparseCsrCPU' backend: use .values().any()"
        )
    return coalesce(t).parts[-1].any()


@op("softmax", "log_softmax")
def _softmax_as_method(t: SparseTensor, dim: int, dtype: Any = None) -> SparseTensor:
    return softmax(t, dim, dtype=dtype)


@keeping_layout
def softmax(t: SparseTensor, dim: int, *, dtype: Any = None, log: bool = False) -> SparseTensor:
    """softmax (log=True: its logarithm) along dim, as if what is not specified were minus infinity."""
    wanted: Any = t if dtype is None else t.to(dtype)
    t, dim = coalesce(wanted), dim % t.ndim
    indices, values = t.parts
    if dim >= t.sparse_dim():
        f = torch.log_softmax if log else torch.softmax
        return t.map(lambda v: f(v, dim - t.sparse_dim() + 1))
    rest = [i for i in range(t.sparse_dim()) if i != dim]
    number = flat(indices[rest], [t.shape[i] for i in rest]) if rest else torch.zeros_like(indices[0])
    row = torch.unique(number, return_inverse=True)[1]
    shape = (int(row.max()) + 1 if len(row) else 0, *values.shape[1:])
    where = row.reshape(-1, *[1] * (values.ndim - 1)).expand(values.shape)
    least = values.new_full(shape, -torch.inf)
    high = least.scatter_reduce(0, where, values.detach(), "amax")
    apart = values - high[row]
    total = values.new_zeros(shape).index_add(0, row, apart.exp())[row]
    return t.map(lambda _: apart - total.log() if log else apart.exp() / total)
