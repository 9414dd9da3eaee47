"""Where in-place writes, `.data` and forward mode meet; values as PyTorch's."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight.func import grad, hessian, jacfwd, jacrev


def squared_product(x):
    y = x.clone()
    y.mul_(x)
    y.pow_(2)
    return y.sum()


@pytest.mark.parametrize(
    "second",
    [
        hessian,
        lambda f: jacfwd(grad(f)),
        lambda f: jacrev(jacfwd(f)),
        lambda f: jacfwd(jacfwd(f)),
        lambda f: jacrev(grad(f)),
    ],
)
def test_second_derivatives_through_writes(second):
    x = torch.arange(3.0)
    assert torch.equal(second(squared_product)(x), torch.diag(12 * x**2))


def test_data_keeps_the_version_counter():
    x = torch.zeros(3).add_(1)
    other = torch.zeros(3).add_(1).add_(1)
    x.data = other
    assert (x._version, other._version) == (1, 2)
    x.add_(1)
    assert (x._version, other._version) == (2, 2)
    assert other.tolist() == [3.0] * 3


def test_data_between_forward_and_backward():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    w.data = torch.zeros(2).add_(5)
    loss.backward()
    assert w.grad.tolist() == [10.0, 10.0]


@pytest.mark.parametrize("copy", ["clone", "double", "zeros_like", "empty_like"])
def test_copies_of_empty_tensors_keep_their_strides(copy):
    def copied(a):
        return getattr(a, copy)() if copy in ("clone", "double") else getattr(torch, copy)(a)

    assert copied(torch.rand(2, 0, 3).permute(2, 1, 0)).stride() == (1, 3, 3)
    assert copied(torch.rand(5, 4)[:, :0]).stride() == (4, 1)
    assert copied(torch.rand(0, 3)).stride() == (3, 1)
