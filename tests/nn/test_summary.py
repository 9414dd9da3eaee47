"""summary: the table, what it counts, and that the model stays as it was."""

import pytest

import rushlight as torch
from rushlight import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout())
        self.again = nn.Linear(8, 8, bias=False)
        self.rnn = nn.LSTM(8, 3)
        self.unused = nn.Linear(1, 1)
        self.body[0].weight.requires_grad_(False)
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x, scale=1):
        self.count += 1
        return {"y": self.rnn(self.again(self.again(self.body(x)))), "n": scale}


def test_the_table():
    # The counts: Linear 4*8 + 8, BatchNorm 8 + 8, again 8*8, LSTM 4*3*(8 + 3 + 2), unused 1 + 1.
    lines = str(torch.summary(Net(), torch.ones(5, 4))).split("\n")
    assert (
        [line.rstrip() for line in lines]
        == """\
Module    Type         Output shape                             Parameters  Trainable
-------------------------------------------------------------------------------------
(model)   Net          {y: ([5, 3], ([1, 3], [1, 3])), n: int}         278      88.5%
  body    Sequential   [5, 8]                                           56      42.9%
    0     Linear       [5, 8]                                           40      20.0%
    1     BatchNorm1d  [5, 8]                                           16     100.0%
    2     Dropout      [5, 8]                                            -          -
  again   Linear       [5, 8] x2                                        64     100.0%
  rnn     LSTM         ([5, 3], ([1, 3], [1, 3]))                      156     100.0%
  unused  Linear       -                                                 2     100.0%
-------------------------------------------------------------------------------------
Parameters: 278 (1.112 KB), trainable: 246 (88.5%)
Buffers: 18 (76 bytes)
Total size: 1.188 KB""".split("\n")
    )


def test_the_model_stays_as_it_was():
    model = Net()
    model.body[2].eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    modes, draws = [module.training for module in model.modules()], torch.get_rng_state()
    torch.summary(model, torch.ones(5, 4), scale=2)
    assert [module.training for module in model.modules()] == modes
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), draws)
    assert not any(module._forward_hooks for module in model.modules())
    with pytest.raises(RuntimeError):
        torch.summary(model, torch.ones(5, 3))
    assert [module.training for module in model.modules()] == modes
    assert not any(module._forward_hooks for module in model.modules())


def test_shared_parameters_count_once():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    found = torch.summary(model)
    assert (found.parameters, found.parameter_bytes, [row.parameters for row in found.rows]) == (
        8,
        32,
        [8, 6, 6],
    )
    assert {row.output for row in found.rows} == {"-"}
    assert torch.summary(nn.Identity()).rows[0].type == "Identity"


@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_what_it_does_not_take():
    with pytest.raises(TypeError, match="expected a torch.nn.Module"):
        torch.summary(torch.ones(1))
    with pytest.raises(ValueError, match="lazy"):
        torch.summary(nn.LazyLinear(2), torch.ones(1, 1))
