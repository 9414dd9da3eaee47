"""The memory budget: what is computed again instead of being kept has eager's bits, and takes less memory."""

import importlib.util
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.settings import settings
from rushlight.nn import functional as F

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "char_gpt.py"


@pytest.fixture(autouse=True)
def machine_code_from_the_start():
    with settings.using(kernels="llvm"):
        yield


@contextmanager
def budgeted(share):
    torch._functorch.config.activation_memory_budget = share
    try:
        yield
    finally:
        torch._functorch.config.activation_memory_budget = 1.0


def char_gpt(monkeypatch):
    for name in ("torch", "torch.nn", "torch.nn.functional"):
        monkeypatch.setitem(
            sys.modules, name, {"torch": torch, "torch.nn": nn, "torch.nn.functional": F}[name]
        )
    spec = importlib.util.spec_from_file_location("char_gpt_example", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    return example.GPT


def trained(make, how, budget, calls=5):
    """(losses and parameters, the program)."""
    torch.manual_seed(0)
    model = make(31, 16, width=32, layers=2, dropout=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x, y = torch.randint(31, (4, 16)), torch.randint(31, (4, 16))
    run = torch.compile(model, mode="reduce-overhead") if how == "model" else model

    def step(x, y):
        optimizer.zero_grad()
        loss = run(x, y)[1]
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    step = torch.compile(step, mode="reduce-overhead") if how == "step" else step
    with budgeted(budget):
        losses = [step(x, y).item() for _ in range(calls)]
    found = [losses, *[p.tolist() for p in model.parameters()]]
    if how == "eager":
        return found, None
    runner = step._runner if how == "step" else run.__dict__["_compiled"]._runner
    plan = next(iter(runner.plans.values()))
    assert plan.ready and plan.replays, plan.refusal
    return found, plan.program


@pytest.mark.parametrize("how", ["step", "model"])
def test_char_gpt(how, monkeypatch):
    make = char_gpt(monkeypatch)
    expected, sizes = trained(make, "eager", 1.0)[0], []
    for budget in (1.0, 0.7, 0.0):
        found, program = trained(make, how, budget)
        assert found == expected
        sizes.append(program.plan.size)
    assert sizes[0] > sizes[1] >= sizes[2] < 0.9 * sizes[0], sizes


def test_what_no_kernel_can_make_again_is_kept():
    def f(x, w):
        h = x @ w
        return (torch.sin(h).exp() * h).sum(), h.cumsum(0).square().sum()

    x, w = torch.randn(8, 6), torch.randn(6, 7, requires_grad=True)
    for budget in (1.0, 0.0):
        run = torch.compile(lambda x, w: sum(f(x, w)), options={"memory_budget": budget})
        for _ in range(4):
            found, expected = (torch.autograd.grad(g(x, w), w)[0] for g in (run, lambda *a: sum(f(*a))))
            assert torch.equal(found, expected)
        plan = next(iter(run._runner.plans.values()))
        assert plan.ready and plan.program.share == budget


def test_an_operand_that_is_written_in_between_is_not_read_again():
    def f(x, scale):
        y = x + scale
        loss = (y.exp() * y).sum()
        scale.mul_(2)
        return loss

    for budget in (1.0, 0.0):
        scale, x = torch.ones(5), torch.randn(4, 5, requires_grad=True)
        holder = nn.Module()
        holder.register_buffer("scale", scale)
        run = torch.compile(lambda x, holder=holder: f(x, holder.scale), mode="reduce-overhead")
        other = torch.ones(5)
        for _ in range(5):
            with budgeted(budget):
                found = torch.autograd.grad(run(x), x)[0]
            assert torch.equal(found, torch.autograd.grad(f(x, other), x)[0])
        assert torch.equal(scale, other)


def test_the_setting_and_its_range():
    assert torch._functorch.config.activation_memory_budget == 1.0
    run = torch.compile(lambda x: x * 2, mode="reduce-overhead")
    with budgeted(1.5):
        run(torch.ones(2))
        with pytest.raises(RuntimeError, match="0 <= m <= 1. The provided budget is 1.5"):
            run(torch.ones(2))
    with pytest.raises(RuntimeError, match="Unexpected optimization option memory"):
        torch.compile(lambda x: x, options={"memory": 1})
