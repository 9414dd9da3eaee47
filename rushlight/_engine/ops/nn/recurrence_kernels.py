"""One direction of an RNN, LSTM or GRU over packed rows, forwards and backwards, on arrays.

Rows are packed step by step: `sizes[t]` of them at step t, never more than at the step before. The
state is kept for the whole batch; a step reads and writes its first rows. So a sequence that has
ended keeps its last state, and one that has not begun (in reverse) its first, by themselves.

A step is a product by a matrix that is packed once, and one kernel for the rest of it: cells say that as
arithmetic of tensors, or of expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.core.services import service
from rushlight._engine.ops.creation.copying import converted
from rushlight._engine.ops.expressions import Expr, m, symbol
from rushlight._engine.ops.linalg import matmul
from rushlight._engine.ops.table import Array

Weights = tuple[Array, Array | None, Array | None]  # recurrent, its bias, projection
Span = tuple[int, int, int]  # first row, end, number of rows
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


CELLS = {
    "LSTM": Cell(4, 5, _lstm, _lstm_back),
    "GRU": Cell(3, 4, _gru, _gru_back),
    "RNN_TANH": Cell(
        1,
        0,
        lambda m, x, s, h, c: (m.tanh(x[0] + s[0]), None, ()),
        lambda m, d, dc, h, c, y, kept: ((d * (1 - y * y),), None, None, None),
    ),
    "RNN_RELU": Cell(
        1,
        0,
        lambda m, x, s, h, c: (m.relu(x[0] + s[0]), None, ()),
        lambda m, d, dc, h, c, y, kept: ((m.where(y > 0, d, 0.0),), None, None, None),
    ),
}


# --- one direction -------------------------------------------------------------------------------


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
    found: Callable[..., None] = service("fused pointwise kernel")(
        tuple(outputs), inputs, (dtype,) * len(outputs)
    )
    return found


@cache
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


@cache
def _back(mode: str, dtype: str) -> Any:
    """The kernel of (d, d of later steps, dc, h or c before, kept or y) to (into x, s, h and c)."""
    cell = CELLS[mode]
    kept, y = _symbols("k", cell.kept), symbol("y")
    into_x, into_s, into_h, into_c = cell.back(
        m, symbol("d") + symbol("later"), symbol("dc"), symbol("h"), symbol("c"), y, kept
    )
    names = ["d", "later", *(["dc"] if mode == "LSTM" else []), *_states(mode), *[e.arg for e in kept or [y]]]
    return _kernel([*into_x, *(into_s or ()), *[e for e in (into_h, into_c) if e is not None]], names, dtype)


def _packed(w: Array, parts: int, narrow: Array | None = None) -> Any:
    """The product by w as a function of (x, out), whose rows have parts; `again` takes what w holds now.

    narrow: w as it was stored, in two bytes, if it was: there may be an instruction for those.
    """
    found = None if narrow is None else service("packed matrix")(narrow, parts)
    return found or service("packed matrix")(w, parts) or _Plain(w)


class _Plain:
    """The product by NumPy."""

    def __init__(self, w: Array) -> None:
        self.weight = w

    def again(self) -> None:
        """Nothing was laid out."""

    def __call__(self, x: Array, out: Array) -> None:
        np.matmul(x, self.weight, out)


class Immediate:
    """Does what a loop of steps asks for; another of its kind may write it down, to be done natively."""

    @staticmethod
    def run(function: Callable[..., None], *operands: Any) -> None:
        """A kernel or a packed product."""
        function(*operands)

    @staticmethod
    def copy(to: Array, source: Array) -> None:
        """to[...] = source."""
        to[...] = source

    @staticmethod
    def add(to: Array, source: Array) -> None:
        """to += source."""
        to += source


def _parts(a: Array, count: int) -> list[Array]:
    """The columns of rows (n, count * size), part by part."""
    size = a.shape[1] // count
    return [a[:, k * size : (k + 1) * size] for k in range(count)]


class _Direction:
    mode: str
    steps: list[Span]
    packed: Any
    projection: Array | None
    start: Callable[[], None]
    loop: Callable[..., None]
    finish: Callable[[], tuple[Array | None, ...]]
    memory: Callable[[], list[Any]]

    def run(self) -> tuple[Array | None, ...]:
        """All of it."""
        self.start()
        if not self._repeated():
            self.loop()
        return self.finish()

    def _repeated(self) -> bool:
        """Do the loop as one that was seen before: whether it was."""
        panels = getattr(self.packed, "panels", None)
        if panels is None or self.projection is not None:
            return False
        operands = [panels, *[a for a in self.memory() if a is not None]]
        key = self.__class__, self.mode, self.packed.__class__, tuple(self.steps)
        found: bool = service("repeated loop")(key, self.loop, operands)
        return found


class Forward(_Direction):
    """The input's part of gates to (outputs, last h, last c, what backward needs: (rows, kept, size))."""

    def __init__(
        self,
        mode: str,
        gates: Array,
        h0: Array,
        c0: Array | None,
        weights: Weights,
        steps: list[Span],
        results: Sequence[Array] | None = None,
        narrow: Array | None = None,
    ) -> None:
        """narrow: the recurrent weight as it was stored, in two bytes; all else is of float32 then."""
        w, b, self.projection = weights
        self.mode, self.gates, self.first, self.steps = mode, gates, (h0, c0), steps
        self.count = CELLS[mode].gates
        size = w.shape[0] // self.count
        if results is None:
            results = [
                np.empty((gates.shape[0], h0.shape[1]), gates.dtype),
                np.empty_like(h0),
                *([] if c0 is None else [np.empty_like(c0)]),
                *(
                    [np.empty((gates.shape[0], CELLS[mode].kept, size), gates.dtype)]
                    if CELLS[mode].kept
                    else []
                ),
            ]
        self.out, self.h, *rest = results
        self.kept = rest.pop() if CELLS[mode].kept else None
        self.c = rest.pop() if rest else None
        self.bias: Any = [] if b is None else b.reshape(self.count, size)
        self.kernel, self.packed = (
            _step(mode, gates.dtype.name, b is not None),
            _packed(w.T, self.count, None if narrow is None else narrow.T),
        )
        self.s, self.y = np.empty((len(h0), w.shape[0]), w.dtype), np.empty((len(h0), size), w.dtype)

    def memory(self) -> list[Any]:
        """What the loop works on."""
        bias = [self.bias] if len(self.bias) else []
        return [self.gates, self.s, self.y, self.out, self.h, self.c, self.kept, *bias]

    def start(self) -> None:
        """The first states."""
        for held, first in zip((self.h, self.c), self.first, strict=True):
            if held is not None:
                held[...] = first

    def loop(self, do: Any = Immediate, low: int = 0, high: int | None = None) -> None:
        """All steps, of these sequences of the batch."""
        kept, projection = self.kept, self.projection
        h = own = self.h[low:high]
        c = None if self.c is None else self.c[low:high]
        sums, ends = self.s[low:high], self.y[low:high]
        steps = _of(self.steps, low, high)
        for (i, j, n), (_, _, following) in zip(steps, [*steps[1:], (0, 0, -1)], strict=False):
            y, s = self.out[i:j] if projection is None else ends[:n], sums[:n]
            cells = [] if c is None else [c[:n]]
            do.run(self.packed, h[:n], s)
            do.run(
                self.kernel,
                (
                    *_parts(self.gates[i:j], self.count),
                    *_parts(s, self.count),
                    *self.bias,
                    *([h[:n]] if self.mode == "GRU" else cells),
                ),
                (y, *cells, *([] if kept is None else kept[i:j].swapaxes(0, 1))),
            )
            if projection is not None:
                np.matmul(y, projection.T, self.out[i:j])
            # The next step may read the state where it is.
            if n == following:
                h = self.out[i:j]
            else:
                do.copy(own[:n], self.out[i:j])
                h = own

    def finish(self) -> tuple[Array | None, ...]:
        """The results."""
        return self.out, self.h, self.c, self.kept


def _of(steps: list[Span], low: int, high: int | None) -> list[Span]:
    """The rows of some sequences of the batch."""
    spans = [(i + low, min(j, j if high is None else i + high)) for i, j, _ in steps]
    return [(i, j, j - i) for i, j in spans if i < j]


def before(values: Array, first: Array, steps: list[Span]) -> Array:
    """The state that each row's step began with, `values` being those it ended with."""
    found = np.empty(values.shape, values.dtype)
    held = 0
    for k, (i, j, n) in enumerate(steps):
        if k:
            last = steps[k - 1][0]
            held = min(n, steps[k - 1][2])
            found[i : i + held] = values[last : last + held]
        found[i + held : j] = first[held:n]
    return found


class Backward(_Direction):
    """Gradients of (gates, h0, c0, recurrent weight, its bias, projection).

    `grads` are those of (outputs, last h, last c); None stands for zeros. to_gates: memory for the first.
    """

    def __init__(
        self,
        mode: str,
        grads: tuple[Array | None, ...],
        out: Array,
        kept: Array | None,
        h0: Array,
        c0: Array | None,
        weights: Weights,
        steps: list[Span],
        to_gates: Array | None = None,
        narrow: Array | None = None,
    ) -> None:
        """narrow: as Forward's."""
        self.mode, self.grads, self.out, self.kept = mode, grads, out, kept
        self.first, self.steps = (h0, c0), steps
        w, self.bias, self.projection = weights
        self.count, dtype = CELLS[mode].gates, w.dtype
        self.to_out = np.zeros_like(out) if grads[0] is None else grads[0]
        self.dh, self.dc = np.empty_like(h0), [] if c0 is None else [np.empty_like(c0)]
        self.h = np.empty_like(out)
        self.cells = [] if c0 is None else [np.empty((len(out), c0.shape[1]), dtype)]
        self.dx = np.empty((len(out), w.shape[0]), dtype) if to_gates is None else to_gates
        self.dy = np.empty_like(self.dx) if mode == "GRU" else self.dx
        size = len(h0), w.shape[0] // self.count
        self.straight = [np.empty(size, dtype)] if mode == "GRU" else []
        self.nothing, self.whole = np.zeros(size, dtype), np.empty_like(out)
        self.narrow = None if narrow is None else narrow.dtype
        self.kernel, self.packed = _back(mode, dtype.name), _packed(w, 1, narrow)

    def memory(self) -> list[Any]:
        """What the loop works on."""
        states = [self.to_out, self.out, self.kept, self.h, *self.cells]
        other = [] if self.dy is self.dx else [self.dy]
        return [*states, self.dx, *other, self.dh, *self.dc, *self.straight]

    def start(self) -> None:
        """The last gradients, and the states that steps began with."""
        for into, given in zip([self.dh, *self.dc], self.grads[1:], strict=False):
            into[...] = 0 if given is None else given
        self.h[...] = before(self.out, self.first[0], self.steps)
        for cells in self.cells:
            cells[...] = before(self.kept[:, 4], self.first[1], self.steps)  # type: ignore[index, arg-type]

    def loop(self, do: Any = Immediate, low: int = 0, high: int | None = None) -> None:
        """All steps, the last one first, of these sequences of the batch."""
        states = {"LSTM": self.cells, "GRU": [self.h]}.get(self.mode, [])
        dh, of_cells, also = (
            self.dh[low:high],
            *([a[low:high] for a in held] for held in (self.dc, self.straight)),
        )
        for i, j, n in reversed(_of(self.steps, low, high)):
            d, later, dc = self.to_out[i:j], dh[:n], [a[:n] for a in of_cells]
            if self.projection is not None:
                d, later = np.add(d, later, self.whole[i:j]) @ self.projection, self.nothing[:n]
            into_s = _parts(self.dy[i:j], self.count) if self.dy is not self.dx else []
            straight = [a[:n] for a in also]
            do.run(
                self.kernel,
                (
                    d,
                    later,
                    *dc,
                    *[a[i:j] for a in states],
                    *([self.out[i:j]] if self.kept is None else self.kept[i:j].swapaxes(0, 1)),
                ),
                (*_parts(self.dx[i:j], self.count), *into_s, *straight, *dc),
            )
            do.run(self.packed, self.dy[i:j], dh[:n])
            for a in straight:
                do.add(dh[:n], a)

    def _to_weight(self) -> tuple[Array, Array]:
        """The gradients of gates and of the recurrent weight, this by operands of its own dtype."""
        if self.narrow is None:
            return self.dx, matmul.product(self.dy.T, self.h)
        dy, h = (converted(a, np.empty(a.shape, self.narrow)) for a in (self.dy, self.h))
        return dy if self.dy is self.dx else self.dx, matmul.unrounded_product(dy.T, h)

    def finish(self) -> tuple[Array | None, ...]:
        """The results, that of the gates perhaps in the weight's own dtype already."""
        to_projection = None
        if self.projection is not None and self.kept is not None:
            to_projection = self.whole.T @ (self.kept[:, 3] * np.tanh(self.kept[:, 4]))
        to_gates, to_weight = self._to_weight()
        return (
            to_gates,
            self.dh,
            self.dc[0] if self.dc else None,
            to_weight,
            None if self.bias is None else self.dy.sum(0),
            to_projection,
        )
