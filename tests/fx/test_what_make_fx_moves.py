"""What recording with make_fx leaves behind: its arguments, and the generator of random numbers."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight.fx.experimental.proxy_tensor import make_fx


def _writes(x, y):
    x.add_(1)
    y[1:].mul_(5)
    return x * torch.rand(3)


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_only_with_numbers_of_its_own_a_function_moves_things(mode) -> None:
    x, y = torch.zeros(3), torch.ones(4)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    graph = make_fx(_writes, tracing_mode=mode)(x, y)
    moved = mode == "real"
    assert torch.equal(torch.get_rng_state(), before) is not moved
    assert x.tolist() == ([1.0] * 3 if moved else [0.0] * 3)
    assert y.tolist() == ([1.0, 5.0, 5.0, 5.0] if moved else [1.0] * 4)
    z = torch.zeros(3)
    graph(z, torch.ones(4))
    assert z.tolist() == [1.0] * 3


@pytest.mark.parametrize("mode", ["real", "fake"])
def test_an_argument_given_twice_is_the_last_input(mode) -> None:
    x = torch.ones(2)
    graph = make_fx(lambda a, b: a * 2 + b, tracing_mode=mode)(x, x)
    assert graph(x, torch.zeros(2)).tolist() == [0.0, 0.0]


def test_normals_around_tensors_without_numbers_draw_nothing() -> None:
    torch.manual_seed(0)
    before = torch.get_rng_state()
    mean = torch.zeros(3, 1, device="meta")
    assert torch.normal(mean, torch.ones(4, device="meta")).shape == (3, 4)
    assert torch.normal(mean.double(), 2.0).dtype is torch.float64
    assert torch.normal(1.0, torch.ones(2, device="meta", dtype=torch.half)).shape == (2,)
    assert torch.equal(torch.get_rng_state(), before)
