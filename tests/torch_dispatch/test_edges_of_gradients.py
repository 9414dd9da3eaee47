"""Gradients that a mode hears: of complex numbers, of no dim, of one number, of NaN, of masks."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.ops.table import ROWS
from rushlight._torch_dispatch import backward_ops
from rushlight.nn import functional as F
from rushlight.utils._python_dispatch import TorchDispatchMode


class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def turned(x: Any) -> Any:
    return torch.complex(x, x * 2)


Q, K, V = torch.randn(2, 2, 3, 4), torch.randn(2, 2, 4, 4), torch.randn(2, 2, 4, 6)
CASES = {
    "exp": lambda x: torch.exp(turned(x)).abs(),
    "sigmoid": lambda x: turned(x).sigmoid().abs(),
    "sqrt": lambda x: turned(x).sqrt().imag,
    "tanh": lambda x: turned(x).tanh().imag,
    "addmm": lambda x: torch.addmm(turned(x), turned(x), turned(x).t(), alpha=1 + 2j, beta=2j).imag,
    "mean of no dim": lambda x: x.mean([]),
    "var of no dim": lambda x: x.var([]),
    "std of no dim": lambda x: x.std([]),
    "relu of nan": lambda x: F.relu(torch.where(x > 0, float("nan"), x)),
    "logsumexp of -inf": lambda x: torch.where(x[:3] > 9, x[:3], -torch.inf).logsumexp(1),
    "logsumexp of complex": lambda x: turned(x).logsumexp(0).imag,
    "mask": lambda x: F.scaled_dot_product_attention(Q, K, V, x[:3]),
}


@pytest.mark.parametrize("name", CASES)
def test_as_without_a_mode(name: str) -> None:
    x = torch.randn(4, 4)
    plain, heard = x.clone().requires_grad_(), x.clone().requires_grad_()
    (expected,) = torch.autograd.grad(CASES[name](plain).sum(), plain)
    with Passing():
        (found,) = torch.autograd.grad(CASES[name](heard).sum(), heard)
    assert torch.allclose(found, expected, equal_nan=True)


@pytest.mark.filterwarnings("ignore:var.. degrees of freedom")
def test_variances_of_one_number() -> None:
    x = torch.randn(3, 1, requires_grad=True)
    (expected,) = torch.autograd.grad(x.var(1).sum(), x)
    with Passing():
        (found,) = torch.autograd.grad(x.var(1).sum(), x)
    assert torch.allclose(found, expected, equal_nan=True)


@pytest.mark.parametrize("dim", [0, (0, 1)])
def test_a_sum_of_exponentials_of_nothing_has_no_slope(dim: Any) -> None:
    x = torch.full((2, 3), -torch.inf, requires_grad=True)
    assert torch.autograd.grad(x.logsumexp(dim).sum(), x)[0].isnan().all()


def test_backward_ops_that_are_rows_are_not_written_again() -> None:
    assert not [name for name in backward_ops.RUN if name in ROWS]
    places = torch.tensor([[[[0]]]])
    x = torch.randn(1, 1, 2, 2, requires_grad=True)
    found = torch.ops.aten.max_pool2d_with_indices_backward(
        torch.ones(1, 1, 1, 1), x, [2, 2], [2, 2], [0, 0], [1, 1], False, places
    )
    assert found.requires_grad and found.flatten().tolist() == [1, 0, 0, 0]
