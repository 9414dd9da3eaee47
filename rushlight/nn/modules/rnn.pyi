# Written by `python tools/stubs.py`.
"""Recurrent layers: RNN, LSTM, GRU; and their cells, for one step."""
from builtins import float as _float, int as _int
from rushlight import Tensor
from rushlight._engine.core.device import device as _device
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight.nn.modules.module import Module, _Forward, _P, _R
from rushlight.nn.parameter import Parameter
from rushlight.nn.utils.rnn import PackedSequence
from typing import Any

class GRU(RNNBase):
    """n = tanh(W x + b + r (V h + c)) and h' = (1 - z) n + z h, with gates r, z, n. As RNN."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
class GRUCell(RNNCellBase):
    """(B, in), (B, hidden) -> (B, hidden). See GRU."""

    def __init__(self, input_size: _int, hidden_size: _int, bias: bool = True, device: str | _int | _device | None = None, dtype: _dtype | None = None) -> None: ...
    def forward(self, input: Any, hx: Any = None) -> Tensor:
        """(B, in) or (in,), and the hidden state (B, hidden) or (hidden,), zeros without one -> the next
        state.
        """
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class LSTM(RNNBase):
    """c' = f c + i g and h' = o tanh(c'), with gates i, f, g, o (in this order in the weights).

    As RNN; the state is a pair (h, c). `proj_size`: h is projected to that size by weight_hr_l0.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def check_forward_args(self, input: Tensor, hidden: Tensor, batch_sizes: Any) -> None:
        """RuntimeError or ValueError where the input or (h, c) is not of the layer's sizes."""
    def get_expected_cell_size(self, input: Tensor, batch_sizes: Any) -> tuple[_int, _int, _int]:
        """The shape of c for an input; batch_sizes is a packed sequence's, else None."""
    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """(h, c) with their samples in another order, or as they are for None."""
class LSTMCell(RNNCellBase):
    """(B, in), ((B, hidden), (B, hidden)) -> (h', c'), each (B, hidden). See LSTM."""

    def __init__(self, input_size: _int, hidden_size: _int, bias: bool = True, device: str | _int | _device | None = None, dtype: _dtype | None = None) -> None: ...
    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """(B, in) or (in,), and the pair (h, c) of (B, hidden), zeros without one -> the next pair."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class RNN(RNNBase):
    """h' = tanh(W x + b + V h + c), or relu with nonlinearity="relu".

    input: (T, B, in), (B, T, in) with `batch_first`, (T, in), or a PackedSequence. hx: (layers *
    directions, B, hidden), zeros by default. Returns (outputs (T, B, directions * hidden), last
    hx). weight_ih_l0: (hidden, in), ...; all weights from U(-k, k), k = 1 / sqrt(hidden).
    """

    nonlinearity: Any
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
class RNNBase(Module):
    """Weights, checks and forward of all three; `mode` is LSTM, GRU, RNN_TANH or RNN_RELU."""

    batch_first: bool
    bias: bool
    bidirectional: bool
    dropout: Any
    hidden_size: _int
    input_size: _int
    mode: str
    num_layers: _int
    proj_size: _int
    def __init__(self, mode: str, input_size: _int, hidden_size: _int, num_layers: _int = 1, bias: bool = True, batch_first: bool = False, dropout: _float = 0.0, bidirectional: bool = False, proj_size: _int = 0, device: str | _int | _device | None = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
    def __setattr__(self, name: str, value: Any) -> None: ...
    def __setstate__(self, state: dict[str, Any]) -> None: ...
    @property
    def all_weights(self) -> list[list[Any]]:
        """The weights of each direction of each layer."""
    def check_forward_args(self, input: Tensor, hidden: Tensor, batch_sizes: Any) -> None:
        """RuntimeError or ValueError where the input or the state is not of the layer's sizes."""
    def check_hidden_size(self, hx: Any, expected_hidden_size: Any, msg: str = 'Expected hidden size {}, got {}') -> None:
        """RuntimeError where a state has the wrong shape."""
    def check_input(self, input: Tensor, batch_sizes: Any) -> None:
        """RuntimeError where the input's dims or last size are wrong, ValueError for its dtype."""
    def extra_repr(self) -> str:
        """What repr() shows: input_size, hidden_size, and proj_size, num_layers, bias, batch_first, dropout,
        bidirectional where not the default.
        """
    def flatten_parameters(self) -> None:
        """Nothing to do: there is no cuDNN that wants one buffer."""
    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """(outputs, last state) of a sequence; see the class."""
    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Any) -> tuple[_int, _int, _int]:
        """The shape of h for an input; batch_sizes is a packed sequence's, else None."""
    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """The state with its samples in another order, or as it is for None."""
    def reset_parameters(self) -> None:
        """Draw all weights and biases anew from U(-k, k), k = 1 / sqrt(hidden_size)."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class RNNCell(RNNCellBase):
    """(B, in), (B, hidden) -> (B, hidden): tanh(W x + b + V h + c), or relu."""

    nonlinearity: str
    def __init__(self, input_size: _int, hidden_size: _int, bias: bool = True, nonlinearity: str = 'tanh', device: str | _int | _device | None = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Any, hx: Any = None) -> Tensor:
        """(B, in) or (in,), and the hidden state (B, hidden) or (hidden,), zeros without one -> the next
        state.
        """
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class RNNCellBase(Module):
    """weight_ih (chunks * hidden, in), weight_hh (chunks * hidden, hidden), bias_ih, bias_hh."""

    bias: bool
    bias_hh: Parameter
    bias_ih: Parameter
    hidden_size: _int
    input_size: _int
    weight_hh: Parameter
    weight_ih: Parameter
    def __init__(self, input_size: _int, hidden_size: _int, bias: bool, num_chunks: _int, device: str | _int | _device | None = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: input_size, hidden_size, and bias, nonlinearity where not the default."""
    def reset_parameters(self) -> None:
        """Draw all weights and biases anew from U(-k, k), k = 1 / sqrt(hidden_size)."""
def _check(cell: Any, input: Tensor, state: Any) -> None: ...
def _check_sizes(rnn: RNNBase) -> None: ...
def _forward_packed(rnn: Any, packed: PackedSequence, hx: Any) -> tuple[Any, Any]:
    """forward of a packed sequence: its output is packed, too."""
def _given_state(mode: str, hx: Any, batched: bool) -> Any:
    """The state that was given, with a batch dim; RuntimeError where it has other dims than the input."""
def _is_probability(p: Any) -> bool: ...
def _refuse_projection(kwargs: dict[str, Any]) -> None: ...
def _run(rnn: Any, operands: tuple[Any, ...], state: Any, *options: bool) -> Any:
    """The whole of it: the output, and the tensors of the last state."""
def _state_size(rnn: Any, input: Tensor, batch_sizes: Any, size: _int) -> tuple[_int, _int, _int]:
    """The shape of a tensor of the state whose last dim is `size`."""
def _step(cell: Any, function: Any, input: Tensor, state: Any, count: _int) -> Any:
    """The cell's function on a batch, which one sample becomes for the call."""
def _zero_state(rnn: Any, input: Tensor, batch_sizes: Any) -> Any:
    """The state that a sequence begins with where none is given."""
def draw_weights(module: Any) -> None:
    """All weights from U(-k, k), k = 1 / sqrt(hidden_size)."""
__all__ = ['GRU', 'LSTM', 'RNN', 'GRUCell', 'LSTMCell', 'RNNBase', 'RNNCell', 'RNNCellBase']
