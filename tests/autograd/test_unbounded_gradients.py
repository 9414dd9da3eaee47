"""Gradients that hold infinities and NaN: what no gradient reaches gets zeros, as in PyTorch 2.13."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan

import pytest

import rushlight as torch

STEPS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "floor": torch.floor,
    "ceil": torch.ceil,
    "round": torch.round,
    "two decimals": lambda x: torch.round(x, decimals=2),
    "trunc": torch.trunc,
    "sign": torch.sign,
    "div down": lambda x: torch.div(x, 2, rounding_mode="floor"),
    "div to zero": lambda x: torch.div(x, 2, rounding_mode="trunc"),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_have_no_gradient(name: str) -> None:
    x = torch.tensor([0.3, -1.2, 2.5, 0.0], requires_grad=True)
    STEPS[name](x).backward(torch.tensor([inf, -inf, nan, -1.0]))
    assert x.grad.tolist() == [0.0] * 4
    assert not torch.signbit(x.grad).any()


def test_a_median_gives_its_gradient_to_nothing_else() -> None:
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    x.median().backward(torch.tensor(inf))
    assert x.grad.tolist() == [0.0, 0.0, inf]
