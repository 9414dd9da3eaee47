"""Recurrent layers: RNN, LSTM, GRU; and their cells, for one step."""

from __future__ import annotations

import math
import numbers
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight.nn import init
from rushlight.nn.modules.module import Module
from rushlight.nn.modules.utils import changed, register_empty
from rushlight.nn.utils.rnn import PackedSequence, traced

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def draw_weights(module: Any) -> None:
    """All weights from U(-k, k), k = 1 / sqrt(hidden_size)."""
    bound = 1.0 / math.sqrt(module.hidden_size) if module.hidden_size > 0 else 0
    for weight in module.parameters():
        init.uniform_(weight, -bound, bound)


class RNNBase(Module):
    """Weights, checks and forward of all three; `mode` is LSTM, GRU, RNN_TANH or RNN_RELU."""

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout = float(dropout) if _is_probability(dropout) else dropout
        self.bidirectional, self.proj_size = bidirectional, proj_size
        _check_sizes(self)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self._all_weights = [
            self._make_weights(layer, direction, device, dtype)
            for layer in range(num_layers)
            for direction in range(self._directions())
        ]
        self.reset_parameters()

    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _make_weights(self, layer: int, direction: int, device: Any, dtype: Any) -> list[str]:
        """Register the weights of one direction of a layer; returns their names."""
        suffix = f"_l{layer}{'_reverse' if direction else ''}"
        out = self.proj_size or self.hidden_size
        rows = _GATES[self.mode] * self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, out * self._directions() if layer else self.input_size),
            "weight_hh": (rows, out),
        }
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        shapes = {name + suffix: shape for name, shape in shapes.items()}
        register_empty(self, device, dtype, **shapes)
        return list(shapes)

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        given: list[Any] | None = self.__dict__.get("_flat_weights")
        return [getattr(self, name) for name in self._flat_weights_names] if given is None else given

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Any]) -> None:
        # These are used until one of the layer's own is set, by programs that call it with other weights.
        self.__dict__["_flat_weights"] = weights

    def _init_flat_weights(self) -> None:
        """Use the layer's own weights, whatever others were set."""
        self.__dict__.pop("_flat_weights", None)
        self.flatten_parameters()

    def _weights_have_changed(self) -> bool:
        """False: the layer's own weights are looked up at every call."""
        return False

    def _update_flat_weights(self) -> None:
        """Use the layer's own weights again, if they have changed."""
        if self._weights_have_changed():
            self._init_flat_weights()

    def __setattr__(self, name: str, value: Any) -> None:
        if "_flat_weights" in self.__dict__ and name in self._flat_weights_names:
            del self.__dict__["_flat_weights"]
        super().__setattr__(name, value)

    @property
    def all_weights(self) -> list[list[Any]]:
        """The weights of each direction of each layer."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def __getstate__(self) -> dict[str, Any]:
        # PyTorch's reader wants the lists that are properties here.
        return {
            **super().__getstate__(),
            "_flat_weights": self._flat_weights,
            "_flat_weights_names": self._flat_weights_names,
            "_flat_weight_refs": [],
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for name in ("_flat_weights", "_flat_weights_names", "_flat_weight_refs"):
            self.__dict__.pop(name, None)

    def flatten_parameters(self) -> None:
        """Nothing to do: there is no cuDNN that wants one buffer."""

    def reset_parameters(self) -> None:
        """Draw all weights and biases anew from U(-k, k), k = 1 / sqrt(hidden_size)."""
        draw_weights(self)

    def extra_repr(self) -> str:
        """What repr() shows: input_size, hidden_size, and proj_size, num_layers, bias, batch_first, dropout,
        bidirectional where not the default.
        """
        return f"{self.input_size}, {self.hidden_size}" + changed(
            self, proj_size=0, num_layers=1, bias=True, batch_first=False, dropout=0, bidirectional=False
        )

    # --- checks -----------------------------------------------------------------------------------

    def check_input(self, input: Any, batch_sizes: Any) -> None:
        """RuntimeError where the input's dims or last size are wrong, ValueError for its dtype."""
        wanted = self._flat_weights[0].dtype
        if input.dtype != wanted and not torch.is_autocast_enabled(input.device.type):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({wanted}). "
                f"Convert input: input.to({wanted}), or convert model: model.to({input.dtype})"
            )
        dims = 2 if batch_sizes is not None else 3
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """The shape of h for an input; batch_sizes is a packed sequence's, else None."""
        return _state_size(self, input, batch_sizes, self.proj_size or self.hidden_size)

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        """RuntimeError or ValueError where the input or the state is not of the layer's sizes."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """The state with its samples in another order, or as it is for None."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def check_hidden_size(
        self, hx: Any, expected_hidden_size: Any, msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """RuntimeError where a state has the wrong shape."""
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    # --- forward ----------------------------------------------------------------------------------

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """(outputs, last state) of a sequence; see the class."""
        if isinstance(input, PackedSequence):
            return _forward_packed(self, input, hx)
        if input.dim() not in (2, 3):
            name = self.mode.partition("_")[0]
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(batch_dim)
        hx = _zero_state(self, input, None) if hx is None else _given_state(self.mode, hx, batched)
        self.check_forward_args(input, hx, None)
        output, *after = _run(self, (input,), hx, self.batch_first)
        if not batched:
            output, after = output.squeeze(batch_dim), [s.squeeze(1) for s in after]
        return output, tuple(after) if self.mode == "LSTM" else after[0]


# What a layer does is written as functions of it: `forward` may be called with a layer's like that has only
# PyTorch's attributes.


def _state_size(rnn: Any, input: Any, batch_sizes: Any, size: int) -> tuple[int, int, int]:
    """The shape of a tensor of the state whose last dim is `size`."""
    batch = int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if rnn.batch_first else 1)
    return (rnn.num_layers * (2 if rnn.bidirectional else 1), batch, size)


def _zero_state(rnn: Any, input: Any, batch_sizes: Any) -> Any:
    """The state that a sequence begins with where none is given."""

    def zeros(layers: int, batch: Any, size: int) -> Any:
        if batch_sizes is not None and traced():  # the program's batches may have other sizes
            batch = batch_sizes[0]
        return torch.zeros(layers, batch, size, dtype=input.dtype, device=input.device)

    hidden = zeros(*rnn.get_expected_hidden_size(input, batch_sizes))
    if rnn.mode != "LSTM":
        return hidden
    return hidden, zeros(*rnn.get_expected_cell_size(input, batch_sizes))


def _given_state(mode: str, hx: Any, batched: bool) -> Any:
    """The state that was given, with a batch dim; RuntimeError where it has other dims than the input."""
    dims = 3 if batched else 2
    state: tuple[Any, ...] = hx if mode == "LSTM" else (hx,)
    which = "batched" if batched else "unbatched"
    if any(s.dim() != dims for s in state):
        if mode == "LSTM":
            raise RuntimeError(
                f"For {which} {dims}-D input, hx and cx should also be {dims}-D "
                f"but got ({state[0].dim()}-D, {state[1].dim()}-D) tensors"
            )
        raise RuntimeError(
            f"For {which} {dims}-D input, hx should also be {dims}-D but got {state[0].dim()}-D tensor"
        )
    if not batched:
        state = tuple(s.unsqueeze(1) for s in state)
    return tuple(state) if mode == "LSTM" else state[0]


def _run(rnn: Any, operands: tuple[Any, ...], state: Any, *options: bool) -> Any:
    """The whole of it: the output, and the tensors of the last state."""
    return getattr(torch, rnn.mode.lower())(
        *operands,
        state,
        rnn._flat_weights,
        rnn.bias,
        rnn.num_layers,
        rnn.dropout,
        rnn.training,
        rnn.bidirectional,
        *options,
    )


def _forward_packed(rnn: Any, packed: PackedSequence, hx: Any) -> tuple[Any, Any]:
    """forward of a packed sequence: its output is packed, too."""
    data, batch_sizes, order, back = packed
    hx = _zero_state(rnn, data, batch_sizes) if hx is None else rnn.permute_hidden(hx, order)
    rnn.check_forward_args(data, hx, batch_sizes)
    output, *after = _run(rnn, (data, batch_sizes), hx)
    last = tuple(after) if rnn.mode == "LSTM" else after[0]
    return PackedSequence(output, batch_sizes, order, back), rnn.permute_hidden(last, back)


def _is_probability(p: Any) -> bool:
    return isinstance(p, numbers.Real) and not isinstance(p, bool) and 0 <= float(p) <= 1


def _check_sizes(rnn: RNNBase) -> None:
    if not _is_probability(rnn.dropout):
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of "
            "an element being zeroed"
        )
    if rnn.dropout > 0 and rnn.num_layers == 1:
        warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
            f"num_layers greater than 1, but got dropout={rnn.dropout} and num_layers={rnn.num_layers}"
        )
    for name, of in (("bias", bool), ("batch_first", bool), ("input_size", int), ("hidden_size", int)):
        if not isinstance(value := getattr(rnn, name), of):
            raise TypeError(f"{name} should be of type {of.__name__}, got: {type(value).__name__}")
    for name in ("input_size", "hidden_size", "num_layers"):
        if getattr(rnn, name) <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if rnn.proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if rnn.proj_size >= rnn.hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


def _refuse_projection(kwargs: dict[str, Any]) -> None:
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """h' = tanh(W x + b + V h + c), or relu with nonlinearity="relu".

    input: (T, B, in), (B, T, in) with `batch_first`, (T, in), or a PackedSequence. hx: (layers *
    directions, B, hidden), zeros by default. Returns (outputs (T, B, directions * hidden), last
    hx). weight_ih_l0: (hidden, in), ...; all weights from U(-k, k), k = 1 / sqrt(hidden).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_" + self.nonlinearity.upper(), *args, **kwargs)


class LSTM(RNNBase):
    """c' = f c + i g and h' = o tanh(c'), with gates i, f, g, o (in this order in the weights).

    As RNN; the state is a pair (h, c). `proj_size`: h is projected to that size by weight_hr_l0.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """The shape of c for an input; batch_sizes is a packed sequence's, else None."""
        return _state_size(self, input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        """RuntimeError or ValueError where the input or (h, c) is not of the layer's sizes."""
        self.check_input(input, batch_sizes)
        wanted = (
            self.get_expected_hidden_size(input, batch_sizes),
            self.get_expected_cell_size(input, batch_sizes),
        )
        for i, size in enumerate(wanted):
            self.check_hidden_size(hidden[i], size, f"Expected hidden[{i}] size {{}}, got {{}}")

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """(h, c) with their samples in another order, or as they are for None."""
        return hx if permutation is None else tuple(s.index_select(1, permutation) for s in hx)


class GRU(RNNBase):
    """n = tanh(W x + b + r (V h + c)) and h' = (1 - z) n + z h, with gates r, z, n. As RNN."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)


# --- one step -------------------------------------------------------------------------------------


class RNNCellBase(Module):
    """weight_ih (chunks * hidden, in), weight_hh (chunks * hidden, hidden), bias_ih, bias_hh."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        register_empty(
            self,
            device,
            dtype,
            weight_ih=(rows, input_size),
            weight_hh=(rows, hidden_size),
            bias_ih=rows if bias else None,
            bias_hh=rows if bias else None,
        )
        self.reset_parameters()

    def extra_repr(self) -> str:
        """What repr() shows: input_size, hidden_size, and bias, nonlinearity where not the default."""
        own = {"nonlinearity": "tanh"} if "nonlinearity" in self.__dict__ else {}
        return f"{self.input_size}, {self.hidden_size}" + changed(self, bias=True, **own)

    def reset_parameters(self) -> None:
        """Draw all weights and biases anew from U(-k, k), k = 1 / sqrt(hidden_size)."""
        draw_weights(self)


def _step(cell: Any, function: Any, input: Any, state: Any, count: int) -> Any:
    """The cell's function on a batch, which one sample becomes for the call."""
    name = cell._get_name()
    if input.dim() not in (1, 2):
        raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
    for i, s in enumerate(state or ()):
        if s.dim() not in (1, 2):
            what = f"hx[{i}]" if count == 2 else "hidden"
            raise ValueError(f"{name}: Expected {what} to be 1D or 2D, got {s.dim()}D instead")
    batched = input.dim() == 2
    if not batched:
        input = input.unsqueeze(0)
    if state is None:
        state = (
            torch.zeros(input.size(0), cell.hidden_size, dtype=input.dtype, device=input.device),
        ) * count
    elif not batched:
        state = tuple(s.unsqueeze(0) for s in state)
    _check(cell, input, state)
    after = function(
        input,
        state[0] if count == 1 else state,
        cell.weight_ih,
        cell.weight_hh,
        cell.bias_ih,
        cell.bias_hh,
    )
    if batched:
        return after
    return after.squeeze(0) if count == 1 else tuple(s.squeeze(0) for s in after)


def _check(cell: Any, input: Any, state: Any) -> None:
    if input.size(1) != cell.input_size:
        raise RuntimeError(
            f"input has inconsistent input_size: got {input.size(1)} expected {cell.input_size}"
        )
    for i, s in enumerate(state):
        if s.size(1) != cell.hidden_size:
            raise RuntimeError(
                f"hidden{i} has inconsistent hidden_size: got {s.size(1)}, expected {cell.hidden_size}"
            )
        if s.size(0) != input.size(0):
            raise RuntimeError(
                f"Input batch size {input.size(0)} doesn't match hidden{i} batch size {s.size(0)}"
            )


class RNNCell(RNNCellBase):
    """(B, in), (B, hidden) -> (B, hidden): tanh(W x + b + V h + c), or relu."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> Any:
        """(B, in) or (in,), and the hidden state (B, hidden) or (hidden,), zeros without one -> the next
        state.
        """
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        function = torch.rnn_tanh_cell if self.nonlinearity == "tanh" else torch.rnn_relu_cell
        return _step(self, function, input, None if hx is None else (hx,), 1)


class LSTMCell(RNNCellBase):
    """(B, in), ((B, hidden), (B, hidden)) -> (h', c'), each (B, hidden). See LSTM."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """(B, in) or (in,), and the pair (h, c) of (B, hidden), zeros without one -> the next pair."""
        return _step(self, torch.lstm_cell, input, hx, 2)  # two states


class GRUCell(RNNCellBase):
    """(B, in), (B, hidden) -> (B, hidden). See GRU."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """(B, in) or (in,), and the hidden state (B, hidden) or (hidden,), zeros without one -> the next
        state.
        """
        return _step(self, torch.gru_cell, input, None if hx is None else (hx,), 1)
