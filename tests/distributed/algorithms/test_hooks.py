"""Hooks, averagers and checkpoint formats in a group of one; losses are PyTorch 2.13's."""

import copy

import pytest

import rushlight as torch
import rushlight.distributed as dist
from rushlight import nn
from rushlight.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, register_ddp_comm_hook
from rushlight.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import (
    PostLocalSGDState,
    post_localSGD_hook,
)
from rushlight.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import (
    PowerSGDState,
    batched_powerSGD_hook,
    powerSGD_hook,
)
from rushlight.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from rushlight.distributed.algorithms.model_averaging.utils import get_params_to_average
from rushlight.distributed.optim import PostLocalSGDOptimizer


@pytest.fixture
def group(tmp_path):
    """A group of one rank."""
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield dist.group.WORLD
    dist.destroy_process_group()


def trained(register, wrap=None):
    """Losses of five steps of a small model."""
    torch.manual_seed(0)
    layers = [nn.Linear(16, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 12)]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers))
    register(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer = wrap(optimizer) if wrap else optimizer
    losses = []
    for _ in range(5):
        loss = (model(torch.randn(8, 16)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 5))
    return losses


LOSSES = {
    "rank 1": [0.05483, 0.04708, 0.06592, 0.05223, 0.04945],
    "rank 3": [0.05483, 0.04708, 0.06592, 0.05119, 0.04922],
    "same": [0.05483, 0.04708, 0.06592, 0.05223, 0.04945],
    "cold": [0.05483, 0.04708, 0.06592, 0.05129, 0.04949],
}
OPTIONS = {
    "rank 1": {},
    "rank 3": {"matrix_approximation_rank": 3},
    "same": {"batch_tensors_with_same_shape": True},
    "cold": {"warm_start": False, "use_error_feedback": False, "matrix_approximation_rank": 2},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_power_sgd(group, name):
    state = PowerSGDState(None, start_powerSGD_iter=2, **OPTIONS[name])
    losses = trained(lambda model: model.register_comm_hook(state, powerSGD_hook))
    assert losses == pytest.approx(LOSSES[name], abs=2e-5)
    rate, before, after = state.compression_stats()
    assert rate == before / after > 2
    kept = copy.copy(state)
    assert kept.iter == state.iter == 5


def test_batched_power_sgd_brings_loss_down(group):
    state = PowerSGDState(None, start_powerSGD_iter=2, matrix_approximation_rank=4)
    losses = trained(lambda model: model.register_comm_hook(state, batched_powerSGD_hook))
    assert losses[-1] < losses[0]
    with pytest.raises(ValueError, match="start_powerSGD_iter"):
        PowerSGDState(None, start_powerSGD_iter=1)


def test_other_hooks_leave_a_group_of_one_as_it_is(group):
    plain = trained(lambda model: None)
    assert trained(lambda model: register_ddp_comm_hook(DDPCommHookType.NOOP, model)) == plain
    assert trained(lambda model: register_ddp_comm_hook(DDPCommHookType.POWER_SGD, model)) == plain
    local = PostLocalSGDState(None, group, 2)
    averager = PeriodicModelAverager(2, warmup_steps=1)
    found = trained(
        lambda model: model.register_comm_hook(local, post_localSGD_hook),
        lambda optimizer: PostLocalSGDOptimizer(optimizer, averager),
    )
    assert found == plain
    assert (local.iter, averager.step) == (2, 5)


def test_averagers_and_their_optimizer(group):
    with pytest.raises(ValueError, match="positive"):
        PeriodicModelAverager(0)
    with pytest.raises(ValueError, match="non-negative"):
        PeriodicModelAverager(2, -1)
    with pytest.warns(UserWarning, match="When period is 1"):
        averager = PeriodicModelAverager(1)
    layer = nn.Linear(2, 2)
    layer(torch.ones(2)).sum().backward()
    layer.bias.grad = None
    assert get_params_to_average([{"params": layer.parameters()}])[0] is layer.weight
    with pytest.raises(NotImplementedError, match="Parameter input of type"):
        get_params_to_average([1])
    optimizer = PostLocalSGDOptimizer(torch.optim.SGD(layer.parameters(), lr=0.1), averager)
    optimizer.step()
    saved = optimizer.state_dict()
    assert saved["step"] == 1
    averager.step = 7
    optimizer.load_state_dict(saved)
    assert averager.step == 1
    del saved["step"]
    with pytest.warns(UserWarning, match="does not contain a step counter"):
        optimizer.load_state_dict(saved)
    assert averager.step == 0
