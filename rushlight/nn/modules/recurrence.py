"""The recurrences of RNN, LSTM and GRU: one step, one direction, a stack of layers.

A step takes the input's part of the gates (computed for all steps in one product), the state and
the recurrent weights. A direction runs over steps whose batches shrink where sequences end
(`batch_sizes`; None: all steps have the whole batch).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight.nn import functional as F

# Weights of one direction: (w_ih, w_hh, b_ih, b_hh, w_hr), the last three may be None.
Weights = tuple[Any, Any, Any, Any, Any]
State = tuple[Any, ...]
Step = Callable[[Any, State, Weights], State]


def tanh_step(gate: Any, state: State, weights: Weights) -> State:
    """h' = tanh(x + W h)."""
    return (torch.tanh(gate + F.linear(state[0], weights[1], weights[3])),)


def relu_step(gate: Any, state: State, weights: Weights) -> State:
    """h' = relu(x + W h)."""
    return (torch.relu(gate + F.linear(state[0], weights[1], weights[3])),)


def lstm_step(gate: Any, state: State, weights: Weights) -> State:
    """c' = f c + i g; h' = o tanh(c'), projected where there is a w_hr."""
    _, w_hh, _, b_hh, w_hr = weights
    i, f, g, o = (gate + F.linear(state[0], w_hh, b_hh)).chunk(4, -1)
    c = torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)
    h = torch.sigmoid(o) * torch.tanh(c)
    return (h if w_hr is None else F.linear(h, w_hr)), c


def gru_step(gate: Any, state: State, weights: Weights) -> State:
    """n = tanh(x_n + r (W_n h)); h' = (1 - z) n + z h."""
    x_r, x_z, x_n = gate.chunk(3, -1)
    h_r, h_z, h_n = F.linear(state[0], weights[1], weights[3]).chunk(3, -1)
    r = torch.sigmoid(x_r + h_r)
    z = torch.sigmoid(x_z + h_z)
    n = torch.tanh(x_n + r * h_n)
    return ((state[0] - n) * z + n,)


STEPS: dict[str, Step] = {"RNN_TANH": tanh_step, "RNN_RELU": relu_step, "LSTM": lstm_step,
                          "GRU": gru_step}


def run(step: Step, gates: Any, state: State, weights: Weights, batch_sizes: list[int] | None,
        reverse: bool) -> tuple[Any, State]:
    """(outputs of all steps, last state) of one direction over the input's part of the gates."""
    if batch_sizes is not None:
        going = _run_shrinking if not reverse else _run_growing
        return going(step, gates.split(batch_sizes), state, weights)
    outputs = []
    for gate in (reversed(gates.unbind(0)) if reverse else gates.unbind(0)):
        state = step(gate, state, weights)
        outputs.append(state[0])
    return torch.stack(outputs[::-1] if reverse else outputs), state


def _run_shrinking(step: Step, gates: Any, state: State, weights: Weights) -> tuple[Any, State]:
    """Forwards: sequences leave the batch, at its end, when they are over."""
    outputs = []
    left: list[State] = []
    for gate in gates:
        size, held = gate.size(0), state[0].size(0)
        if size < held:
            left.append(tuple(s[size:] for s in state))
            state = tuple(s[:size] for s in state)
        state = step(gate, state, weights)
        outputs.append(state[0])
    # The last to leave are the first of the batch.
    last = [state, *reversed(left)]
    return torch.cat(outputs), tuple(torch.cat(parts) for parts in zip(*last))


def _run_growing(step: Step, gates: Any, first: State, weights: Weights) -> tuple[Any, State]:
    """Backwards: sequences join the batch, at its end, with their first state."""
    outputs = []
    state = tuple(s[:0] for s in first)
    for gate in reversed(gates):
        size, held = gate.size(0), state[0].size(0)
        if size > held:
            state = tuple(torch.cat((s, f[held:size])) for s, f in zip(state, first))
        state = step(gate, state, weights)
        outputs.append(state[0])
    return torch.cat(outputs[::-1]), state


def stack(mode: str, input: Any, state: State, weights: list[Weights], *, directions: int,
          batch_sizes: list[int] | None, dropout: float) -> tuple[Any, State]:
    """All layers: (T, B, in) or packed (sum, in) -> (outputs of the last, last states stacked).

    `state`: each (layers * directions, B, hidden). `dropout` acts between layers.
    """
    step = STEPS[mode]
    layers = len(weights) // directions
    last: list[State] = []
    for layer in range(layers):
        outputs = []
        for d in range(directions):
            k = layer * directions + d
            gates = F.linear(input, weights[k][0], weights[k][2])
            output, end = run(step, gates, tuple(s[k] for s in state), weights[k], batch_sizes,
                              reverse=d == 1)
            outputs.append(output)
            last.append(end)
        input = outputs[0] if directions == 1 else torch.cat(outputs, -1)
        if dropout and layer < layers - 1:
            input = F.dropout(input, dropout, True)
    return input, tuple(torch.stack(parts) for parts in zip(*last))
