"""Ops of nested tensors of the strided layout: on the buffer where they work element by element, on views of
the components, or component by component.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as torch
from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.tensors.tensor import Tensor
from rushlight.nested.strided_layout import Strided, check_whole, of_parts, of_views
from rushlight.nested.tensor import OF_VALUES, REDUCTIONS, Rule, is_pointwise, unbound

_OF_VALUES = OF_VALUES | {"__truediv__"}
# Ops whose operands may lie in different orders.
_ANYWHERE = frozenset("add sub mul".split())
_WRITE = frozenset("__iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __imod__ __ipow__".split())


def run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """func(*args, **kwargs), of which some are nested tensors of the strided layout."""
    name = func.__name__
    rule = _RULES.get(name)
    if rule is not None:
        return rule(func, *args, **kwargs)
    if is_pointwise(name) or name in _OF_VALUES:
        return _elementwise(func, args, kwargs)
    raise NotImplementedError(
        f"torch.{name} of a nested tensor: it is not written for these; use unbind() and the components, or "
        "to_padded_tensor() and a mask"
    )


def _nested(values: Sequence[Any]) -> list[Strided]:
    return [value for value in values if isinstance(value, Strided)]


# --- element by element -------------------------------------------------------------------------------


def _elementwise(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """On the buffers of operands that lie alike; dense operands are numbers."""
    operands, name = _nested([*args, *kwargs.values()]), func.__name__.strip("_")
    like = operands[0]
    if len(args) == 1 and is_pointwise(func.__name__) and not like.is_contiguous():
        raise RuntimeError("NestedTensor must be contiguous to get buffer.")
    if args and isinstance(args[0], Strided) and _writes(func):
        check_whole(args[0])
    for other in operands[1:]:
        if other.places.sizes != like.places.sizes:
            raise RuntimeError(f"{name} does not support broadcasting when given a NestedTensor")
        if other.places == like.places:
            continue
        if name not in _ANYWHERE or func.__name__.endswith("_"):
            said = "offsets" if other.places.strides == like.places.strides else "strides"
            raise RuntimeError(f"{name} requires {said} to match when given NestedTensors")
        ordered = [_copied(value) if isinstance(value, Strided) else value for value in args]
        return _elementwise(func, ordered, kwargs)
    dense = [value for value in args if isinstance(value, Tensor) and not isinstance(value, Strided)]
    if any(value.ndim for value in dense):
        return _with_dense(func, like, args, kwargs)
    taken = [value._values if isinstance(value, Strided) else value for value in args]
    named = {key: value._values if isinstance(value, Strided) else value for key, value in kwargs.items()}
    return _given_back(func, like, args, func(*taken, **named))


def _writes(func: Any) -> bool:
    """Whether an op writes to its first operand."""
    name = func.__name__
    return (name.endswith("_") and not name.endswith("__")) or name in _WRITE


def _given_back(func: Any, like: Strided, args: Any, found: Any) -> Any:
    """The result of an op on the buffer: the target where that was written to."""
    target, name = args[0] if args else None, func.__name__
    if isinstance(target, Strided) and (found is target._values) and name.endswith("_"):
        return target
    return like.like(found) if isinstance(found, Tensor) else found


def _with_dense(func: Any, like: Strided, args: Any, kwargs: dict[str, Any]) -> Any:
    """With a dense operand (batch, 1, features) or (batch, 1, 1); RuntimeError for others."""
    first, second = (*args, None)[:2]
    other = second if isinstance(first, Strided) else first
    fits = isinstance(other, Tensor) and other.ndim == 3 == like.dim() and other.shape[:2] == (len(like), 1)
    if not fits:
        which = ("a nested self and non-nested other", "a non-nested self and nested other")
        raise RuntimeError(
            "Expected both self and other to be nested, but got "
            f"{which[not isinstance(first, Strided)]}: nest it "
            "alike, or give a number"
        )
    columns = [value.unbind() if isinstance(value, Tensor) and value.ndim else None for value in args]
    parts = []
    for i in range(len(like)):
        given = [value if column is None else column[i] for value, column in zip(args, columns, strict=True)]
        parts.append(func(*given, **kwargs))
    return (
        first
        if isinstance(first, Strided) and func.__name__.endswith("_")
        else of_parts(parts, like.dim(), like)
    )


def _each(func: Any, x: Strided, *args: Any, **kwargs: Any) -> Strided:
    """An op of each component by itself."""
    return of_parts([func(part, *args, **kwargs) for part in x.unbind()], None, x)


def _copy(func: Any, input: Strided, src: Any, non_blocking: bool = False) -> Strided:
    if not isinstance(src, Strided) or src.places.sizes != input.places.sizes:
        raise RuntimeError("copy_ only supports tensors that are the same size for Nested implementations")
    for target, source in zip(input.unbind(), src.unbind(), strict=True):
        target.copy_(source)
    return input


def _clone(func: Any, input: Strided, *, memory_format: Any = torch.preserve_format) -> Strided:
    if memory_format is torch.preserve_format:
        return input.like(input._values.clone())
    if memory_format is not None and memory_format is not torch.contiguous_format:
        raise RuntimeError(
            "Nested tensor clone supports Preserve and Contiguous memory formats, called clone with memory "
            f"format: {_camel(memory_format.name)}"
        )
    return _copied(input)


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _contiguous(func: Any, input: Strided, memory_format: Any = None) -> Strided:
    return input if input.is_contiguous() else _copied(input)


def _copied(x: Strided) -> Strided:
    return of_parts(x.unbind(), x.dim(), x)


def _same(func: Any, input: Any, other: Any) -> bool:
    both = isinstance(input, Strided) and isinstance(other, Strided)
    return both and input.places.sizes == other.places.sizes and torch.equal(input.flat(), other.flat())


# --- reductions ---------------------------------------------------------------------------------------


def _reduce(func: Any, input: Strided, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
    """Over everything, or over dims of each component."""
    if dim is None or dim == ():
        return func(input.flat(), **options)
    dims = [wrap_dim(d, input.dim()) for d in ((dim,) if isinstance(dim, int) else dim)]
    if func.__name__ == "sum":
        if len(dims) > 1:
            raise RuntimeError("NestedTensor only allows reduction of a single dimension for now.")
        if dims[0] != input.dim() - 1:
            raise RuntimeError(
                "NestedTensor can only be reduced across the last dimension for now got "
                f"dimension {dims[0]} instead."
            )
        if not keepdim:
            raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    if 0 in dims:
        raise RuntimeError(f"{func.__name__}(): not supported for NestedTensor on dim=0")
    inner = [d - 1 for d in dims]
    return _each(func, input, inner[0] if isinstance(dim, int) else inner, keepdim=keepdim, **options)


def _softmax(func: Any, input: Strided, dim: int, *args: Any, **kwargs: Any) -> Strided:
    if not len(input):
        return input
    at = wrap_dim(dim, input.dim())
    if at == 0:
        raise RuntimeError("Cannot apply softmax across nested dimension 0")
    return _each(func, input, at - 1, *args, **kwargs)


# --- views --------------------------------------------------------------------------------------------


def _transpose(func: Any, input: Strided, dim0: int, dim1: int) -> Strided:
    a, b = (wrap_dim(d, input.dim()) for d in (dim0, dim1))
    if a == b:
        return input
    if 0 in (a, b):
        raise RuntimeError("Nested tensor dimension 0 cannot be transposed")
    return of_views(input, [part.transpose(a - 1, b - 1) for part in input.unbind()], input.dim())


def _permute(func: Any, input: Strided, *dims: Any) -> Strided:
    given = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    order = [wrap_dim(d, input.dim()) for d in given]
    if order[0]:
        raise RuntimeError("a nested tensor's dim 0, its components, stays the first")
    return of_views(input, [part.permute([d - 1 for d in order[1:]]) for part in input.unbind()], input.dim())


def _squeeze(func: Any, input: Strided, dim: int | None = None) -> Strided:
    why = "it would make nested tensors of components without it"
    if dim is None:
        raise RuntimeError(f"For nested tensors, squeeze without the dim argument is not supported: {why}")
    at = wrap_dim(dim, input.dim())
    if at == 0:
        raise RuntimeError(f"For nested tensors, squeezing dimension 0 is not supported: {why}")
    if input.dim() == 2:
        raise RuntimeError(
            f"For nested tensors, squeezing a nested tensor of singleton tensors is not supported: {why}"
        )
    if any(size[at - 1] != 1 for size in input.places.sizes):
        return input
    return of_views(input, [part.squeeze(at - 1) for part in input.unbind()], input.dim() - 1)


def _unsqueeze(func: Any, input: Strided, dim: int) -> Strided:
    at = wrap_dim(dim, input.dim() + 1)
    if at == 0:
        raise RuntimeError(
            "For nested tensors, unsqueezing dimension 0 is not supported: dim 0 counts the components"
        )
    return of_views(input, [part.unsqueeze(at - 1) for part in input.unbind()], input.dim() + 1)


def _select(func: Any, input: Strided, dim: int, index: int) -> Any:
    at = wrap_dim(dim, input.dim())
    if at == 0:
        return input[index]
    return of_views(input, [part.select(at - 1, index) for part in input.unbind()], input.dim() - 1)


def _narrow(func: Any, input: Strided, dim: int, start: int, length: int) -> Strided:
    if wrap_dim(dim, input.dim()) != 0:
        raise RuntimeError(f"narrow(): only dim=0 supported for nested tensors, but got: {dim}")
    if not input.is_contiguous():
        raise RuntimeError("narrow(): only contiguous nested tensors supported")
    first = start + len(input) if start < 0 else start
    if not 0 <= first <= first + length <= len(input):
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({len(input)}).")
    return of_views(input, input.unbind()[first : first + length], input.dim())


def _trailing(x: Strided) -> int:
    """The size of the last dim; RuntimeError where components differ in it."""
    found = [size[-1] for size in x.places.sizes]
    other = next((n for n in found if n != found[0]), None)
    if other is not None:
        raise RuntimeError(
            "Expected all tensors in nested tensor to have the same trailing dimension, instead "
            "last dimension "
            f"equals:  {found[0]}, and {other}"
        )
    return found[0]


def _chunk(func: Any, input: Strided, chunks: int, dim: int = 0) -> tuple[Strided, ...]:
    if wrap_dim(dim, input.dim()) != input.dim() - 1:
        raise RuntimeError("Chunk for nested tensors is currently only supported for the last dimension.")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if not input.is_contiguous():
        raise RuntimeError("chunk expects `self` to be contiguous.")
    if (whole := _trailing(input)) % chunks:
        raise RuntimeError(
            "Chunk for nested tensors is only supported for nested tensors with trailing "
            "dimension divisible by "
            f"chunks. Got: {whole} % {chunks} != 0"
        )
    return _cut(input, [whole // chunks] * chunks)


def _split_with_sizes(
    func: Any, input: Strided, split_sizes: Sequence[int], dim: int = 0
) -> tuple[Strided, ...]:
    if wrap_dim(dim, input.dim()) != input.dim() - 1:
        raise RuntimeError(
            "split_with_sizes for nested tensors is currently only supported for the last dimension."
        )
    if not input.is_contiguous():
        raise RuntimeError("split_with_sizes expects `self` to be contiguous.")
    if (whole := _trailing(input)) != sum(split_sizes):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {whole} (input tensor's size "
            "at dimension -1), "
            f"but got split_sizes={list(split_sizes)}"
        )
    return _cut(input, list(split_sizes))


def _cut(x: Strided, sizes: list[int]) -> tuple[Strided, ...]:
    columns = zip(*[part.split(sizes, -1) for part in x.unbind()], strict=True)
    return tuple(of_views(x, column, x.dim()) for column in columns)


def _shape(x: Strided, name: str, shape: Any) -> list[list[int]]:
    """The components' sizes in a view of these sizes, in which -1 is the old size, or found by the others."""
    if not shape:
        raise RuntimeError("shape '[]' is invalid for a nested tensor")
    if not len(x):
        raise RuntimeError("empty nested tensor cannot be reshaped")
    if shape[0] != len(x):
        raise RuntimeError(
            f"{name}: For now nested {name} cannot change or infer the implicit batch dimension: "
            f"it is {len(x)}"
        )
    wanted, ndim = list(shape[1:]), x.dim() - 1
    if any(n < -1 for n in wanted):
        raise RuntimeError(f"invalid shape dimension {next(n for n in wanted if n < -1)}")
    if len(wanted) > ndim and max(wanted[:ndim].count(-1), wanted[ndim:].count(-1)) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if -1 in wanted[:ndim] and -1 in wanted[ndim:]:
        raise RuntimeError("nested tensor does not infer shape")
    found = []
    for size in x.places.sizes:
        new = [old if n == -1 else n for n, old in zip(wanted, size)] + wanted[ndim:]
        known, whole = torch.Size([n for n in new if n != -1]).numel(), torch.Size(size).numel()
        new = [whole // known if n == -1 and known else n for n in new]
        if torch.Size(new).numel() != whole:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {whole}")
        found.append(new)
    return found


def _view(func: Any, input: Strided, *shape: Any) -> Strided:
    whole = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    name = "reshape" if func.__name__ == "reshape" else "view"
    sizes = _shape(input, name, whole)
    try:
        views = [part.view(size) for part, size in zip(input.unbind(), sizes, strict=True)]
    except RuntimeError:
        if name == "view":
            raise
        return of_parts([part.reshape(size) for part, size in zip(input.unbind(), sizes, strict=True)])
    return of_views(input, views, len(whole))


def _cat(func: Any, tensors: Sequence[Any], dim: int = 0) -> Strided:
    if len(_nested(tensors)) < len(tensors):
        raise RuntimeError("cat(): expected each tensor in given list to be nested")
    like: Strided = tensors[0]
    at = wrap_dim(dim, like.dim())
    if not all(x.is_contiguous() for x in tensors):
        raise RuntimeError("cat(): only contiguous nested tensors are supported")
    if at == 0:
        return of_parts([part for x in tensors for part in x.unbind()], like.dim(), like)
    kept = [(x.dim(), [size[: at - 1] + size[at:] for size in x.places.sizes]) for x in tensors]
    if any(one != kept[0] for one in kept):
        raise RuntimeError(
            "cat(): expected all nested tensors to have matching ragged structures outside of "
            "the concatenated dim"
        )
    if any(len(set(column)) > 1 for x in tensors for column in list(zip(*x.places.sizes))[1:]):
        raise RuntimeError(
            "cat(): only nested tensors with a single ragged dim next to the batch dim are supported"
        )
    return of_parts([torch.cat(row, at - 1) for row in zip(*[x.unbind() for x in tensors], strict=True)])


# --- products and layers --------------------------------------------------------------------------------


def _bmm(func: Any, input: Any, mat2: Any) -> Strided:
    for x, name in ((input, "batch1"), (mat2, "batch2")):
        if x.dim() != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    if len(input) != len(mat2):
        raise RuntimeError(
            f"Expected size for the 1st dimension of batch2 tensor to be: {len(input)} but got: {len(mat2)}."
        )
    parts = []
    for i, (a, b) in enumerate(zip(input.unbind(), mat2.unbind(), strict=True)):
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(
                f"{i}-th nested matrices in batch cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
                f"{b.shape[0]}x{b.shape[1]})"
            )
        parts.append(a @ b)
    return of_parts(parts, 3)


def _matmul(func: Any, input: Any, other: Any) -> Any:
    if not (isinstance(input, Strided) and isinstance(other, Strided)):
        if (input.dim(), other.dim()) == (3, 3):
            return _bmm(func, input, other)
        which = ("a non-nested self and nested other", "a nested self and non-nested other")
        raise RuntimeError(f"Expected both to be nested, but got {which[isinstance(input, Strided)]}")
    for x, place in ((input, "1st"), (other, "2nd")):
        if x.dim() < 3:
            raise RuntimeError(
                "matmul: For nested tensors, only inputs with >= 3 dims are currently supported. "
                f"{place} input has rank: {x.dim()}"
            )
    if len(input) != len(other):
        raise RuntimeError(
            f"matmul: Expected size for the 1st dimension of 2nd input tensor to be: {len(input)} "
            f"but got: {len(other)}."
        )
    return of_parts([_product(a, b) for a, b in zip(input.unbind(), other.unbind(), strict=True)])


def _product(a: Tensor, b: Tensor) -> Tensor:
    if a.shape[:-2] != b.shape[:-2]:
        raise RuntimeError(
            "matmul: For nested tensors, batch dimensions must have the same sizes, got "
            f"{list(a.shape[:-2])} and {list(b.shape[:-2])}"
        )
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            f"matmul: Nested tensors cannot be matrix multiplied ({list(a.shape)} and {list(b.shape)})"
        )
    return a @ b


def _linear(func: Any, input: Any, weight: Any, bias: Any = None) -> Strided:
    if isinstance(weight, Strided):
        raise RuntimeError("Linear does not support nested weight when input is a nested tensor.")
    if not input.is_contiguous():
        raise RuntimeError("for now linear only supports contiguous nested tensor")
    if input.dim() != 3 or weight.dim() != 2:
        raise RuntimeError(
            "Linear requires nested_tensor.dim == 3 and dense_matrix.dim == 2. Nested tensor dim: "
            f"{input.dim()}. Dense tensor dim: {weight.dim()}"
        )
    if (last := _trailing(input)) != weight.shape[1]:
        raise RuntimeError(
            "Shape mismatch for NestedTensor Linear: Expected input's (a nested tensor) 'last_dim' to equal "
            f"'weight.size(1), but got: last_dim = {last}, and weight.size(1) = {weight.shape[1]}"
        )
    rows = func(input.flat().reshape(-1, last), weight, bias)
    return of_parts(rows.split([size[0] for size in input.places.sizes]), 3)


def _layer_norm(
    func: Any, input: Strided, normalized_shape: Sequence[int], *args: Any, **kwargs: Any
) -> Strided:
    first = input.dim() - len(normalized_shape)
    columns = list(zip(*input.places.sizes))[first - 1 :] if first > 0 else []
    if first < 1 or any(len(set(column)) > 1 for column in columns):
        raise RuntimeError(
            "normalized_shape extends into irregular dimensions for the nested tensor: give the "
            "last, even dims"
        )
    for i, (column, wanted) in enumerate(zip(columns, normalized_shape, strict=True)):
        if column[0] != wanted:
            raise RuntimeError(
                f"The shape at dimension {i} of normalized_shape doesn't match the input: "
                f"{wanted} and {column[0]}"
            )
    return _each(func, input, normalized_shape, *args, **kwargs)


def _embedding(func: Any, input: Strided, weight: Any, *args: Any, **kwargs: Any) -> Strided:
    return _each(func, input, weight, *args, **kwargs)


def _attention(
    func: Any, query: Any, key: Any, value: Any, attn_mask: Any = None, *args: Any, **options: Any
) -> Strided:
    """Attention of each component by itself: (batch, heads, uneven, features)."""
    given = {**dict(zip(("dropout_p", "is_causal"), args)), **options}
    if attn_mask is not None:
        raise RuntimeError(
            "scaled_dot_product_attention of nested tensors is not supported when an explicit "
            "attn_mask is set"
        )
    if given.get("is_causal"):
        raise RuntimeError(
            "scaled_dot_product_attention of nested tensors is not supported when is_causal=True"
        )
    rows = zip(query.unbind(), key.unbind(), value.unbind(), strict=True)
    return of_parts([func(*row, None, **given) for row in rows])


_RULES: dict[str, Rule] = {
    **dict.fromkeys(REDUCTIONS, _reduce),
    **dict.fromkeys(("softmax", "log_softmax", "_softmax"), _softmax),
    **dict.fromkeys(("matmul", "__matmul__", "mm"), _matmul),
    **dict.fromkeys(("view", "_view", "reshape"), _view),
    **dict.fromkeys(("cat", "concat", "concatenate"), _cat),
    **dict.fromkeys(("transpose", "swapaxes", "swapdims"), _transpose),
    **dict.fromkeys(("cumsum", "flip"), _softmax),
    "bmm": _bmm,
    "chunk": _chunk,
    "clone": _clone,
    "contiguous": _contiguous,
    "copy_": _copy,
    "embedding": _embedding,
    "equal": _same,
    "layer_norm": _layer_norm,
    "linear": _linear,
    "narrow": _narrow,
    "permute": _permute,
    "scaled_dot_product_attention": _attention,
    "select": _select,
    "split_with_sizes": _split_with_sizes,
    "squeeze": _squeeze,
    "unbind": unbound,
    "unsqueeze": _unsqueeze,
}
