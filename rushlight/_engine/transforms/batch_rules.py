"""The rules behind the policies: one per kind of row, and one for each row that needs its own.

A rule gets the level, the row and its arguments by name, and answers with a result of the level, or with
NotImplemented where the row must run example by example. REWRITES say rows on an example in other rows.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from rushlight._engine.core.dtype import BOOL
from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.dispatch.runners.array_bodies import by_keyword
from rushlight._engine.ops.table import ROWS, Row
from rushlight._engine.tensors.tensor import Tensor, wrap
from rushlight._engine.transforms.levels import mapped, operands, sizes
from rushlight._engine.transforms.policies import DYNAMIC_RESULT

Bound = dict[str, Any]
_OF_MATRICES = frozenset({"_qr", "geqrf"})  # rows that themselves refuse what is no matrix
_DIMS = frozenset({"dim", "dims", "dim0", "dim1", "dim2", "dimension"})


def _rank(bound: Bound) -> int:
    return max(int(t._geometry.ndim) for t in operands(tuple(bound.values())))


def shifted(dim: Any, ndim: int) -> Any:
    """Dims of an example as dims of the batch."""
    if isinstance(dim, (tuple, list)):
        return tuple([shifted(d, ndim) for d in dim])
    return wrap_dim(dim, ndim) + 1


def front(level: Any, row: Row, bound: Bound) -> Any:
    """The batch in front of every operand; the row works on trailing dims."""
    if row.name in _OF_MATRICES and _rank(bound) < 2:
        row(**level._example(bound, 0))  # refuses it: with the batch it would be a matrix
    return level.wrap(row(**{n: mapped(level.whole, v) for n, v in bound.items()}))


def align(level: Any, row: Row, bound: Bound) -> Any:
    """Operands broadcast."""
    rank = _rank(bound)
    return level.wrap(
        row(
            **{
                n: mapped(lambda t: level.aligned(level.wrap(level.whole(t)), rank), v)
                for n, v in bound.items()
            }
        )
    )


def along(level: Any, row: Row, bound: Bound) -> Any:
    """The batch in front of every operand, dims counted one further."""
    dims = {n: bound[n] for n in _DIMS & bound.keys()}
    if row.name == "_cat":
        bound = {**bound, "tensors": _joinable(level, bound["tensors"], bound["dim"])}
    first, more = next(operands(tuple(bound.values()))), row.name in ("_stack", "diag_embed", "unsqueeze")
    if any(d is None or (d == () and row.name != "flip") for d in dims.values()):
        return level.inside(_of_all, row, bound, dims, first)
    if not (first._geometry.ndim or more):
        return level.inside(_of_number, row, bound)
    whole = {n: mapped(level.whole, v) for n, v in bound.items()}
    return level.wrap(
        row(**{**whole, **{n: shifted(d, first._geometry.ndim + more) for n, d in dims.items()}})
    )


def _joinable(level: Any, tensors: Any, dim: int) -> list[Any]:
    """Of old, anything can be joined with an empty vector: here as a tensor without elements along `dim`."""
    for i, t in enumerate(tensors):
        if not t._geometry.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    shape = next((t._geometry.shape for t in tensors if t._geometry.shape != (0,)), None)
    if not shape:
        return list(tensors)
    dim = wrap_dim(dim, len(shape))
    empty = (level.size, *shape[:dim], 0, *shape[dim + 1 :])
    return [t if t._geometry.shape != (0,) else level.wrap(level.whole(t).reshape(empty)) for t in tensors]


def _of_all(row: Row, bound: Bound, dims: Bound, x: Any) -> Any:
    """argmax and roll without dims work on all elements."""
    found = row(**{**bound, row.params[0].name: x.reshape(-1), **dict.fromkeys(dims, 0)})
    kept = bound.get("keepdim", True)
    return found.reshape(x.shape if "keepdim" not in bound else [1] * x.ndim) if kept else found


def _of_number(row: Row, bound: Bound) -> Any:
    """A 0-d example counts as a vector."""
    flat = all(t._geometry.ndim == 0 for t in operands(tuple(bound.values())))
    found = row(
        **{n: mapped(lambda t: t if t._geometry.ndim else t.unsqueeze(0), v) for n, v in bound.items()}
    )
    return mapped(lambda t: t.squeeze(0), found) if flat else found


def reduce(level: Any, row: Row, bound: Bound) -> Any:
    """The same dims, counted one further."""
    x, dim = bound["input"].value, bound["dim"]
    ndim = x.ndim - 1
    if dim is None or dim == ():
        dim = tuple(range(ndim))
    if not ndim:
        shifted(dim, 0)
        return level.wrap(row(**{**bound, "input": x.unsqueeze(1), "dim": (1,), "keepdim": False}))
    return level.wrap(row(**{**bound, "input": x, "dim": shifted(dim, ndim)}))


# --- views ----------------------------------------------------------------------------------------


def strided(level: Any, row: Row, bound: Bound) -> Any:
    """The batch's own stride before those of the examples."""
    x, size, stride, offset = bound.values()
    return level.wrap(row(x.value, (level.size, *size), (x.value.stride(0), *stride), offset))


def sized(level: Any, row: Row, bound: Bound) -> Any:
    """expand, view, new_zeros and the like: the batch before the size."""
    x, size = bound["input"], sizes(bound["size"])
    x = level.aligned(x, len(size)) if row.name == "expand" else x.value
    return level.wrap(row(**{**bound, "input": x, "size": (level.size, *size)}))


def permute(level: Any, row: Row, bound: Bound) -> Any:
    """The batch stays in front: permute, and x[...]."""
    x = bound["input"].value
    if row.name == "_basic":
        return level.wrap(row(x, (slice(None), *bound["basic"]), tuple([dim + 1 for dim in bound["ones"]])))
    return level.wrap(row(x, (0, *shifted(bound["dims"], x.ndim - 1))))


def empty_strided(level: Any, row: Row, bound: Bound) -> Any:
    """new_empty_strided: the memory of one example behind that of another."""
    size, stride = sizes(bound["size"]), sizes(bound["stride"])
    each = 1 + sum([(n - 1) * step for n, step in zip(size, stride, strict=True)]) if all(size) else 0
    whole = {n: mapped(level.whole, v) for n, v in bound.items()}
    return level.wrap(row(**{**whole, "size": (level.size, *size), "stride": (each, *stride)}))


# --- products -------------------------------------------------------------------------------------


def product(level: Any, row: Row, bound: Bound) -> Any:
    """Matrices, by matmul; the row's own errors come from a pair of examples."""
    a, b = bound.values()
    if (
        a._geometry.shape[-1] != b._geometry.shape[-2]
        or a.dtype is not b.dtype
        or (row.name == "bmm" and len(a) != len(b))
    ):
        row(*[wrap(np.zeros(t._geometry.shape, t._geometry.dtype)) for t in (a, b)])
    return level.wrap(ROWS["matmul"](*[level.aligned(t, _rank(bound)) for t in (a, b)]))


def linear(level: Any, row: Row, bound: Bound) -> Any:
    """x @ w.T + b; by the row where all share the weights."""
    x, w, bias = bound.values()
    if not level.holds(w) and not level.holds(bias):
        return level.wrap(row(x.value, w, bias))
    return level.inside(lambda: ROWS["matmul"](x, w.mT) + (0 if bias is None else bias))


def body(level: Any, row: Row, bound: Bound) -> Any:
    """A composite's rows, each by its own rule."""
    return level.inside(by_keyword(row, row.body), *bound.values())


# --- convolutions: the batch joins the rows, or the channels where filters differ --------------------


def convolution(level: Any, row: Row, bound: Bound) -> Any:
    """_convolution and _convolution_input: rows by filters."""
    (first, x), (second, w), *_ = bound.items()
    if not level.holds(w):
        return folded(level, row, bound)
    found = row(
        **{
            **bound,
            first: _in_channels(level, x),
            second: w.value.reshape(level.size * w._geometry.shape[0], *w._geometry.shape[1:]),
            "groups": bound["groups"] * level.size,
        }
    )
    n, c, *space = found.shape
    return level.wrap(found.reshape(n, level.size, c // level.size, *space).movedim(1, 0))


def _in_channels(level: Any, x: Any) -> Any:
    n, c, *space = x._geometry.shape
    return level.whole(x).movedim(0, 1).reshape(n, level.size * c, *space)


def filters(level: Any, row: Row, bound: Bound) -> Any:
    """_convolution_weight: each example's own filters."""
    found = row(
        **{
            **bound,
            "grad": _in_channels(level, bound["grad"]),
            "input": _in_channels(level, bound["input"]),
            "groups": bound["groups"] * level.size,
        }
    )
    return level.wrap(found.reshape(level.size, found.shape[0] // level.size, *found.shape[1:]))


def folded(level: Any, row: Row, bound: Bound) -> Any:
    """The batch joins the rows of all tensors but weights."""
    first, weight = bound[row.params[0].name], bound.get("weight")
    if level.holds(weight):
        return NotImplemented
    lead = (
        (level.size, *first._geometry.shape[:1])
        if row.name != "_nll" or first._geometry.ndim > 1
        else (level.size,)
    )
    inner = len(lead) - 1  # dims of an example that join the batch; -1 would be ambiguous where one is empty
    flat = {
        n: level.whole(v).reshape(level.size * prod(v._geometry.shape[:inner]), *v._geometry.shape[inner:])
        if isinstance(v, Tensor) and v is not weight
        else v
        for n, v in bound.items()
    }
    return level.wrap(mapped(lambda t: t.reshape(*lead, *t.shape[1:]), row(**flat)))


# --- indices --------------------------------------------------------------------------------------


def _places(level: Any, indices: Any) -> tuple[list[Any], int, int] | None:
    """(indices of the batch, dims of the index, where these stand in an example's result); None for masks."""
    given = [i for i, t in enumerate(indices) if t is not None]
    masks = [indices[i] for i in given if indices[i]._kind.dtype.category == BOOL]
    if any(map(level.holds, masks)):
        raise RuntimeError(
            "vmap: We do not support batching operators that can support dynamic shape. "
            "Attempting to batch over indexing with a boolean mask: use torch.where"
        )
    rank = max(indices[i]._geometry.ndim for i in given)
    places = [t if t is None else level.aligned(t, rank) for t in indices]
    each = wrap(np.arange(level.size).reshape(-1, *[1] * rank))
    together = given[-1] - given[0] + 1 == len(given)
    return None if masks else ([each, *places], rank, given[0] if together else 0)


def _read_by_all(row: Row, x: Any, indices: Any) -> Any:
    """x[indices] of the batch, with indices for all: their dims are in front of it where they stand apart."""
    given = [i for i, t in enumerate(indices) if t is not None]
    out = row(x.value, [None, *indices])
    if given[-1] - given[0] + 1 == len(given):
        return out
    masks = [indices[i]._kind.dtype.category == BOOL for i in given]
    read = sum(indices[i]._geometry.ndim if mask else 1 for i, mask in zip(given, masks, strict=True))
    return out.movedim(out.ndim - 1 - (x._geometry.ndim - read), 0)


def index(level: Any, row: Row, bound: Bound) -> Any:
    """x[indices]."""
    x, indices = bound["input"], bound["indices"]
    if not any(map(level.holds, indices)):
        return level.wrap(_read_by_all(row, x, indices))
    found = _places(level, indices)
    if found is None:
        return NotImplemented
    places, rank, start = found
    if not level.holds(x) and all(p is not None for p in places):
        return level.wrap(row(x, places[1:]))
    out = row(level.whole(x), places)
    return level.wrap(out.movedim(tuple(range(1, rank + 1)), tuple(range(start + 1, start + rank + 1))))


def index_put(level: Any, row: Row, bound: Bound) -> Any:
    """x[indices] = values."""
    found, values = _places(level, bound["indices"]), bound["values"]
    if found is None:
        return NotImplemented
    places, rank, start = found
    ndim = rank + bound["input"]._geometry.ndim - sum(t is not None for t in bound["indices"])
    if values._geometry.ndim or level.holds(values):
        values = level.aligned(level.wrap(level.whole(values)), ndim)
        values = values.movedim(tuple(range(start + 1, start + rank + 1)), tuple(range(1, rank + 1)))
    return level.wrap(row(level.whole(bound["input"]), places, values, bound["accumulate"]))


def along_index(level: Any, row: Row, bound: Bound) -> Any:
    """index_select and the like, with one index for all examples."""
    x, places = bound["input"], bound["index"]
    if row.name == "index_select" and x._geometry.ndim and level.holds(places):
        return level.inside(
            ROWS["index"], x, [None] * (shifted(bound["dim"], x._geometry.ndim) - 1) + [places]
        )
    if not x._geometry.ndim and row.name != "index_select":
        return level.inside(_of_a_number, row, bound)
    if level.holds(places) and row.name == "index_copy":
        return level.inside(_copied_by_places, **bound)
    if level.holds(places) or level.holds(bound.get("value")) or not x._geometry.ndim:
        return NotImplemented
    whole = {n: level.whole(v) if n in ("input", "source") else v for n, v in bound.items()}
    return level.wrap(row(**{**whole, "dim": shifted(bound["dim"], x._geometry.ndim)}))


def _of_a_number(row: Row, bound: Bound) -> Any:
    """index_copy and the like of tensors without dims, as of tensors of one element."""
    given = {**bound, "input": bound["input"].unsqueeze(0), "dim": 0}
    if "source" in given:
        given["source"] = given["source"].reshape(1)
    return row(**given).squeeze(0)


def _copied_by_places(input: Any, dim: int, index: Any, source: Any) -> Any:
    """index_copy whose index is a tensor under vmap."""
    dim = wrap_dim(dim, input.ndim)
    places = index.reshape([-1 if i == dim else 1 for i in range(input.ndim)])
    return input.scatter(dim, places.expand(source.shape), source)


def repeat(level: Any, row: Row, bound: Bound) -> Any:
    """repeat: the batch once, then the dims of examples."""
    x, times = bound["input"], sizes(bound["repeats"])
    if len(times) < x._geometry.ndim:
        return NotImplemented  # it raises
    return level.wrap(row(level.aligned(x, len(times)), (1, *times)))


def _turned(x: Any) -> Any:
    """x.t()."""
    if x.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {x.ndim}D")
    return x.transpose(0, 1) if x.ndim > 1 else x.view_as(x)


def embedding(level: Any, row: Row, bound: Bound) -> Any:
    """Rows of one table for all, or of each example's own."""
    table, places = bound["weight"], bound["indices"]
    if not level.holds(table):
        return level.wrap(row(**{**bound, "indices": places.value}))
    if bound["padding_idx"] >= 0 or bound["scale_grad_by_freq"]:
        return NotImplemented
    return level.inside(ROWS["index"], table, [places])


def same_for_all(level: Any, row: Row, bound: Bound) -> Any:
    """bucketize, isin, searchsorted: elementwise where the values alone are batched."""
    alone = "elements" if row.name == "isin" else "input"
    table = bound.get("sorted_sequence")
    if [n for n, v in bound.items() if level.holds(v)] != [alone] or (
        table is not None and table._geometry.ndim > 1
    ):
        return NotImplemented
    return level.wrap(row(**{**bound, alone: bound[alone].value}))


def fill(level: Any, row: Row, bound: Bound) -> Any:
    """fill_: with a number for all, or with each example's own."""
    x, value = bound["input"], bound["value"]
    if not isinstance(value, Tensor):
        return level.wrap(row(x.value, value))
    return level.wrap(ROWS["_overwritten"](level.whole(x), level.aligned(value, x._geometry.ndim)))


def masked_select(level: Any, row: Row, bound: Bound) -> Any:
    """By one mask for all."""
    if level.holds(bound["mask"]):
        raise RuntimeError(DYNAMIC_RESULT.format(row.name))
    x, mask = ROWS["broadcast_tensors"](level.aligned(bound["input"], max(_rank(bound), 1)), bound["mask"])
    return level.wrap(ROWS["index"](x, [None, mask[0]]))


def _median(input: Any, skip_nan: bool) -> Any:
    return ROWS["_nanmedian_dim" if skip_nan else "_median_dim"](input.reshape(-1), 0, False)[0]


def _matrix_of_outers(a: Any, b: Any) -> Any:
    left, right = (x.reshape(prod(x.shape[:-1]), x.shape[-1]) for x in (a, b))
    return ROWS["mm"](left.mT, right)


def _masked_fill(input: Any, mask: Any, value: Any) -> Any:
    value = value.to(input.dtype) if isinstance(value, Tensor) else value
    return ROWS["where"](mask, value, input).to(input.dtype)


REWRITES: dict[str, Any] = {
    "mv": lambda a, v: ROWS["matmul"](a, v.unsqueeze(-1)).squeeze(-1),
    "dot": lambda a, b: ROWS["mm"](a.unsqueeze(0), b.unsqueeze(1)).reshape(()),
    "t": _turned,
    "squeeze": lambda x, dim: x.view(
        [
            n
            for i, n in enumerate(x.shape)
            if n != 1 or (dim is not None and i + 1 not in shifted(sizes(dim), x.ndim))
        ]
    ),
    "_sum_of_outers": _matrix_of_outers,
    "_median_all": _median,
    "masked_fill": _masked_fill,
}
RULES: dict[Any, Any] = {
    **dict.fromkeys(REWRITES, lambda level, row, bound: level.inside(REWRITES[row.name], *bound.values())),
    "front": front,
    "align": align,
    "along": along,
    "reduce": reduce,
    "_as_strided": strided,
    "contract": product,
    "linear": linear,
    "body": body,
    "_convolution_weight": filters,
    "index": index,
    "index_put": index_put,
    "embedding": embedding,
    "fill": fill,
    "masked_select": masked_select,
    "repeat": repeat,
    **dict.fromkeys(("permute", "_basic"), permute),
    **dict.fromkeys(("_convolution", "_convolution_input"), convolution),
    **dict.fromkeys(("_nll", "im2col", "col2im"), folded),
    **dict.fromkeys(("index_select", "index_add", "index_copy", "index_fill"), along_index),
    **dict.fromkeys(("bucketize", "searchsorted", "isin"), same_for_all),
    **dict.fromkeys(("expand", "_view", "new_zeros", "new_ones", "new_full", "new_empty"), sized),
    "new_empty_strided": empty_strided,
}
