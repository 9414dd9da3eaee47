"""What a program does to an optimizer between steps counts at the next one, as often as it has stepped."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight.nn import Parameter


def _stepped(cls: Any, count: int, times: int = 60, **options: Any) -> tuple[list[Parameter], Any]:
    params = [Parameter(torch.ones(2)) for _ in range(count)]
    optimizer = cls(params, lr=0.1, **options)
    _step(params, optimizer, times)
    return params, optimizer


def _step(params: list[Parameter], optimizer: Any, times: int = 1, step: Any = None) -> None:
    for number in range(times):
        for k, p in enumerate(params):
            if p.grad is None:
                p.grad = torch.ones(2)
            p.grad.fill_(1.0 + k + number % 3)
        (step or optimizer.step)()


def test_a_list_of_parameters_that_is_cut_keeps_no_plan() -> None:
    params, optimizer = _stepped(torch.optim.Adam, 3)
    group = optimizer.param_groups[0]
    del group["params"][1:]
    group["capturable"] = True
    for _ in range(3):
        with pytest.raises(AssertionError):
            optimizer.step()
    group["capturable"] = False
    before = [p.detach().clone() for p in params]
    _step(params, optimizer)
    assert [bool((p == b).all()) for p, b in zip(params, before, strict=True)] == [False, True, True]


def test_a_list_in_the_place_of_another_is_watched() -> None:
    params, optimizer = _stepped(torch.optim.Adam, 2)
    group = optimizer.param_groups[0]
    group["params"] = [*params]
    _step(params, optimizer, 2)
    group["params"].pop()
    before = params[1].detach().clone()
    _step(params, optimizer)
    assert torch.equal(params[1], before)


def test_a_step_that_raises_raises_again() -> None:
    _, optimizer = _stepped(torch.optim.Adam, 1)
    optimizer.param_groups[0]["capturable"] = True
    for _ in range(3):
        with pytest.raises(AssertionError):
            optimizer.step()


def test_a_switch_that_is_a_tensor_is_read_at_every_step() -> None:
    (p,), optimizer = _stepped(torch.optim.SGD, 1)
    switch = optimizer.param_groups[0]["maximize"] = torch.tensor(False)
    _step([p], optimizer, 3)
    before = p.detach().clone()
    switch.fill_(True)
    _step([p], optimizer)
    assert bool((p > before).all())


_COUNTED = ["Adam", "AdamW", "NAdam", "Adamax", "RAdam"]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("which", [[0], [1], [0, 1]])
@pytest.mark.parametrize("name", _COUNTED)
def test_a_count_that_is_changed_in_place_counts(name: str, which: list[int], compiled: bool) -> None:
    """Each parameter goes on as in an optimizer of its own."""
    cls = getattr(torch.optim, name)

    def run(count: int, offset: int, which: list[int], compiled: bool) -> list[Any]:
        params = [Parameter(torch.ones(2)) for _ in range(count)]
        optimizer = cls(params, lr=0.1)
        step = torch.compile(optimizer.step) if compiled else optimizer.step
        for number in range(16):
            for k, p in enumerate(params):
                p.grad = torch.zeros(2) if p.grad is None else p.grad
                p.grad.fill_(1.0 + k + offset + number % 3)
            if number == 12:
                for k in which:
                    optimizer.state[params[k]]["step"].fill_(1.0)
            step()
        return [*params, *[optimizer.state[p]["step"] for p in params]]

    both = run(2, 0, which, compiled)
    for k in (0, 1):
        alone = run(1, k, [0] if k in which else [], False)
        for got, want in zip(both[k::2], alone, strict=True):
            torch.testing.assert_close(got, want)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("name", ["ASGD", "NAdam", "Rprop", "Adagrad"])
def test_numbers_are_carried_on_in_a_compiled_step(name: str, count: int) -> None:
    def run(compiled: bool) -> list[Any]:
        params = [Parameter(torch.ones(2)) for _ in range(count)]
        optimizer = getattr(torch.optim, name)(params, lr=0.1)
        optimizer.param_groups[0].update({"t0": 3.0, "lambd": 0.1} if name == "ASGD" else {})
        _step(params, optimizer, 12, torch.compile(optimizer.step) if compiled else None)
        return [*params, *[v for p in params for v in optimizer.state[p].values()]]

    for got, want in zip(run(True), run(False), strict=True):
        torch.testing.assert_close(got, want, rtol=0, atol=0)
