"""Schedulers keep the values that they were given, and no optimizer alive."""

import gc
import weakref

import rushlight as torch


def test_cyclic_rates_are_copies():
    rate, top = torch.tensor(0.1), torch.tensor(0.2)
    low, high = torch.tensor(0.8), torch.tensor(0.9)
    sgd = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)
    cyclic = torch.optim.lr_scheduler.CyclicLR(sgd, rate, top, base_momentum=low, max_momentum=high)
    for one in (top, low, high):
        one.mul_(0.5)
    group = sgd.param_groups[0]
    assert [
        round(float(v), 6) for v in (cyclic.max_lrs[0], group["max_momentum"], group["base_momentum"])
    ] == [0.2, 0.9, 0.8]


def test_an_optimizer_goes_with_its_last_name():
    gc.disable()
    try:
        sgd = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(sgd, 1)
        sgd.step()
        scheduler.step()
        held = weakref.ref(sgd)
        del sgd, scheduler
        assert held() is None
    finally:
        gc.enable()


def test_states_with_a_function_to_anneal_by():
    def fresh():
        return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1, momentum=0.9)

    one = torch.optim.lr_scheduler.OneCycleLR(fresh(), max_lr=1e-3, total_steps=10)
    state = one.state_dict()
    del state["_anneal_func_type"], one._anneal_func_type
    state["anneal_func"] = torch.optim.lr_scheduler.OneCycleLR._annealing_cos
    one.load_state_dict(state)
    one.optimizer.step()
    one.step()
    assert 4e-5 < one.get_last_lr()[0] < 1e-3
