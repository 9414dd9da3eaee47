"""_NamedOptimizer: states by names."""

from __future__ import annotations

import warnings

import pytest

import rushlight as torch
from rushlight.distributed.optim import _NamedOptimizer


def trained(model: torch.nn.Module, made: _NamedOptimizer) -> _NamedOptimizer:
    model(torch.ones(2, 3)).sum().backward()
    made.step()
    return made


def model() -> torch.nn.Sequential:
    return torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))


def test_states_by_names_are_loaded() -> None:
    one, other = model(), model()
    saved = trained(one, _NamedOptimizer(one.named_parameters(), torch.optim.SGD, lr=0.1, momentum=0.9))
    told = saved.state_dict()
    assert sorted(told["state"]) == ["0.bias", "0.weight", "1.bias", "1.weight"]
    assert told["param_groups"][0]["params"] == sorted(told["state"])
    loaded = _NamedOptimizer(other.named_parameters(), torch.optim.SGD, lr=0.5, momentum=0.1)
    with pytest.raises(ValueError, match="not initialized"):
        loaded.load_state_dict(told)
    loaded.init_state()
    loaded.load_state_dict(told)
    again = loaded.state_dict()
    assert again["param_groups"][0]["lr"] == 0.1
    for name, state in told["state"].items():
        assert state["momentum_buffer"].equal(again["state"][name]["momentum_buffer"])


def test_groups_are_added() -> None:
    one = model()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = _NamedOptimizer(
            one.named_parameters(), torch.optim.SGD, [{"params": one[1].parameters()}], lr=0.1, momentum=0.9
        )
    assert sorted(trained(one, made).state_dict()["state"]) == ["1.bias", "1.weight"]
    made.add_param_group({"params": one[0].weight, "lr": 0.2})
    assert [group["lr"] for group in made.param_groups] == [0.1, 0.2]
    assert sorted(trained(one, made).state_dict()["state"]) == ["0.weight", "1.bias", "1.weight"]
    with pytest.raises(ValueError, match="not in the module"):
        made.add_param_group({"params": torch.ones(1)})
