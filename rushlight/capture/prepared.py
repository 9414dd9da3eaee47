"""Steps of a program with everything decided beforehand: the same arithmetic, straight into its memory."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.capture.kernelnode import Kernel, Product, step
from rushlight.capture.recorder import Entry
from rushlight.dispatch.formula import BIG, Formula
from rushlight.dispatch.reducing import BIG as BIG_REDUCTION, UFUNCS, X, Reducer
from rushlight.ops import products

Array = np.ndarray[Any, Any]
Step = Callable[[], Any]


def prepared(entry: Entry) -> Step:
    """What to call at every replay."""
    function, operands = entry.function, entry.operands
    if entry.kind != "run":
        return partial(function, *operands)
    if isinstance(function, Kernel):
        return step(entry)
    if isinstance(function, Product):
        return _into(entry.outs[0], *operands) or partial(np.matmul, *operands, entry.outs[0])
    row = getattr(function, "row", None)
    if len(entry.outs) > 1:
        return partial(_several, function, operands, entry.outs)
    out = entry.outs[0]
    found: Step | None = None
    if _is(function, Formula.compute):
        found = _pointwise(function.args[0], operands[0], out)  # type: ignore[attr-defined]
    elif _is(function, Reducer.run):
        found = _reduction(function.__self__, out, *operands)  # type: ignore[attr-defined]
    elif row is not None and row.name in _PRODUCTS:
        found = _PRODUCTS[row.name](out, *operands)
    return found or partial(_one, function, operands, out)


def _is(function: Any, method: Any) -> bool:
    bound = getattr(function, "func", function)
    return getattr(bound, "__func__", bound) is method


def _one(function: Callable[..., Any], operands: tuple[Any, ...], out: Array) -> None:
    found = function(*operands)
    out[...] = found if isinstance(found, (np.ndarray, np.generic)) else found[0]


def _several(function: Callable[..., Any], operands: tuple[Any, ...], outs: tuple[Array, ...]) -> None:
    made = [a for a in function(*operands) if isinstance(a, (np.ndarray, np.generic))]
    for out, a in zip(outs, made, strict=True):
        out[...] = a


def _pointwise(entry: Any, arrays: Sequence[Array], out: Array) -> Step:
    large = any(a.size >= BIG for a in arrays)
    if entry.kernel.ready and not large:
        return partial(entry.fn, *arrays, out)
    return partial(_by_tier, entry, large, arrays, out)


def _by_tier(entry: Any, large: bool, arrays: Sequence[Array], out: Array) -> None:
    (entry.large if large else entry.fn)(*arrays, out=out)


def _reduction(reducer: Reducer, out: Array, a: Array, axes: tuple[int, ...], keepdim: bool,
               compute: dt.dtype, result: dt.dtype) -> Step | None:
    meaning = reducer.meaning
    if a.size >= BIG_REDUCTION or meaning.map is not X or meaning.finish is not None or (
            a.dtype != compute.np or result is not compute or dt.opmath(compute) is not compute):
        return None
    of = compute.np if meaning.combine in ("add", "mul") else None
    return partial(UFUNCS[meaning.combine].reduce, a, axes, of, out, keepdim)


# --- products -------------------------------------------------------------------------------------


def _into(out: Array, a: Array, b: Array) -> Step | None:
    """products.product(a, b), written to `out`."""
    if a.dtype != b.dtype or a.dtype != out.dtype or a.dtype.kind not in "fc" or a.dtype.itemsize <= 2 or (
            not out.flags.c_contiguous or a.ndim < 2 or b.ndim < 2):
        return None
    if a.size * b.shape[-1] >= products.LARGE:
        return partial(products.machine, a, b, out)
    return partial(a.dot, b, out) if a.ndim == 2 == b.ndim else partial(np.matmul, a, b, out)


def _linear(out: Array, x: Array, w: Array, bias: Array | None) -> Step | None:
    if x.ndim < 2 or w.ndim != 2 or not out.flags.c_contiguous or not x.flags.c_contiguous:
        return None
    product = _into(out.reshape(-1, out.shape[-1]), x.reshape(-1, x.shape[-1]), w.T)
    return product if product is None or bias is None else partial(_then, product, partial(
        np.add, out, bias, out))


def _then(first: Step, second: Step) -> None:
    first()
    second()


def _outers(out: Array, a: Array, b: Array) -> Step | None:
    if a.ndim != 2 and not (a.flags.c_contiguous and b.flags.c_contiguous):
        return None
    return _into(out, a.reshape(-1, a.shape[-1]).T, b.reshape(-1, b.shape[-1]))


def _joined(out: Array, arrays: Sequence[Array], dim: int) -> Step | None:
    return partial(np.concatenate, arrays, dim, out) if out.flags.c_contiguous and all(
        a.dtype == out.dtype and a.ndim == out.ndim for a in arrays) else None


_PRODUCTS: dict[str, Callable[..., Step | None]] = {
    "linear": _linear, "mm": _into, "bmm": _into, "_matmul": _into, "_sum_of_outers": _outers,
    "_cat": _joined}
