"""`Layer.forward` called with a layer's like: an object that has only the attributes that PyTorch's has."""

from __future__ import annotations

import types
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn

_RNN = (
    "mode input_size hidden_size num_layers bias batch_first dropout bidirectional proj_size training "
    "_flat_weights check_input get_expected_hidden_size check_hidden_size check_forward_args permute_hidden"
)
_CELL = "input_size hidden_size bias weight_ih weight_hh bias_ih bias_hh _get_name"
_NORM = "eps momentum weight bias running_mean running_var num_batches_tracked track_running_stats training"
ROWS = torch.arange(24.0).reshape(3, 8) / 10
SEQUENCE = torch.arange(48.0).reshape(2, 3, 8) / 10
CASES: list[tuple[Any, str, tuple[Any, ...]]] = [
    (nn.Linear(8, 2), "weight bias", (ROWS,)),
    (
        nn.SyncBatchNorm(8),
        f"{_NORM} process_group _check_input_dim _check_non_zero_input_channels",
        (ROWS,),
    ),
    (nn.RNN(8, 2), _RNN, (SEQUENCE,)),
    (nn.GRU(8, 2, bidirectional=True), _RNN, (SEQUENCE,)),
    (nn.LSTM(8, 3, proj_size=2), f"{_RNN} get_expected_cell_size", (SEQUENCE,)),
    (nn.LSTM(8, 3), f"{_RNN} get_expected_cell_size", (nn.utils.rnn.pack_sequence([ROWS, ROWS[:2]]),)),
    (nn.RNNCell(8, 2), f"{_CELL} nonlinearity", (ROWS,)),
    (nn.LSTMCell(8, 2), _CELL, (ROWS,)),
    (nn.GRUCell(8, 2), _CELL, (ROWS,)),
    (
        nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 4, 0.0, batch_first=True), 1),
        "layers num_layers norm enable_nested_tensor use_nested_tensor mask_check",
        (SEQUENCE,),
    ),
    (
        nn.AdaptiveLogSoftmaxWithLoss(8, 6, [2, 4]),
        "in_features n_classes cutoffs div_value head_bias shortlist_size n_clusters head_size head tail",
        (ROWS, torch.tensor([0, 3, 5])),
    ),
]


def like(layer: Any, names: str) -> Any:
    """An object of no class of ours with those attributes of the layer, its methods bound to it."""
    found = types.SimpleNamespace()
    for name in names.split():
        value = getattr(layer, name)
        bound = isinstance(value, types.MethodType)
        setattr(found, name, types.MethodType(value.__func__, found) if bound else value)
    return found


@pytest.mark.parametrize(("layer", "names", "inputs"), CASES, ids=lambda x: type(x).__name__)
def test_forward_of_a_like(layer: Any, names: str, inputs: tuple[Any, ...]) -> None:
    got = type(layer).forward(like(layer, names), *inputs)
    torch.testing.assert_close(got, layer(*inputs))


def test_what_subclasses_of_recurrent_layers_call() -> None:
    layer = nn.LSTM(8, 3, 2, proj_size=2, batch_first=True)
    assert layer.get_expected_hidden_size(SEQUENCE, None) == (2, 2, 2)
    assert layer.get_expected_cell_size(SEQUENCE, None) == (2, 2, 3)
    assert layer.get_expected_cell_size(SEQUENCE, torch.tensor([5, 1])) == (2, 5, 3)
    state = (torch.arange(8.0).reshape(2, 2, 2), torch.zeros(2, 2, 3))
    layer.check_forward_args(SEQUENCE, state, None)
    with pytest.raises(RuntimeError, match=r"Expected hidden\[1\] size \(2, 2, 3\), got \[2, 2, 2\]"):
        layer.check_forward_args(SEQUENCE, (state[0], state[0]), None)
    swapped = layer.permute_hidden(state, torch.tensor([1, 0]))
    assert swapped[0].equal(state[0].flip(1)) and layer.permute_hidden(state, None) is state
    gru = nn.GRU(8, 3)
    assert gru.permute_hidden(state[0], torch.tensor([1, 0])).equal(state[0].flip(1))
    with pytest.raises(RuntimeError, match=r"Expected hidden size \(1, 3, 3\), got \[2, 2, 2\]"):
        gru.check_forward_args(SEQUENCE, state[0], None)
