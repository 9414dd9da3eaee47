"""FSDP's older functions of optimizers' states, in a group of one process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import rushlight as torch
import rushlight.distributed as dist
from rushlight import nn
from rushlight.distributed.fsdp import FullyShardedDataParallel as FSDP, OptimStateKeyType


@pytest.fixture
def alone() -> Iterator[None]:
    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    yield
    dist.destroy_process_group()


def _stepped(model: nn.Module) -> torch.optim.Optimizer:
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    return optimizer


def test_states_by_names_and_by_numbers() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = _stepped(net)
    names = ["0.weight", "0.bias", "2.weight", "2.bias"]
    for given in ({"optim": optimizer}, {}, {"optim_input": net.parameters()}):
        named = FSDP.rekey_optim_state_dict(
            optimizer.state_dict(), OptimStateKeyType.PARAM_NAME, net, **given
        )
        assert list(named["state"]) == named["param_groups"][0]["params"] == names
    back = FSDP.rekey_optim_state_dict(named, OptimStateKeyType.PARAM_ID, net, optim=optimizer)
    assert list(back["state"]) == back["param_groups"][0]["params"] == [0, 1, 2, 3]
    assert FSDP.rekey_optim_state_dict(back, OptimStateKeyType.PARAM_ID, net) is back
    with pytest.raises(ValueError, match="Invalid parameter keys"):
        FSDP.rekey_optim_state_dict({"state": {0: {}, "a": {}}}, OptimStateKeyType.PARAM_ID, net)


@pytest.mark.filterwarnings("ignore:FSDP is switching")
def test_whole_states_are_cut_and_scattered(alone: None) -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    wrapped = FSDP(net, device_id=torch.device("cpu"), use_orig_params=True)
    optimizer = _stepped(wrapped)
    whole = FSDP.full_optim_state_dict(wrapped, optimizer, rank0_only=False)
    assert sorted(whole["state"]) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    for found in (
        FSDP.shard_full_optim_state_dict(whole, wrapped, optim=optimizer),
        FSDP.shard_full_optim_state_dict(whole, wrapped),
        FSDP.scatter_full_optim_state_dict(whole, wrapped, optim=optimizer),
    ):
        assert sorted(found["state"]) == [0, 1, 2, 3]
        average = whole["state"]["0.weight"]["exp_avg"]
        torch.testing.assert_close(found["state"][0]["exp_avg"].reshape(average.shape), average)
    optimizer.load_state_dict(found)
