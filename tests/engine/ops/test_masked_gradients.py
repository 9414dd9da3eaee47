"""Gradients of formulas with branches: what is infinite in the branch that is not taken does not show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch

F = torch.nn.functional
LARGE = [100.0, 181.0, 1e4, 1e30, float("inf")]


@pytest.mark.parametrize(
    ("f", "wanted"),
    [
        (F.softplus, 1.0),
        (lambda x: F.softplus(x, 2.0, 10.0), 1.0),
        (F.elu, 1.0),
        (F.celu, 1.0),
        (F.selu, 1.0507009873554805),
        (F.tanhshrink, 1.0),
        (lambda x: F.huber_loss(x, torch.zeros_like(x), reduction="none"), 1.0),
        (lambda x: F.smooth_l1_loss(x, torch.zeros_like(x), reduction="none"), 1.0),
    ],
)
@pytest.mark.parametrize("times", [1, 2000])
def test_large_numbers(f: Callable[[Any], Any], wanted: float, times: int) -> None:
    x = torch.tensor(LARGE * times, requires_grad=True)
    f(x).sum().backward()
    assert torch.allclose(x.grad, torch.full_like(x, wanted))


def test_second_gradients_of_large_numbers() -> None:
    x = torch.tensor(LARGE[:4], requires_grad=True)
    (first,) = torch.autograd.grad(F.softplus(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [0, 0, 0, 0]
