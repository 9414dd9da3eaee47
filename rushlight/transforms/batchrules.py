"""The rules behind the policies: one per kind of row, and one for each row that needs its own.

A rule gets the level, the row and its arguments by name, and answers with a result of the level, or with
NotImplemented where the row must run example by example.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.base.dtype import BOOL
from rushlight.base.layout import Layout
from rushlight.dispatch import running
from rushlight.dispatch.kinds import by_keyword
from rushlight.ops.table import ROWS, Row
from rushlight.tensor.tensor import Tensor, wrap
from rushlight.transforms.levels import mapped, operands
from rushlight.transforms.policies import DYNAMIC_RESULT

Bound = dict[str, Any]
_DIMS = frozenset({"dim", "dims", "dim0", "dim1", "dim2", "dimension"})


def _rank(bound: Bound) -> int:
    return max(t._a.ndim for t in operands(tuple(bound.values())))


def shifted(dim: Any, ndim: int) -> Any:
    """Dims of an example as dims of the batch."""
    if isinstance(dim, (tuple, list)):
        return tuple([shifted(d, ndim) for d in dim])
    if not -max(ndim, 1) <= dim < max(ndim, 1):
        raise IndexError(f"Dimension out of range (expected to be in range of [{-max(ndim, 1)}, "
                         f"{max(ndim, 1) - 1}], but got {dim})")
    return dim % max(ndim, 1) + 1


def front(level: Any, row: Row, bound: Bound) -> Any:
    """The batch in front of every operand; the row works on trailing dims."""
    return level.wrap(row(**{n: mapped(level.whole, v) for n, v in bound.items()}))


def align(level: Any, row: Row, bound: Bound) -> Any:
    """Operands broadcast."""
    rank = _rank(bound)
    return level.wrap(row(**{n: mapped(lambda t: level.aligned(level.wrap(level.whole(t)), rank), v)
                             for n, v in bound.items()}))


def along(level: Any, row: Row, bound: Bound) -> Any:
    """The batch in front of every operand, dims counted one further."""
    if row.name == "_cat":
        # Of old, anything can be joined with an empty vector.
        bound = {**bound, "tensors": [t for t in bound["tensors"] if t._a.shape != (0,)] or bound["tensors"][:1]}
    ndim = next(operands(tuple(bound.values())))._a.ndim
    whole = {n: mapped(level.whole, v) for n, v in bound.items()}
    dims = {n: bound[n] for n in _DIMS & bound.keys()}
    if any(d is None or d == () and row.name != "flip" for d in dims.values()):
        return _flattened(level, row, whole, dims, ndim)
    more = row.name in ("_stack", "diag_embed", "unsqueeze")
    flat = not (ndim or more) and all(t._a.ndim == 0 for t in operands(tuple(bound.values())))
    if not (ndim or more):
        whole = {n: mapped(lambda t: t.unsqueeze(1) if t.ndim == 1 else t, v) for n, v in whole.items()}
    found = row(**{**whole, **{n: shifted(d, ndim + more) for n, d in dims.items()}})
    return level.wrap(mapped(lambda t: t.squeeze(1), found) if flat else found)


def _flattened(level: Any, row: Row, whole: Bound, dims: Bound, ndim: int) -> Any:
    """argmax and roll without dims work on all elements."""
    name = row.params[0].name
    x = whole[name]
    found = row(**{**whole, name: x.reshape(level.size, -1), **dict.fromkeys(dims, 1)})
    if "keepdim" not in whole:
        return level.wrap(found.reshape(x.shape))
    return level.wrap(found.reshape(level.size, *[1] * ndim) if whole["keepdim"] else found)


def reduce(level: Any, row: Row, bound: Bound) -> Any:
    """The same dims, counted one further."""
    x, dim = bound["input"].value, bound["dim"]
    ndim = x.ndim - 1
    if not ndim:
        shifted(0 if dim is None or dim == () else dim, 0)
        return level.wrap(row(**{**bound, "input": x.unsqueeze(1), "dim": (1,), "keepdim": False}))
    dims = tuple(range(1, ndim + 1)) if dim is None or dim == () else shifted(dim, ndim)
    return level.wrap(row(**{**bound, "input": x, "dim": dims}))


# --- views ----------------------------------------------------------------------------------------

_lifted: dict[str, Any] = {}


def view(level: Any, row: Row, bound: Bound) -> Any:
    """The view of each example: the row with one more dim in its layout."""
    first, *rest = bound.values()
    found = _lifted.get(row.name)
    if found is None:
        found = _lifted[row.name] = _lift(row)
    return level.wrap(found(first.value, *rest))


def geometry(level: Any, row: Row, bound: Bound) -> Any:
    """Views with rules of their own: the same on the batch, which makes better gradients."""
    x, args = bound["input"].value, [v for n, v in bound.items() if n != "input"]
    if row.name == "t":
        return level.wrap(x.transpose(1, 2) if x.ndim > 2 else x)
    if row.name == "permute":
        return level.wrap(row(x, (0, *shifted(args[0], x.ndim - 1))))
    if row.name == "squeeze" and x.ndim < 2:
        return level.wrap(x)
    if row.name == "squeeze":
        ones = tuple(i for i in range(1, x.ndim) if x.shape[i] == 1)
        return level.wrap(row(x, ones if args[0] is None else shifted(args[0], x.ndim - 1)))
    size = (args[0],) if isinstance(args[0], int) else tuple(args[0])
    if row.name == "expand":
        x = level.aligned(bound["input"], len(size))
    return level.wrap(row(x, (level.size, *size)))


def _lift(row: Row) -> Any:
    body = by_keyword(row, row.body)

    def lifted(of: Layout, *rest: Any) -> Layout:
        inner = body(Layout(of.sizes[1:], of.strides[1:]), *rest)
        return Layout((of.sizes[0], *inner.sizes), (of.strides[0], *inner.strides), inner.offset)
    options = {name: row.options[name] for name in ("overlaps",) if name in row.options}
    made = Row("view", lifted, name=f"{row.name}__batched", node=row.options.get("node", row.name), **options)
    made._params = tuple([p.__class__(p.name, p.type.removeprefix("*"), p.default) for p in row.params])
    made.call = running.build(made)
    return made.call


# --- products -------------------------------------------------------------------------------------


def contract(level: Any, row: Row, bound: Bound) -> Any:
    """Products of examples, by matmul."""
    a, b = [v for v in bound.values() if v is not None][:2]
    ranks, product = (a._a.ndim, b._a.ndim), ROWS["matmul"]
    if row.name == "linear":
        return _linear(level, row, bound)
    if row.name == "_sum_of_outers":
        a, b = (level.whole(t).reshape(level.size, -1, t._a.shape[-1]) for t in (a, b))
        return level.wrap(product(a.mT, b))
    _check_product(row, a, b)
    if min(ranks) >= 2:
        return level.wrap(product(*[level.aligned(t, max(ranks)) for t in (a, b)]))
    a = level.aligned(a, 1) if ranks[0] > 1 or not level.holds(a) else a.value.unsqueeze(-2)
    if not level.holds(b):
        found = product(a, b)
    else:
        b = b.value.unsqueeze(-1) if ranks[1] == 1 else b.value
        b = b.reshape(level.size, *[1] * (ranks[0] - 2), *b.shape[1:]) if ranks[0] > 2 else b
        found = product(a, b)
        found = found.squeeze(-1) if ranks[1] == 1 else found
    return level.wrap(found.squeeze(-1 if ranks[1] == 1 else -2) if a.ndim > ranks[0] and ranks[0] == 1
                      and level.holds(bound[row.params[0].name]) else found)


def _check_product(row: Row, a: Tensor, b: Tensor) -> None:
    """The row's own errors, found on a pair of examples."""
    inner = b._a.shape[-2 if b._a.ndim > 1 else -1]
    if a._a.shape[-1] != inner or a._k is not b._k or row.name == "bmm" and a._a.shape[0] != b._a.shape[0]:
        row(*[wrap(np.zeros(t._a.shape, t._a.dtype)) for t in (a, b)])


def _linear(level: Any, row: Row, bound: Bound) -> Any:
    x, w, bias = bound.values()
    if not level.holds(w) and not level.holds(bias):
        return level.wrap(row(x.value, w, bias))
    if w._a.ndim != 2:
        return NotImplemented
    lead = x._a.shape[:-1]
    if level.holds(x):
        x = x.value.reshape(level.size, -1, x._a.shape[-1])
    else:
        x = x.reshape(-1, x._a.shape[-1])
    found = ROWS["matmul"](x, (w.value if level.holds(w) else w).mT)
    if bias is not None:
        found = found + (bias.value.unsqueeze(1) if level.holds(bias) else bias)
    return level.wrap(found.reshape(level.size, *lead, found.shape[-1]))


def einsum(level: Any, row: Row, bound: Bound) -> Any:
    """One more label, on what is batched and on the result."""
    ins, out = bound["equation"].split("->")
    label = next(c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in bound["equation"])
    pairs = [(label + term, t.value) if level.holds(t) else (term, t)
             for term, t in zip(ins.split(","), bound["operands"], strict=True)]
    terms = ",".join(term for term, _ in pairs)
    return level.wrap(row([t for _, t in pairs], f"{terms}->{label}{out}"))


def body(level: Any, row: Row, bound: Bound) -> Any:
    """A composite's rows, each by its own rule."""
    return level.inside(by_keyword(row, row.body), *bound.values())


# --- convolutions: the batch joins the rows, or the channels where filters differ --------------------


def convolution(level: Any, row: Row, bound: Bound) -> Any:
    """_convolution and _convolution_input: rows by filters."""
    (first, x), (second, w), *rest = bound.items()
    if not level.holds(w):
        found = row(**{**bound, first: x.value.reshape(-1, *x._a.shape[1:])})
        return level.wrap(found.reshape(level.size, x._a.shape[0], *found.shape[1:]))
    found = row(**{**bound, first: _in_channels(level, x), second: w.value.reshape(-1, *w._a.shape[1:]),
                   "groups": bound["groups"] * level.size})
    return level.wrap(found.reshape(x._a.shape[0], level.size, -1, *found.shape[2:]).movedim(1, 0))


def _in_channels(level: Any, x: Any) -> Any:
    n, c, *space = x._a.shape
    return level.whole(x).movedim(0, 1).reshape(n, level.size * c, *space)


def filters(level: Any, row: Row, bound: Bound) -> Any:
    """_convolution_weight: each example's own filters."""
    found = row(**{**bound, "grad": _in_channels(level, bound["grad"]),
                   "input": _in_channels(level, bound["input"]), "groups": bound["groups"] * level.size})
    return level.wrap(found.reshape(level.size, -1, *found.shape[1:]))


def folded(level: Any, row: Row, bound: Bound) -> Any:
    """The batch joins the rows: _nll, im2col, col2im."""
    first = bound[row.params[0].name]
    if level.holds(bound.get("weight")) or first._a.ndim < 2:
        return NotImplemented if level.holds(bound.get("weight")) else front(
            level, row, {n: v for n, v in bound.items() if n != "weight"} | {"weight": bound.get("weight")})
    rows = first._a.shape[0]
    merged = {n: level.whole(v).reshape(-1, *v._a.shape[1:]) if isinstance(v, Tensor) and n != "weight" else v
              for n, v in bound.items()}
    return level.wrap(mapped(lambda t: t.reshape(level.size, rows, *t.shape[1:]), row(**merged)))


# --- indices --------------------------------------------------------------------------------------


def _numbers(level: Any, ndim: int, step: int = 1) -> Any:
    """0, step, 2 step ... for each example, with `ndim` dims behind."""
    return wrap(np.arange(level.size).reshape(-1, *[1] * ndim) * step)


def embedding(level: Any, row: Row, bound: Bound) -> Any:
    """Tables one below the other, where each example has its own."""
    table, places = bound["weight"], bound["indices"]
    if not level.holds(table):
        return level.wrap(row(**{**bound, "indices": places.value}))
    if bound["padding_idx"] >= 0 or bound["scale_grad_by_freq"]:
        return NotImplemented
    places = level.whole(places) + _numbers(level, places._a.ndim, table._a.shape[0])
    return level.wrap(row(**{**bound, "weight": table.value.reshape(-1, *table._a.shape[1:]), "indices": places}))


def embedding_back(level: Any, row: Row, bound: Bound) -> Any:
    """The gradients of such tables."""
    if bound["padding_idx"] >= 0 or bound["scale_grad_by_freq"]:
        return NotImplemented
    places, count = bound["indices"], bound["num_weights"]
    found = row(**{**bound, "grad_output": level.whole(bound["grad_output"]), "num_weights": count * level.size,
                   "indices": level.whole(places) + _numbers(level, places._a.ndim, count)})
    return level.wrap(found.reshape(level.size, count, *found.shape[1:]))


def along_index(level: Any, row: Row, bound: Bound) -> Any:
    """index_select and the like: one index for all examples, else a gather."""
    index, ndim = bound["index"], bound["input"]._a.ndim
    if not level.holds(index) and ndim:
        whole = {n: level.whole(v) if n in ("input", "source") else v for n, v in bound.items()}
        if level.holds(bound.get("value")):
            return NotImplemented
        return level.wrap(row(**{**whole, "dim": shifted(bound["dim"], ndim)}))
    if row.name != "index_select" or not ndim:
        return NotImplemented
    dim = shifted(bound["dim"], ndim)
    x, places = level.whole(bound["input"]), index.value
    shape = [n if i == 0 else places.shape[-1] if i == dim else n for i, n in enumerate(x.shape)]
    places = places.reshape(level.size, *[-1 if i == dim else 1 for i in range(1, ndim + 1)])
    return level.wrap(x.gather(dim, places.expand(shape).long()))


def _checked(level: Any, indices: Any) -> list[Any]:
    if any(level.holds(i) and i._k.dtype.category == BOOL for i in indices):
        raise RuntimeError("vmap: We do not support batching operators that can support dynamic shape. "
                           "Attempting to batch over indexing with a boolean mask: use torch.where")
    return list(indices)


def _joined(level: Any, indices: list[Any]) -> tuple[list[Any], int, int]:
    """(indices of the batch, dims of the index, where these stand in an example's result)."""
    given = [i for i, t in enumerate(indices) if t is not None]
    rank = max(indices[i]._a.ndim + (indices[i]._k.dtype.category == BOOL) * 0 for i in given)
    places = [None if t is None else level.aligned(t, rank) for t in indices]
    together = given[-1] - given[0] + 1 == len(given)
    return [_numbers(level, rank), *places], rank, given[0] if together else 0


def index(level: Any, row: Row, bound: Bound) -> Any:
    """x[indices]."""
    indices = _checked(level, bound["indices"])
    if not any(map(level.holds, indices)):
        if _masked(indices) and not _together(indices):
            return NotImplemented
        found = row(bound["input"].value, [None, *indices])
        return level.wrap(found if _together(indices) else found.movedim(_width(indices), 0))
    if _masked(indices):
        return NotImplemented
    if not level.holds(bound["input"]) and all(t is not None for t in indices):
        rank = max(t._a.ndim for t in indices)
        return level.wrap(row(bound["input"], [level.aligned(t, rank) for t in indices]))
    places, rank, start = _joined(level, indices)
    found = row(level.whole(bound["input"]), places)
    if not start:
        return level.wrap(found)
    return level.wrap(found.movedim(tuple(range(1, rank + 1)), tuple(range(start + 1, start + rank + 1))))


def _masked(indices: list[Any]) -> bool:
    return any(t is not None and t._k.dtype.category == BOOL for t in indices)


def _together(indices: list[Any]) -> bool:
    given = [i for i, t in enumerate(indices) if t is not None]
    return given[-1] - given[0] + 1 == len(given)


def _width(indices: list[Any]) -> int:
    return max(t._a.ndim for t in indices if t is not None)


def index_put(level: Any, row: Row, bound: Bound) -> Any:
    """x[indices] = values."""
    indices = _checked(level, bound["indices"])
    if _masked(indices):
        return NotImplemented
    places, rank, start = _joined(level, indices)
    x, values = level.whole(bound["input"]), bound["values"]
    ndim = rank + bound["input"]._a.ndim - sum(t is not None for t in indices)
    if values._a.ndim:
        values = level.aligned(values, ndim) if level.holds(values) else values
        if start and (ndim := max(ndim, values.ndim)):
            values = values if values.ndim > ndim else values.reshape(*[1] * (ndim + 1 - values.ndim), *values.shape)
            values = values.movedim(tuple(range(start + 1, start + rank + 1)), tuple(range(1, rank + 1)))
    elif level.holds(values):
        values = level.aligned(values, ndim)
    return level.wrap(row(x, places, values, bound["accumulate"]))


def same_for_all(level: Any, row: Row, bound: Bound) -> Any:
    """bucketize, isin, searchsorted: elementwise where the first operand alone is batched."""
    tensors = [n for n, v in bound.items() if level.holds(v)]
    alone = {"searchsorted": "input", "isin": "elements"}.get(row.name, row.params[0].name)
    other = bound.get("sorted_sequence")
    if tensors != [alone] or other is not None and other._a.ndim > 1:
        return NotImplemented
    return level.wrap(row(**{**bound, alone: bound[alone].value}))


def fill(level: Any, row: Row, bound: Bound) -> Any:
    """fill_: with a number for all, or with each example's own."""
    x, value = bound["input"], bound["value"]
    if not isinstance(value, Tensor):
        return level.wrap(row(x.value, value))
    return level.wrap(ROWS["_overwritten"](level.whole(x), level.aligned(value, x._a.ndim)))


def masked(level: Any, row: Row, bound: Bound) -> Any:
    """masked_fill, with a value for each example too; masked_select by one mask for all."""
    if row.name == "masked_select":
        if level.holds(bound["mask"]):
            raise RuntimeError(DYNAMIC_RESULT.format(row.name))
        rank = max(_rank(bound), 1)
        x, mask = ROWS["broadcast_tensors"](level.aligned(bound["input"], rank), bound["mask"])
        return index(level, ROWS["index"], {"input": level.wrap(x), "indices": [mask[0]]})
    if not level.holds(bound["value"]):
        return align(level, lambda input, mask: row(input, mask, bound["value"]),  # type: ignore[arg-type]
                     {"input": bound["input"], "mask": bound["mask"]})
    return level.inside(ROWS["where"], bound["mask"], bound["value"].to(bound["input"].dtype), bound["input"])


def median(level: Any, row: Row, bound: Bound) -> Any:
    """Of all elements: along the one dim of each example laid flat."""
    name = "_nanmedian_dim" if bound["skip_nan"] else "_median_dim"
    return level.wrap(ROWS[name](bound["input"].value.reshape(level.size, -1), 1, False)[0])


def made_like(level: Any, row: Row, bound: Bound) -> Any:
    """new_zeros and the like: of a batched tensor, batched."""
    size = bound["size"]
    size = (size,) if isinstance(size, int) else tuple(size)
    return level.wrap(row(**{**bound, "input": bound["input"].value, "size": (level.size, *size)}))


RULES: dict[Any, Any] = {
    "front": front, "align": align, "along": along, "reduce": reduce, "view": view, "contract": contract,
    "body": body, "_einsum": einsum, "_convolution": convolution, "_convolution_input": convolution,
    "_convolution_weight": filters, "_nll": folded, "im2col": folded, "col2im": folded, "embedding": embedding,
    "embedding_dense_backward": embedding_back, "index": index, "index_put": index_put,
    "fill": fill, "_median_all": median, **dict.fromkeys(("masked_fill", "masked_select"), masked),
    **dict.fromkeys(("t", "permute", "squeeze", "expand", "_view"), geometry),
    **dict.fromkeys(("index_select", "index_add", "index_copy", "index_fill"), along_index),
    **dict.fromkeys(("bucketize", "searchsorted", "isin"), same_for_all),
    **dict.fromkeys(("new_zeros", "new_ones", "new_full", "new_empty"), made_like),
}
