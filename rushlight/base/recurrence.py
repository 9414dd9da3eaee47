"""One direction of an RNN, LSTM or GRU over packed rows, forwards and backwards, on arrays.

Rows are packed step by step: `sizes[t]` of them at step t, never more than at the step before. The
state is kept for the whole batch; a step reads and writes its first rows. So a sequence that has
ended keeps its last state, and one that has not begun (in reverse) its first, by themselves.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Weights = tuple[Array, Array | None, Array | None]      # recurrent, its bias, projection
Span = tuple[int, int, int]                             # first row, end, number of rows

MODES = ("LSTM", "GRU", "RNN_TANH", "RNN_RELU")


def spans(sizes: Sequence[int], reverse: bool) -> list[Span]:
    """The rows of each step, in the order of processing."""
    found, start = [], 0
    for size in sizes:
        found.append((start, start + size, size))
        start += size
    return found[::-1] if reverse else found


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)) in the place of x; the caller silences the overflow of exp."""
    np.negative(x, out=x)
    np.exp(x, out=x)
    x += 1
    return np.reciprocal(x, out=x)


def forward(mode: str, gates: Array, h0: Array, c0: Array | None, weights: Weights,
            steps: list[Span]) -> tuple[Array, Array, Array | None, Array | None]:
    """(outputs, last h, last c, what backward needs), the input's part of the gates being known."""
    out = np.empty((gates.shape[0], h0.shape[1]), gates.dtype)
    h = h0.copy()
    if mode == "LSTM":
        return _lstm(gates, h, np.array(c0), weights, steps, out)
    if mode == "GRU":
        return _gru(gates, h, weights, steps, out)
    if weights[1] is not None:
        gates = gates + weights[1]
    w = np.ascontiguousarray(weights[0].T)
    for i, j, n in steps:
        x = h[:n] @ w
        x += gates[i:j]
        h[:n] = out[i:j] = np.tanh(x, out=x) if mode == "RNN_TANH" else np.maximum(x, 0, out=x)
    return out, h, None, None


def _lstm(gates: Array, h: Array, c: Array, weights: Weights, steps: list[Span], out: Array
          ) -> tuple[Array, Array, Array, Array]:
    """Keeps the four activated gates and the cell of each row: (rows, 5, H)."""
    _, b, projection = weights
    if b is not None:
        gates = gates + b
    w = np.ascontiguousarray(weights[0].T)
    size = c.shape[1]
    kept = np.empty((gates.shape[0], 5, size), gates.dtype)
    for i, j, n in steps:
        x = h[:n] @ w
        x += gates[i:j]
        x = x.reshape(n, 4, size)
        g = np.tanh(x[:, 2])
        sigmoid(x)
        x[:, 2] = g
        kept[i:j, :4] = x
        cell = c[:n]
        cell *= x[:, 1]
        cell += np.multiply(x[:, 0], g, out=g)
        kept[i:j, 4] = cell
        y = np.tanh(cell, out=g)
        y *= x[:, 3]
        h[:n] = out[i:j] = y if projection is None else y @ projection.T
    return out, h, c, kept


def _gru(gates: Array, h: Array, weights: Weights, steps: list[Span], out: Array
         ) -> tuple[Array, Array, None, Array]:
    """Keeps r, z, n and the state's part of n of each row: (rows, 4, H)."""
    b, w = weights[1], np.ascontiguousarray(weights[0].T)
    size = h.shape[1]
    kept = np.empty((gates.shape[0], 4, size), gates.dtype)
    for i, j, n in steps:
        held = h[:n]
        from_state = held @ w
        if b is not None:
            from_state += b
        x, y = gates[i:j].reshape(n, 3, size), from_state.reshape(n, 3, size)
        rz = sigmoid(x[:, :2] + y[:, :2])
        new = rz[:, 0] * y[:, 2]
        new += x[:, 2]
        np.tanh(new, out=new)
        kept[i:j, :2], kept[i:j, 2], kept[i:j, 3] = rz, new, y[:, 2]
        h[:n] = out[i:j] = (held - new) * rz[:, 1] + new
    return out, h, None, kept


# --- backwards ------------------------------------------------------------------------------------


def before(values: Array, first: Array, steps: list[Span]) -> Array:
    """The state that each row's step began with, `values` being those it ended with."""
    found = np.empty_like(values)
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
    to_out, to_h, to_c = grads
    dh = np.zeros_like(h0) if to_h is None else to_h.copy()
    if to_out is None:
        to_out = np.zeros_like(out)
    if mode == "LSTM":
        dc = np.zeros_like(c0) if to_c is None else to_c.copy()
        return _lstm_back(to_out, dh, dc, out, kept, h0, c0, weights, steps)
    h = before(out, h0, steps)
    w, b, _ = weights
    if mode == "GRU":
        dx, dy = _gru_back(to_out, dh, h, kept, w, steps)
    else:
        dx = dy = np.empty_like(out)
        slope = 1 - out * out if mode == "RNN_TANH" else (out > 0).astype(out.dtype)
        for i, j, n in reversed(steps):
            d = to_out[i:j] + dh[:n]
            d *= slope[i:j]
            dx[i:j] = d
            dh[:n] = d @ w
    return dx, dh, None, dy.T @ h, None if b is None else dy.sum(0), None


def _lstm_back(to_out: Array, dh: Array, dc: Array, out: Array, kept: Any, h0: Array, c0: Any,
               weights: Weights, steps: list[Span]) -> tuple[Array | None, ...]:
    w, b, projection = weights
    size = c0.shape[1]
    cells = np.ascontiguousarray(kept[:, 4])
    earlier = before(cells, c0, steps)
    y = np.tanh(cells)                                  # tanh(c') first, o * tanh(c') in the end
    gate = kept[:, :4]
    slopes = gate * (1 - gate)
    slopes[:, 2] = 1 - gate[:, 2] * gate[:, 2]
    bend = gate[:, 3] * (1 - y * y)
    dx = np.empty((len(out), 4, size), out.dtype)
    to_h = np.empty_like(out)
    for i, j, n in reversed(steps):
        d = np.add(to_out[i:j], dh[:n], out=to_h[i:j])
        if projection is not None:
            d = d @ projection
        cell = dc[:n] + d * bend[i:j]
        row = dx[i:j]
        np.multiply(cell, gate[i:j, 2], out=row[:, 0])
        np.multiply(cell, earlier[i:j], out=row[:, 1])
        np.multiply(cell, gate[i:j, 0], out=row[:, 2])
        np.multiply(d, y[i:j], out=row[:, 3])
        row *= slopes[i:j]
        np.multiply(cell, gate[i:j, 1], out=dc[:n])
        dh[:n] = row.reshape(n, 4 * size) @ w
    flat = dx.reshape(len(out), 4 * size)
    y *= gate[:, 3]
    return (flat, dh, dc, flat.T @ before(out, h0, steps), None if b is None else flat.sum(0),
            None if projection is None else to_h.T @ y)


def _gru_back(to_out: Array, dh: Array, h: Array, kept: Any, w: Array, steps: list[Span]
              ) -> tuple[Array, Array]:
    """Gradients of the input's and of the state's part of the gates."""
    size = h.shape[1]
    r, z, new, from_state = (np.ascontiguousarray(kept[:, k]) for k in range(4))
    dx = np.empty((len(h), 3, size), h.dtype)
    dy = np.empty_like(dx)
    to_z, to_new, to_r = (h - new) * z * (1 - z), (1 - z) * (1 - new * new), r * (1 - r) * from_state
    for i, j, n in reversed(steps):
        d = to_out[i:j] + dh[:n]
        x, y = dx[i:j], dy[i:j]
        np.multiply(d, to_new[i:j], out=x[:, 2])
        np.multiply(d, to_z[i:j], out=x[:, 1])
        np.multiply(x[:, 2], to_r[i:j], out=x[:, 0])
        y[:, :2] = x[:, :2]
        np.multiply(x[:, 2], r[i:j], out=y[:, 2])
        d *= z[i:j]
        d += y.reshape(n, 3 * size) @ w
        dh[:n] = d
    return dx.reshape(len(h), 3 * size), dy.reshape(len(h), 3 * size)
