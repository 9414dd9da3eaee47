"""Constants are computed when a program is made; what is computed twice from the same, once."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight._engine.core.settings import settings


@pytest.fixture(autouse=True)
def verified(monkeypatch):
    monkeypatch.setattr(settings, "verify", True)


def replayed(function, *args):
    """The compiled function after its records, with what it is at a replay."""
    compiled = torch.compile(function, mode="reduce-overhead", fullgraph=True)
    for _ in range(3):
        compiled(*args)
    return compiled, str(torch.explain(compiled))


def test_constants_are_not_computed_again():
    def f(x):
        places = torch.arange(x.shape[1])
        return x * (places * 2 + 1), places

    x = torch.randn(3, 5)
    compiled, shown = replayed(f, x)
    assert "= _call(" in shown  # it is handed out, so it is made anew
    first, second = compiled(x), compiled(x)
    first[1].add_(7)
    assert second[1].tolist() == compiled(x)[1].tolist() == [0, 1, 2, 3, 4]
    inside, shown = replayed(lambda x: f(x)[0].sin(), x)
    assert "= _call(" not in shown and torch.equal(inside(x), f(x)[0].sin())


def test_a_constant_that_leaves_by_a_side_door_may_be_written_to():
    held = []

    def f(x):
        held.append(torch.ones(4))
        return x + held[-1]

    x = torch.randn(4)
    compiled = torch.compile(f, mode="reduce-overhead")
    for _ in range(4):
        found = compiled(x)
        held[-1].add_(1)
        assert torch.equal(found, x + 1)


def test_a_constant_that_changes_is_seen():
    count = [0]

    def f(x):
        count[0] += 1
        return x * torch.full((4,), float(count[0])).exp()

    x = torch.ones(4)
    compiled = torch.compile(f, mode="reduce-overhead")
    found = [compiled(x)[0].item() for _ in range(5)]
    assert len(set(found)) == 5


def test_what_is_written_to_is_no_constant():
    def f(x):
        total = torch.zeros(4)
        total += x
        return total * 2

    compiled, _ = replayed(f, torch.ones(4))
    assert compiled(torch.ones(4)).tolist() == compiled(torch.ones(4)).tolist() == [2.0] * 4


def test_the_same_is_computed_once():
    def f(x, w):
        return (x @ w).relu() + (x @ w).sigmoid()

    x, w = torch.randn(8, 8), torch.randn(8, 8)
    compiled, shown = replayed(f, x, w)
    assert shown.count("= matmul(") == 1 and torch.equal(compiled(x, w), f(x, w))


def test_not_across_a_write():
    def f(x, w):
        y = x * 1
        a = y @ w
        y += 1
        return a + y @ w

    x, w = torch.randn(8, 8), torch.randn(8, 8)
    compiled, shown = replayed(f, x, w)
    assert shown.count("= matmul(") == 2 and torch.equal(compiled(x, w), f(x, w))


def test_results_stay_apart():
    def f(x, w):
        return x @ w, x @ w

    x, w = torch.randn(8, 8), torch.randn(8, 8)
    compiled, _ = replayed(f, x, w)
    a, b = compiled(x, w)
    a.zero_()
    assert torch.equal(b, x @ w)
