"""Ops of nested tensors, by name: on the values, or along the uneven dim."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.tensor import Tensor
from rushlight.nested import strided_ops
from rushlight.nested.strided_layout import Strided
from rushlight.nested.tensor import (
    OF_VALUES,
    REDUCTIONS,
    Extent,
    NestedInt,
    NestedTensor,
    Rule,
    is_pointwise,
    make,
    unbound,
)

_OF_VALUES = OF_VALUES | {"clone", "contiguous", "zero_", "fill_", "gelu", "silu"}
_REDUCTIONS = REDUCTIONS | {"argmax", "argmin"}


def run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """func(*args, **kwargs), of which some are nested."""
    if _any_strided([*args, *kwargs.values()]):
        return strided_ops.run(func, args, kwargs)
    name = func.__name__
    rule = _RULES.get(name)
    if rule is not None:
        return rule(func, *args, **kwargs)
    if is_pointwise(name) or name in _OF_VALUES:
        return _by_values(func, args, kwargs)
    raise NotImplementedError(
        f"torch.{name} of a nested tensor: it is not written for these; use unbind() and the components, or "
        "to_padded_tensor() and a mask"
    )


def _any_strided(values: Any) -> bool:
    """Whether a value, or an item of a list, is of the strided layout."""
    return any(
        isinstance(value, Strided) or (isinstance(value, (list, tuple)) and _any_strided(value))
        for value in values
    )


def _first(values: Any) -> NestedTensor:
    return next(v for v in values if isinstance(v, NestedTensor))


def _by_values(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """An op element by element: dense operands broadcast to the values, or to components by dim 0."""
    like = _first([*args, *kwargs.values()])

    def inner(value: Any) -> Any:
        if isinstance(value, NestedTensor):
            if not value.extent.same(like.extent) or value.ragged != like.ragged:
                raise RuntimeError(
                    f"cannot call binary pointwise function {func.__name__} with inputs of shapes "
                    f"{tuple(like.shape)} and {tuple(value.shape)}"
                )
            return value._values
        return _spread(value, like) if isinstance(value, Tensor) and value.ndim else value

    found = func(*map(inner, args), **{key: inner(value) for key, value in kwargs.items()})
    target = args[0] if args else None
    if func.__name__.endswith("_") and not func.__name__.endswith("__") and isinstance(target, NestedTensor):
        return target
    return like.like(found) if isinstance(found, Tensor) else found


def _spread(dense: Tensor, like: NestedTensor) -> Tensor:
    """A dense operand as it broadcasts to the values."""
    ndim = like.dim()
    behind = ndim - 1 - like.ragged
    if dense.ndim <= behind or (dense.ndim < ndim and dense.shape[-1 - behind] == 1):
        return dense
    if dense.ndim == ndim and dense.shape[like.ragged] == 1 and dense.shape[0] in (1, len(like)):
        rows = dense.squeeze(like.ragged)
        if rows.shape[0] == 1:
            return rows.squeeze(0).unsqueeze(like.ragged - 1)
        return rows.index_select(0, like.extent.owners()).movedim(0, like.ragged - 1)
    raise RuntimeError(
        f"a tensor of sizes {tuple(dense.shape)} does not broadcast to components of a nested tensor of "
        f"{ndim} dims: nest it alike, or give it size 1 where components differ"
    )


# --- dims -------------------------------------------------------------------------------------------


def _dims(x: NestedTensor, dim: Any) -> tuple[int, ...]:
    return tuple(wrap_dim(d, x.dim()) for d in ((dim,) if isinstance(dim, int) else dim))


def _even(x: NestedTensor, dim: int, name: str) -> int:
    """The values' dim of an even dim of the nested tensor."""
    at = wrap_dim(dim, x.dim())
    if at in (0, x.ragged):
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim={at}")
    return at - 1


def _at_even_dim(place: str) -> Rule:
    """An op along one even dim; place: the keyword that says it, or its number among the arguments."""

    def rule(func: Any, x: NestedTensor, *args: Any, **kwargs: Any) -> Any:
        row = ROWS.get(func.__name__)
        params = row.params[1:] if row is not None else ()
        usual = next((p.default for p in params if p.name == place), 0)
        names = [p.name for p in params]
        given = {**dict(zip(names, args)), **{key: value for key, value in kwargs.items() if key != "input"}}
        given[place] = _even(x, given.get(place, usual), func.__name__)
        found = func(x._values, **given)
        if isinstance(found, (tuple, list)):
            return tuple(x.like(part) for part in found)
        return x.like(found)

    return rule


def _reduce(func: Any, input: NestedTensor, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
    """Over all, over even dims, or over the uneven one."""
    if isinstance(dim, Tensor):
        return _by_values(func, (input, dim), options)
    if dim is None or dim == ():
        return func(input._values, **options)
    dims = _dims(input, dim)
    if 0 in dims and input.ragged not in dims:
        raise RuntimeError(f"{func.__name__}(): not supported for NestedTensor on dim=0")
    if input.ragged in dims:
        return _over_ragged(func, input, dims, keepdim, options)
    inner = [d - 1 for d in dims]
    found = func(input._values, inner[0] if isinstance(dim, int) else inner, keepdim=keepdim, **options)
    ragged = input.ragged - (0 if keepdim else sum(d < input.ragged for d in dims))
    if isinstance(found, tuple):
        return type(found)(*[input.like(part, ragged) for part in found])
    return input.like(found, ragged)


def _over_ragged(func: Any, x: NestedTensor, dims: tuple[int, ...], keepdim: bool, options: Any) -> Any:
    if 0 in dims:  # over all components, too
        found = func(x._values, [d - 1 for d in dims if d], keepdim=keepdim, **options)
        return found.unsqueeze(0) if keepdim else found
    parts = [func(part, [d - 1 for d in dims], keepdim=keepdim, **options) for part in x.unbind()]
    return torch.stack(parts)


def _norm(
    func: Any, input: NestedTensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, **options: Any
) -> Any:
    def of_order(values: Tensor, *dims: Any, **named: Any) -> Any:
        return func(values, p, *dims, **named)

    of_order.__name__ = func.__name__
    return _reduce(of_order, input, dim, keepdim, **options)


def _chunk(func: Any, input: NestedTensor, chunks: int, dim: int = 0) -> Any:
    """Along dim 0, nested tensors of some of the components each."""
    if wrap_dim(dim, input.dim()):
        return _at_even_dim("dim")(func, input, chunks, dim=dim)
    bounds, found = input.extent.bounds, []
    for places in torch.arange(len(input)).chunk(chunks):
        first, last = int(places[0]), int(places[-1]) + 1
        values = input._values.narrow(input.ragged - 1, bounds[first], bounds[last] - bounds[first])
        found.append(
            make(values, Extent(input.extent.offsets[first : last + 1] - bounds[first]), input.ragged)
        )
    return tuple(found)


def _flip(func: Any, input: NestedTensor, dims: Any) -> Any:
    inner = [_even(input, dim, "flip") for dim in ((dims,) if isinstance(dims, int) else dims)]
    return input.like(func(input._values, inner))


def _expand(func: Any, input: NestedTensor, *size: Any) -> Any:
    sizes = list(size[0] if len(size) == 1 and isinstance(size[0], (list, tuple)) else size)
    same = len(sizes) == input.dim() and sizes[0] in (-1, len(input))
    if not same or sizes[input.ragged] not in (-1, input.shape[input.ragged]):
        raise RuntimeError(
            f"expand(): cannot expand shape {tuple(input.shape)} -> {tuple(sizes)}: of a nested tensor, only "
            "even dims of size 1 are expanded"
        )
    sizes[input.ragged] = -1
    return input.like(func(input._values, sizes[1:]))


def _expand_as(func: Any, input: NestedTensor, other: NestedTensor) -> Any:
    return input.expand(*other.shape)


def _softmax(func: Any, input: NestedTensor, dim: int, *args: Any, **kwargs: Any) -> Any:
    if wrap_dim(dim, input.dim()) == input.ragged:
        parts = [func(part, input.ragged - 1, *args, **kwargs) for part in input.unbind()]
        return input.like(torch.cat(parts, input.ragged - 1))
    return input.like(func(input._values, _even(input, dim, func.__name__), *args, **kwargs))


def _moved(x: NestedTensor, order: list[int]) -> NestedTensor:
    if order[0] != 0:
        raise RuntimeError("a nested tensor's dim 0, its components, stays the first")
    return x.like(x._values.permute([d - 1 for d in order[1:]]), order.index(x.ragged))


def _transpose(func: Any, input: NestedTensor, dim0: int, dim1: int) -> Any:
    order = list(range(input.dim()))
    a, b = _dims(input, (dim0, dim1))
    order[a], order[b] = order[b], order[a]
    return _moved(input, order)


def _permute(func: Any, input: NestedTensor, *dims: Any) -> Any:
    given = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    return _moved(input, list(_dims(input, tuple(given))))


def _view(func: Any, input: NestedTensor, *shape: Any) -> Any:
    """Other sizes of the even dims; the uneven one is -1 or its symbol, in its place."""
    sizes = list(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
    if sizes[0] not in (-1, len(input)) or len(sizes) <= input.ragged:
        raise RuntimeError(f"view(): a nested tensor keeps its {len(input)} components and its uneven dim")
    uneven = sizes[input.ragged]
    if not (isinstance(uneven, NestedInt) or uneven == -1):
        raise RuntimeError(f"view(): dim {input.ragged} is uneven: give -1 or size({input.ragged})")
    sizes[input.ragged] = input._values.shape[input.ragged - 1]
    return input.like(func(input._values, sizes[1:]))


def _flatten(func: Any, input: NestedTensor, start_dim: int = 0, end_dim: int = -1) -> Any:
    a, b = _dims(input, (start_dim, end_dim))
    if a <= input.ragged <= b and b > a:
        raise RuntimeError("flatten(): not supported for NestedTensor on its uneven dim")
    return input.like(input._values.flatten(a - 1, b - 1), input.ragged - (b - a if b < input.ragged else 0))


def _unflatten(func: Any, input: NestedTensor, dim: int, sizes: Any) -> Any:
    at = _even(input, dim, "unflatten")
    return input.like(
        input._values.unflatten(at, sizes), input.ragged + (len(sizes) - 1) * (at < input.ragged - 1)
    )


def _unsqueeze(func: Any, input: NestedTensor, dim: int) -> Any:
    at = dim if dim >= 0 else dim + input.dim() + 1
    if at == 0:
        raise RuntimeError("unsqueeze(): not supported for NestedTensor on dim=0")
    return input.like(input._values.unsqueeze(at - 1), input.ragged + (at <= input.ragged))


def _squeeze(func: Any, input: NestedTensor, dim: int) -> Any:
    at = _even(input, dim, "squeeze")
    gone = input._values.shape[at] == 1 and at < input.ragged - 1
    return input.like(input._values.squeeze(at), input.ragged - gone)


def _select(func: Any, input: NestedTensor, dim: int, index: int) -> Any:
    if wrap_dim(dim, input.dim()) == 0:
        return input.unbind()[index]
    at = _even(input, dim, "select")
    return input.like(input._values.select(at, index), input.ragged - (at < input.ragged - 1))


def _cat(func: Any, tensors: Any, dim: int = 0) -> Any:
    like = _first(tensors)
    if wrap_dim(dim, like.dim()) == 0:
        parts = [part for t in tensors for part in t.unbind()]
        lengths = torch.tensor([0, *[part.shape[like.ragged - 1] for part in parts]], device=like.device)
        ends = lengths.cumsum(0)
        values = torch.cat(parts, like.ragged - 1)
        return type(like).like(like, values) if len(parts) == len(like) else _nested(values, ends, like)
    return like.like(func([t._values for t in tensors], _even(like, dim, "cat")))


def _nested(values: Tensor, offsets: Tensor, like: NestedTensor) -> NestedTensor:
    from rushlight.nested.tensor import Extent, make  # beside those above

    return make(values, Extent(offsets), like.ragged, like.layout)


# --- products and layers ------------------------------------------------------------------------------


def _along_last(func: Any, input: NestedTensor, *args: Any, **kwargs: Any) -> Any:
    """A layer that works along the last dim, which has to be even."""
    if input.ragged == input.dim() - 1:
        raise RuntimeError(
            f"{func.__name__}(): the last dim of the nested tensor is uneven; transpose it first"
        )
    return input.like(func(input._values, *args, **kwargs))


def _matmul(func: Any, input: Any, other: Any) -> Any:
    if isinstance(input, NestedTensor) and not isinstance(other, NestedTensor) and other.ndim <= 2:
        return _along_last(torch.matmul, input, other)
    a = input.unbind() if isinstance(input, NestedTensor) else input
    b = other.unbind() if isinstance(other, NestedTensor) else other
    like = _first([input, other])
    parts = [torch.matmul(x, y) for x, y in zip(a, b, strict=True)]
    return parts_of(parts, like)


def parts_of(parts: list[Tensor], like: NestedTensor) -> Any:
    """Components that an op gave: nested along the dim in which they differ, dense where in none."""
    from rushlight.nested import nested_along  # it imports this file

    differing = [d for d in range(parts[0].ndim) if len({p.shape[d] for p in parts}) > 1]
    if not differing and like.layout is torch.jagged:
        ragged = [d for d in range(parts[0].ndim) if [p.shape[d] for p in parts] == like.extent.lengths]
        return nested_along(parts, (ragged or [0])[0], like) if ragged else torch.stack(parts)
    if len(differing) > 1:
        raise RuntimeError("the result's components differ in more than one dim, which nested tensors cannot")
    return nested_along(parts, (differing or [0])[0], like)


def _embedding(func: Any, input: Any, weight: Any, *args: Any, **kwargs: Any) -> Any:
    return input.like(func(input._values, weight, *args, **kwargs))


def _attention(
    func: Any,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
) -> Any:
    """Attention of each component by itself: (batch, heads, uneven, features)."""
    if attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention of nested tensors takes no attn_mask")
    options = {"dropout_p": dropout_p, "is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa}
    parts = [
        func(*part, None, **options)
        for part in zip(query.unbind(), key.unbind(), value.unbind(), strict=True)
    ]
    return query.like(torch.cat(parts, query.ragged - 1))


def _same(func: Any, input: Any, other: Any) -> bool:
    both = isinstance(input, NestedTensor) and isinstance(other, NestedTensor)
    return both and input.extent.same(other.extent) and bool(torch.equal(input._values, other._values))


def _copy(func: Any, input: NestedTensor, src: Any, non_blocking: bool = False) -> Any:
    input._values.copy_(src._values if isinstance(src, NestedTensor) else src)
    return input


_RULES: dict[str, Rule] = {
    **dict.fromkeys(_REDUCTIONS, _reduce),
    "norm": _norm,
    **dict.fromkeys(("softmax", "log_softmax", "_softmax"), _softmax),
    **dict.fromkeys(("split", "narrow", "split_with_sizes", "cumsum"), _at_even_dim("dim")),
    **dict.fromkeys(("linear", "layer_norm", "rms_norm", "glu"), _along_last),
    **dict.fromkeys(("matmul", "bmm", "__matmul__", "mm"), _matmul),
    **dict.fromkeys(("view", "_view", "reshape"), _view),
    **dict.fromkeys(("cat", "concat", "concatenate"), _cat),
    **dict.fromkeys(("transpose", "swapaxes", "swapdims"), _transpose),
    "chunk": _chunk,
    "flip": _flip,
    "expand": _expand,
    "expand_as": _expand_as,
    "permute": _permute,
    "flatten": _flatten,
    "unflatten": _unflatten,
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    "select": _select,
    "embedding": _embedding,
    "scaled_dot_product_attention": _attention,
    "equal": _same,
    "copy_": _copy,
    "unbind": unbound,
}
