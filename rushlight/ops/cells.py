"""A step of LSTM, GRU and RNN as arithmetic, forwards and backwards: of tensors, or of expressions."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Values = Sequence[Any]


class Cell(NamedTuple):
    """step(m, x, s, h, c): (h', c', what the gradient needs); x and s are the input's and the state's gates.

    back(m, d, dc, h, c, y, kept): (into x, into s where that is another, straight into h, into c) for the
    gradients d of y = h' and dc of c'. `m` has sigmoid, tanh, relu and where.
    """

    gates: int
    kept: int
    step: Callable[..., tuple[Any, Any, Values]]
    back: Callable[..., tuple[Values, Values | None, Any, Any]]


def _lstm(m: Any, x: Values, s: Values, h: Any, c: Any) -> tuple[Any, Any, Values]:
    """c' = f c + i g; h' = o tanh(c')."""
    i, f, g, o = [a + b for a, b in zip(x, s, strict=True)]
    i, f, g, o = m.sigmoid(i), m.sigmoid(f), m.tanh(g), m.sigmoid(o)
    cell = f * c + i * g
    return o * m.tanh(cell), cell, (i, f, g, o, cell)


def _lstm_back(m: Any, d: Any, dc: Any, h: Any, c: Any, y: Any, kept: Values) -> tuple[Any, ...]:
    i, f, g, o, cell = kept
    t = m.tanh(cell)
    dc = dc + d * o * (1 - t * t)
    into = dc * g * (i * (1 - i)), dc * c * (f * (1 - f)), dc * i * (1 - g * g), d * t * (o * (1 - o))
    return into, None, None, dc * f


def _gru(m: Any, x: Values, s: Values, h: Any, c: Any) -> tuple[Any, Any, Values]:
    """n = tanh(x_n + r s_n); h' = (1 - z) n + z h."""
    r, z = m.sigmoid(x[0] + s[0]), m.sigmoid(x[1] + s[1])
    n = m.tanh(x[2] + r * s[2])
    return (h - n) * z + n, None, (r, z, n, s[2])


def _gru_back(m: Any, d: Any, dc: Any, h: Any, c: Any, y: Any, kept: Values) -> tuple[Any, ...]:
    r, z, n, s = kept
    new = d * (1 - z) * (1 - n * n)
    reset, update = new * s * (r * (1 - r)), d * (h - n) * (z * (1 - z))
    return (reset, update, new), (reset, update, new * r), d * z, None


def _tanh(m: Any, x: Values, s: Values, h: Any, c: Any) -> tuple[Any, Any, Values]:
    return m.tanh(x[0] + s[0]), None, ()


def _tanh_back(m: Any, d: Any, dc: Any, h: Any, c: Any, y: Any, kept: Values) -> tuple[Any, ...]:
    return (d * (1 - y * y),), None, None, None


def _relu(m: Any, x: Values, s: Values, h: Any, c: Any) -> tuple[Any, Any, Values]:
    return m.relu(x[0] + s[0]), None, ()


def _relu_back(m: Any, d: Any, dc: Any, h: Any, c: Any, y: Any, kept: Values) -> tuple[Any, ...]:
    return (m.where(y > 0, d, 0.0),), None, None, None


CELLS = {"LSTM": Cell(4, 5, _lstm, _lstm_back), "GRU": Cell(3, 4, _gru, _gru_back),
         "RNN_TANH": Cell(1, 0, _tanh, _tanh_back), "RNN_RELU": Cell(1, 0, _relu, _relu_back)}
