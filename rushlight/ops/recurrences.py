"""One direction of an RNN, LSTM or GRU over packed rows, forwards and backwards, on arrays.

Rows are packed step by step: `sizes[t]` of them at step t, never more than at the step before. The
state is kept for the whole batch; a step reads and writes its first rows. So a sequence that has
ended keeps its last state, and one that has not begun (in reverse) its first, by themselves.

A step is a product by a matrix that is packed once, and one kernel for the rest of it (`cells.py`).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight.ops import products
from rushlight.ops.cells import CELLS
from rushlight.ops.machine import machine
from rushlight.ops.scalar import Expr, m, symbol

Array = np.ndarray[Any, Any]
Weights = tuple[Array, Array | None, Array | None]      # recurrent, its bias, projection
Span = tuple[int, int, int]                             # first row, end, number of rows


def spans(sizes: Sequence[int], reverse: bool) -> list[Span]:
    """The rows of each step, in the order of processing."""
    found, start = [], 0
    for size in sizes:
        found.append((start, start + size, size))
        start += size
    return found[::-1] if reverse else found


def _symbols(stem: str, count: int) -> list[Expr]:
    return [symbol(f"{stem}{k}") for k in range(count)]


def _kernel(outputs: Sequence[Expr], names: Sequence[str], dtype: str) -> Callable[..., None]:
    """A function of (operands, results)."""
    inputs = tuple([(name, dtype) for name in names])
    return machine("pointwise", "fused")(tuple(outputs), inputs, (dtype,) * len(outputs))


@lru_cache(maxsize=None)
def _step(mode: str, dtype: str, biased: bool) -> Any:
    """The kernel of (x..., s..., b..., h, c) to (h', c', kept...); h and c where the mode has them."""
    cell = CELLS[mode]
    x, s, b = (_symbols(stem, cell.gates) for stem in "xsb")
    whole = [p + q for p, q in zip(s, b, strict=True)] if biased else s
    y, c, kept = cell.step(m, x, whole, symbol("h"), symbol("c"))
    names = [e.arg for e in (*x, *s, *(b if biased else []))] + _states(mode)
    return _kernel([y, *([] if c is None else [c]), *kept], names, dtype)


def _states(mode: str) -> list[str]:
    return {"LSTM": ["c"], "GRU": ["h"]}.get(mode, [])


@lru_cache(maxsize=None)
def _back(mode: str, dtype: str) -> Any:
    """The kernel of (d, d of later steps, dc, h or c before, kept or y) to (into x, s, h and c)."""
    cell = CELLS[mode]
    kept, y = _symbols("k", cell.kept), symbol("y")
    into_x, into_s, into_h, into_c = cell.back(m, symbol("d") + symbol("later"), symbol("dc"), symbol("h"),
                                               symbol("c"), y, kept)
    names = ["d", "later", *(["dc"] if mode == "LSTM" else []), *_states(mode),
             *[e.arg for e in kept or [y]]]
    return _kernel([*into_x, *(into_s or ()), *[e for e in (into_h, into_c) if e is not None]], names, dtype)


def _packed(w: Array) -> Callable[[Array, Array], Array]:
    """The product by w as a function of (x, out)."""
    return machine("tiles", "packed")(w) or (lambda x, out: np.matmul(x, w, out))


def _parts(a: Array, count: int) -> list[Array]:
    """The columns of rows (n, count * size), part by part."""
    size = a.shape[1] // count
    return [a[:, k * size:(k + 1) * size] for k in range(count)]


def forward(mode: str, gates: Array, h0: Array, c0: Array | None, weights: Weights,
            steps: list[Span]) -> tuple[Array, Array, Array | None, Array | None]:
    """(outputs, last h, last c, what backward needs: (rows, kept, size)), of the input's part of gates."""
    w, b, projection = weights
    cell, h, c = CELLS[mode], h0.copy(), None if c0 is None else c0.copy()
    out = np.empty((gates.shape[0], h0.shape[1]), gates.dtype)
    size = w.shape[0] // cell.gates
    kept = np.empty((gates.shape[0], cell.kept, size), gates.dtype) if cell.kept else None
    kernel, multiply = _step(mode, gates.dtype.name, b is not None), _packed(w.T)
    bias = [] if b is None else b.reshape(cell.gates, size)
    from_state, high = np.empty((len(h), w.shape[0]), w.dtype), np.empty((len(h), size), w.dtype)
    for i, j, n in steps:
        y = out[i:j] if projection is None else high[:n]
        state = [a[:n] for a in ((h,) if mode == "GRU" else () if c is None else (c,))]
        s = multiply(h[:n], from_state[:n])
        kernel((*_parts(gates[i:j], cell.gates), *_parts(s, cell.gates), *bias, *state),
               (y, *([] if c is None else state), *([] if kept is None else kept[i:j].swapaxes(0, 1))))
        if projection is not None:
            np.matmul(y, projection.T, out[i:j])
        h[:n] = out[i:j]
    return out, h, c, kept


def before(values: Array, first: Array, steps: list[Span]) -> Array:
    """The state that each row's step began with, `values` being those it ended with."""
    found = np.empty(values.shape, values.dtype)
    held = 0
    for k, (i, j, n) in enumerate(steps):
        if k:
            last = steps[k - 1][0]
            held = min(n, steps[k - 1][2])
            found[i:i + held] = values[last:last + held]
        found[i + held:j] = first[held:n]
    return found


def backward(mode: str, grads: tuple[Array | None, ...], out: Array, kept: Array | None, h0: Array,
             c0: Array | None, weights: Weights, steps: list[Span]) -> tuple[Array | None, ...]:
    """Gradients of (gates, h0, c0, recurrent weight, its bias, projection).

    `grads` are those of (outputs, last h, last c); None stands for zeros.
    """
    w, b, projection = weights
    cell, (to_out, to_h, to_c) = CELLS[mode], grads
    size, rows = w.shape[0] // cell.gates, len(out)
    dh = np.zeros_like(h0) if to_h is None else to_h.copy()
    dc = [] if c0 is None else [np.zeros_like(c0) if to_c is None else to_c.copy()]
    to_out = np.zeros_like(out) if to_out is None else to_out
    h = before(out, h0, steps)
    states = {"LSTM": lambda: [before(kept[:, 4], c0, steps)], "GRU": lambda: [h]}.get(mode, list)()
    dx = np.empty((rows, w.shape[0]), w.dtype)
    dy = np.empty_like(dx) if mode == "GRU" else dx
    straight = [np.empty((len(h0), size), w.dtype)] if mode == "GRU" else []
    nothing, whole = np.zeros((len(h0), size), w.dtype), np.empty_like(out)
    kernel, multiply = _back(mode, w.dtype.name), _packed(w)
    for i, j, n in reversed(steps):
        d, later = to_out[i:j], dh[:n]
        if projection is not None:
            d, later = np.add(d, later, whole[i:j]) @ projection, nothing[:n]
        kernel((d, later, *[a[:n] for a in dc], *[a[i:j] for a in states],
                *([out[i:j]] if kept is None else kept[i:j].swapaxes(0, 1))),
               (*_parts(dx[i:j], cell.gates), *(_parts(dy[i:j], cell.gates) if dy is not dx else ()),
                *[a[:n] for a in straight], *[a[:n] for a in dc]))
        multiply(dy[i:j], dh[:n])
        for a in straight:
            dh[:n] += a[:n]
    to_projection = None
    if projection is not None and kept is not None:
        to_projection = whole.T @ (kept[:, 3] * np.tanh(kept[:, 4]))
    return (dx, dh, dc[0] if dc else None, products.product(dy.T, h), None if b is None else dy.sum(0),
            to_projection)
