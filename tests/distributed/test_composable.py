"""Functions that change modules in place: what they may change, replicas, and checkpoints."""

import copy

import pytest

import rushlight as torch
from rushlight import distributed as dist, nn
from rushlight.distributed._composable import _get_registry, checkpoint, contract, replicate


@pytest.fixture
def group():
    dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    yield
    dist.destroy_process_group()


def model():
    return nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2))


def test_a_state_for_each_module_once():
    @contract()
    def mark(module):
        mark.state(module).number = 7

    both = model()
    assert mark(both) is both and mark.state(both).number == 7 and mark.state(both[0]) is None
    assert list(_get_registry(both)) == ["mark"] and _get_registry(both[0]) is None
    with pytest.raises(AssertionError, match="mark has already been applied"):
        mark(both)


def test_names_must_stay():
    @contract()
    def wrap(module):
        return nn.Sequential(module)

    with pytest.raises(RuntimeError, match="Checking parameters: .*cannot modify FQNs"):
        wrap(nn.Linear(2, 2))


def test_replicas(group):
    plain = model().eval()
    ours = replicate(copy.deepcopy(plain))
    assert type(ours).__name__ == "DDPSequential" and type(ours[:1]) is nn.Sequential
    x = torch.randn(5, 3)
    for one in (plain, ours):
        one(x).sum().backward()
    for a, b in zip(plain.parameters(), ours.parameters(), strict=True):
        assert a.grad.equal(b.grad)
    assert list(ours.state_dict()) == list(plain.state_dict())
    with pytest.raises(AssertionError, match="does not support deepcopy"):
        copy.deepcopy(ours)


def test_a_device_id_may_be_the_cpus(group):
    ours = replicate(model(), device_id=torch.device("cpu"))
    ours(torch.randn(2, 3))
    assert replicate.state(ours)._ddp_weakref().device_ids is None
    with pytest.raises(RuntimeError, match="Expected device_id to be int or torch.device"):
        replicate(model(), device_id="cpu")


def test_checkpoints_repeat_the_call():
    plain = model()
    ours = copy.deepcopy(plain)
    calls = []
    ours[0].register_forward_hook(lambda *told: calls.append(1))
    checkpoint(ours)
    x = torch.randn(5, 3)
    for one in (plain, ours):
        torch.manual_seed(0)
        one(x).sum().backward()
    for a, b in zip(plain.parameters(), ours.parameters(), strict=True):
        assert a.grad.equal(b.grad)
    assert len(calls) == 2
    with pytest.raises(NotImplementedError, match="use_reentrant=True is not supported"):
        checkpoint(model(), use_reentrant=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: depth"):
        checkpoint(model(), depth=3)
