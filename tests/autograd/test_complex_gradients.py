"""Gradients of complex numbers that are derived by hand: first and second, by differences."""

from __future__ import annotations

import pytest

import rushlight as torch

F = torch.nn.functional


def numbers(*shape):
    """A leaf of complex numbers away from 0."""
    g = torch.Generator().manual_seed(sum(shape))
    return (torch.randn(*shape, dtype=torch.complex128, generator=g) + 0.3).requires_grad_()


CALLS = {
    "conv1d": (lambda x, w: F.conv1d(x, w, padding=1), (1, 2, 4), (2, 2, 3)),
    "conv2d": (lambda x, w: F.conv2d(x, w, stride=2, groups=2), (2, 2, 4, 3), (2, 1, 2, 2)),
    "conv_transpose1d": (lambda x, w: F.conv_transpose1d(x, w, stride=2, padding=1), (1, 2, 3), (2, 2, 3)),
    "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w, groups=2), (1, 2, 2, 2), (2, 1, 2, 2)),
    "prod": (lambda x: torch.prod(x, 1), (2, 3)),
    "prod of all": (torch.prod, (4,)),
    "softsign": (F.softsign, (2, 3)),
    "rms_norm": (lambda x: F.rms_norm(x, (3,)), (2, 3)),
    "quotient": (lambda x: x / (1 + x.abs()), (3,)),
    "angle": (lambda x: x * torch.angle(x), (3,)),
}


@pytest.mark.parametrize("name", CALLS)
def test_gradients(name):
    call, *shapes = CALLS[name]
    operands = tuple(numbers(*shape) for shape in shapes)
    assert torch.autograd.gradcheck(call, operands)
    assert torch.autograd.gradgradcheck(call, operands)


def test_a_product_with_zeros():
    x = torch.tensor([1 + 2j, 0, 3 - 1j], requires_grad=True)
    (torch.prod(x) * (1 + 0.5j)).real.backward()
    assert torch.allclose(
        x.grad, torch.tensor([0, (1 - 0.5j) * (1 - 2j) * (3 + 1j), 0], dtype=torch.complex64)
    )


def test_gradients_of_conjugate_views_reach_the_real_numbers():
    x = torch.ones(2, requires_grad=True)
    y = torch.view_as_complex(torch.stack([x, x * 2], -1))
    y.conj().mul_(1j)
    torch.view_as_real(y).sum().backward()
    assert x.grad.tolist() == [1, 1]
