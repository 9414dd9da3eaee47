"""RNN, LSTM and GRU: one direction in one kernel each way, stacks of layers, single cells.

The input's part of the gates is one product for all steps; `_recurrence` does the rest. Its rows
are packed step by step (see recurrence_kernels.py). The bodies here, written with rows, are what the
kernels mean, and run for gradients of gradients. Floats of two bytes are computed in float32 and rounded when
a direction is through.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.ops.creation.copying import converted
from rushlight._engine.ops.linalg.addmm import linear
from rushlight._engine.ops.linalg.matmul import is_low_precision
from rushlight._engine.ops.nn import recurrence_kernels as kernels
from rushlight._engine.ops.nn.dropout import dropout
from rushlight._engine.ops.nn.recurrence_kernels import CELLS
from rushlight._engine.ops.pointwise.arithmetic import where
from rushlight._engine.ops.shapes.joining import cat, stack
from rushlight._engine.ops.table import ROWS, Array, composite

_FUSED = (np.float32, np.float64)


# --- one step -------------------------------------------------------------------------------------


class _Rows:
    """What cells are made of, for tensors."""

    sigmoid, tanh, relu, where = ROWS["sigmoid"], ROWS["tanh"], ROWS["relu"], where


def _step(mode: str, gate: Any, h: Any, c: Any, w: Any, b: Any, projection: Any) -> tuple[Any, ...]:
    """(h', perhaps projected, c', h' as it was, what the gradient needs)."""
    cell = CELLS[mode]
    y, new, kept = cell.step(_Rows, gate.chunk(cell.gates, -1), linear(h, w, b).chunk(cell.gates, -1), h, c)
    return (y if projection is None else linear(y, projection)), new, y, kept


def _joined(new: Any, held: Any) -> Any:
    """The state of the whole batch, of which the first rows are new."""
    return new if len(new) == len(held) else cat([new, held[len(new) :]])


# --- one direction --------------------------------------------------------------------------------


@composite(name="_recurrence", where=("aten",), node="recurrence", unread=(1, 2))
def _recurrence(
    gates,
    h0,
    c0: Tensor | None,
    w,
    b: Tensor | None,
    projection: Tensor | None,
    mode: str,
    sizes: Ints,
    reverse: bool,
):
    """(outputs, last h, last c, what backward needs) over the input's part of the gates."""
    outputs, h, c, _ = _run(gates, h0, c0, (w, b, projection), mode, sizes, reverse)
    return outputs, h, c, None


def _run(gates: Any, h: Any, c: Any, weights: Any, mode: str, sizes: Any, reverse: bool) -> tuple[Any, ...]:
    outputs, trace = [], []
    for i, j, n in kernels.spans(sizes, reverse):
        before = h[:n], None if c is None else c[:n]
        new, cell, y, kept = _step(mode, gates[i:j], *before, *weights)
        outputs.append(new)
        trace.append((i, j, n, *before, y, kept))
        h = _joined(new, h)
        c = None if c is None else _joined(cell, c)
    return cat(outputs[::-1] if reverse else outputs), h, c, trace


@_recurrence.kernel
def _recurrence_kernel(
    gates: Array, h0: Array, c0: Any, w: Array, b: Any, projection: Any, mode: str, sizes: Any, reverse: bool
) -> Any:
    given = gates, h0, c0, w, b, projection
    if any(a is not None and a.dtype != gates.dtype for a in given):
        return NotImplemented
    if gates.dtype in _FUSED:
        return kernels.Forward(mode, gates, h0, c0, (w, b, projection), kernels.spans(sizes, reverse)).run()
    if not is_low_precision(gates):
        return NotImplemented
    of, steps = gates.dtype, kernels.spans(sizes, reverse)
    x, h, c, *weights = map(_wide, given)
    made: Any = kernels.Forward(mode, x, h, c, tuple(weights), steps, narrow=w)  # type: ignore[arg-type]
    *results, kept = made.run()
    return *[_as(of, a) for a in results], kept  # what backward needs stays as it is


def _wide(a: Array | None) -> Array | None:
    """An operand in the dtype that steps are computed in: floats of two bytes in float32."""
    return a if a is None or a.dtype in _FUSED else converted(a, np.empty(a.shape, np.float32))


def _as(of: Any, a: Array | None) -> Array | None:
    """A result in the dtype of the operands."""
    return a if a is None or a.dtype == of else converted(a, np.empty(a.shape, of))


@_recurrence.gradient
def _recurrence_gradient(s: Any, to_out: Any, to_h: Any, to_c: Any, to_kept: Any) -> Any:
    out, _, _, kept = s.result
    return _recurrence_backward(
        to_out, to_h, to_c, out, kept, s.gates, s.h0, s.c0, s.w, s.b, s.projection, s.mode, s.sizes, s.reverse
    )


@composite(name="_recurrence_backward", where=("aten",))
def _recurrence_backward(
    to_out: Tensor | None,
    to_h: Tensor | None,
    to_c: Tensor | None,
    states,
    kept: Tensor | None,
    gates,
    h0,
    c0: Tensor | None,
    w,
    b: Tensor | None,
    projection: Tensor | None,
    mode: str,
    sizes: Ints,
    reverse: bool,
):
    """Gradients of (gates, h0, c0, w, b, projection).

    The states are computed once more: as results of ops they carry gradients of their own. (No operand is
    called "out", which would be where results go.)
    """
    *_, trace = _run(gates, h0, c0, (w, b, projection), mode, sizes, reverse)
    dh = h0.new_zeros(h0.shape) if to_h is None else to_h
    dc = None if c0 is None else c0.new_zeros(c0.shape) if to_c is None else to_c
    into_gates, into_w, into_b, into_projection = [], 0, 0, 0
    for i, j, n, h, c, ends, kept_here in reversed(trace):
        d = dh[:n] if to_out is None else dh[:n] + to_out[i:j]
        if projection is not None:
            into_projection = into_projection + d.t() @ ends
            d = d @ projection
        to_c = None if dc is None else dc[:n]
        to_x, to_s, direct, cell = CELLS[mode].back(_Rows, d, to_c, h, c, ends, kept_here)
        x = cat(to_x, -1)
        y = x if to_s is None else cat(to_s, -1)
        into_gates.append(x)
        into_w, into_b = into_w + y.t() @ h, into_b + y.sum(0)
        dh = _joined(y @ w if direct is None else y @ w + direct, dh)
        dc = None if dc is None else _joined(cell, dc)
    return (
        cat(into_gates if reverse else into_gates[::-1]),
        dh,
        dc,
        into_w,
        None if b is None else into_b,
        None if projection is None else into_projection,
    )


@_recurrence_backward.kernel
def _recurrence_backward_kernel(
    to_out: Any,
    to_h: Any,
    to_c: Any,
    states: Array,
    kept: Any,
    gates: Array,
    h0: Array,
    c0: Any,
    w: Array,
    b: Any,
    projection: Any,
    mode: str,
    sizes: Any,
    reverse: bool,
) -> Any:
    if kept is None and mode in ("LSTM", "GRU"):
        return NotImplemented
    if states.dtype in _FUSED:
        return kernels.Backward(
            mode,
            (to_out, to_h, to_c),
            states,
            kept,
            h0,
            c0,
            (w, b, projection),
            kernels.spans(sizes, reverse),
        ).run()
    if not is_low_precision(states):
        return NotImplemented
    grads = tuple(map(_wide, (to_out, to_h, to_c)))
    ended, h, c, wide, bias, onto = map(_wide, (states, h0, c0, w, b, projection))
    steps = kernels.spans(sizes, reverse)
    made: Any = kernels.Backward(mode, grads, ended, kept, h, c, (wide, bias, onto), steps, narrow=w)  # type: ignore[arg-type]
    return tuple([_as(states.dtype, a) for a in made.run()])


# --- stacks of layers -----------------------------------------------------------------------------


def _layers(
    mode: str,
    data: Any,
    sizes: tuple[int, ...],
    state: tuple[Any, ...],
    params: Any,
    has_biases: bool,
    num_layers: int,
    drop: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Any, tuple[Any, ...]]:
    """(outputs of the last layer, last states) over packed rows; each state is (layers * directions, B,
    hidden).
    """
    directions = 2 if bidirectional else 1
    each = len(params) // (num_layers * directions)
    last: list[tuple[Any, ...]] = []
    for layer in range(num_layers):
        outputs = []
        for d in range(directions):
            k = layer * directions + d
            w_ih, w_hh, *rest = params[k * each : (k + 1) * each]
            b_ih, b_hh = rest[:2] if has_biases else (None, None)
            projection = rest[-1] if len(rest) > (2 if has_biases else 0) else None
            h, c = state[0][k], state[1][k] if len(state) > 1 else None
            out, h, c, _ = _recurrence(
                linear(data, w_ih, b_ih), h, c, w_hh, b_hh, projection, mode, sizes, d == 1
            )
            outputs.append(out)
            last.append((h,) if c is None else (h, c))
        data = outputs[0] if directions == 1 else cat(outputs, -1)
        if drop and train and layer < num_layers - 1:
            data = dropout(data, drop, True)
    return data, tuple(stack(parts) for parts in zip(*last, strict=True))


def _whole(
    mode: str,
    input: Any,
    state: tuple[Any, ...],
    params: Any,
    has_biases: bool,
    num_layers: int,
    drop: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    """The same over (T, B, in), or (B, T, in)."""
    steps = input.transpose(0, 1) if batch_first else input
    length, batch = steps.shape[:2]
    if not length:
        raise RuntimeError(f"{mode}: Expected sequence length to be larger than 0 in RNN")
    flat, state = _layers(
        mode,
        steps.reshape(length * batch, steps.shape[2]),
        (batch,) * length,
        state,
        params,
        has_biases,
        num_layers,
        drop,
        train,
        bidirectional,
    )
    output = flat.reshape(length, batch, flat.shape[1])
    return (output.transpose(0, 1) if batch_first else output, *state)


def _packed(mode: str, data: Any, batch_sizes: Any, state: Any, *rest: Any) -> Any:
    flat, state = _layers(mode, data, tuple(batch_sizes.tolist()), state, *rest)
    return (flat, *state)


def _make_stack(name: str, mode: str, results: str, states: Any = lambda h: (h,)) -> Any:
    """The row torch.NAME; `states` makes a tuple of the initial state."""

    def body(
        input,
        hx: Any,
        params: Any,
        has_biases: Any,
        num_layers: Any,
        dropout: Any,
        train: Any,
        bidirectional: Any,
        batch_first: Any,
    ):
        if isinstance(has_biases, bool):
            return _whole(
                mode,
                input,
                states(hx),
                params,
                has_biases,
                num_layers,
                dropout,
                train,
                bidirectional,
                batch_first,
            )
        return _packed(
            mode,
            input,
            hx,
            states(params),
            has_biases,
            num_layers,
            dropout,
            train,
            bidirectional,
            batch_first,
        )

    doc = (
        f"{results} of a stack of {mode} layers. Over packed rows: (data, batch_sizes, hx, params, "
        "has_biases, num_layers, dropout, train, bidirectional)."
    )
    return composite(body, name=name, where=("torch",), doc=doc)


lstm = _make_stack("lstm", "LSTM", "(output, h, c)", tuple)
gru, rnn_tanh, rnn_relu = (
    _make_stack(name, name.upper(), "(output, h)") for name in ("gru", "rnn_tanh", "rnn_relu")
)


# --- cells ----------------------------------------------------------------------------------------


def _cell(mode: str, input: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    if input.shape[-1] != w_ih.shape[-1]:
        raise RuntimeError(
            f"input has inconsistent input_size: got {input.shape[-1]} expected {w_ih.shape[-1]}"
        )
    gates, hidden = {"LSTM": 4, "GRU": 3}.get(mode, 1), h.shape[-1]
    for name, w in (("weight_ih", w_ih), ("weight_hh", w_hh)):
        if w.shape[0] != gates * hidden:
            raise RuntimeError(
                f"{name} first dim must be {gates} * hidden_size = {gates * hidden}, but got {w.shape[0]}"
            )
    gates_of_input = linear(input, w_ih, b_ih)
    if input.ndim == h.ndim == 2 and len(input) == len(h):
        steps = (len(h),)
        _, h, c, _ = _recurrence(gates_of_input, h, c, w_hh, b_hh, None, mode, steps, False)
        return h, c
    return _step(mode, gates_of_input, h, c, w_hh, b_hh, None)


@composite(where=("torch",))
def lstm_cell(input, hx: list[Tensor], w_ih, w_hh, b_ih: Tensor | None = None, b_hh: Tensor | None = None):
    """(h', c') after one step: (B, in) and ((B, hidden), (B, hidden)). See nn.LSTMCell."""
    return _cell("LSTM", input, hx[0], hx[1], w_ih, w_hh, b_ih, b_hh)[:2]


def _make_cell(name: str, mode: str) -> Any:
    def body(input, hx, w_ih, w_hh, b_ih: Tensor | None = None, b_hh: Tensor | None = None):
        return _cell(mode, input, hx, None, w_ih, w_hh, b_ih, b_hh)[0]

    return composite(
        body, name=name, where=("torch",), doc=f"h' after one step of {mode}: (B, in) and (B, hidden)."
    )


gru_cell, rnn_tanh_cell, rnn_relu_cell = (
    _make_cell(f"{name}_cell", name.upper()) for name in ("gru", "rnn_tanh", "rnn_relu")
)
