"""One step of a recurrence as a module: RNNCell, LSTMCell, GRUCell."""
from __future__ import annotations

import math
from typing import Any

import rushlight as torch
from rushlight.nn import init
from rushlight.nn.modules.module import Module
from rushlight.nn.modules.utils import changed, register_empty


def draw_weights(module: Any) -> None:
    """All weights from U(-k, k), k = 1 / sqrt(hidden_size)."""
    bound = 1.0 / math.sqrt(module.hidden_size) if module.hidden_size > 0 else 0
    for weight in module.parameters():
        init.uniform_(weight, -bound, bound)


class RNNCellBase(Module):
    """weight_ih (chunks * hidden, in), weight_hh (chunks * hidden, hidden), bias_ih, bias_hh."""

    __module__ = "rushlight.nn.modules.rnn"  # as in PyTorch: pickles say so

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        register_empty(self, device, dtype, weight_ih=(rows, input_size), weight_hh=(rows, hidden_size),
                       bias_ih=rows if bias else None, bias_hh=rows if bias else None)
        self.reset_parameters()

    def extra_repr(self) -> str:
        own = {"nonlinearity": "tanh"} if "nonlinearity" in self.__dict__ else {}
        return f"{self.input_size}, {self.hidden_size}" + changed(self, bias=True, **own)

    def reset_parameters(self) -> None:
        draw_weights(self)

    def _step(self, function: Any, input: Any, state: Any, count: int) -> Any:
        """The cell's function on a batch, which one sample becomes for the call."""
        name = self._get_name()
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
            state = (torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype,
                                 device=input.device),) * count
        elif not batched:
            state = tuple(s.unsqueeze(0) for s in state)
        self._check(input, state)
        after = function(input, state[0] if count == 1 else state, self.weight_ih, self.weight_hh,
                         self.bias_ih, self.bias_hh)
        if batched:
            return after
        return after.squeeze(0) if count == 1 else tuple(s.squeeze(0) for s in after)

    def _check(self, input: Any, state: Any) -> None:
        if input.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected "
                               f"{self.input_size}")
        for i, s in enumerate(state):
            if s.size(1) != self.hidden_size:
                raise RuntimeError(f"hidden{i} has inconsistent hidden_size: got {s.size(1)}, "
                                   f"expected {self.hidden_size}")
            if s.size(0) != input.size(0):
                raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{i} batch "
                                   f"size {s.size(0)}")


class RNNCell(RNNCellBase):
    """(B, in), (B, hidden) -> (B, hidden): tanh(W x + b + V h + c), or relu."""

    __module__ = "rushlight.nn.modules.rnn"  # as in PyTorch: pickles say so

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True,
                 nonlinearity: str = "tanh", device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> Any:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        function = torch.rnn_tanh_cell if self.nonlinearity == "tanh" else torch.rnn_relu_cell
        return self._step(function, input, None if hx is None else (hx,), 1)


class LSTMCell(RNNCellBase):
    """(B, in), ((B, hidden), (B, hidden)) -> (h', c'), each (B, hidden). See LSTM."""

    __module__ = "rushlight.nn.modules.rnn"  # as in PyTorch: pickles say so

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        return self._step(torch.lstm_cell, input, hx, 2)


class GRUCell(RNNCellBase):
    """(B, in), (B, hidden) -> (B, hidden). See GRU."""

    __module__ = "rushlight.nn.modules.rnn"  # as in PyTorch: pickles say so

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        return self._step(torch.gru_cell, input, None if hx is None else (hx,), 1)
