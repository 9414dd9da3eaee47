"""Large arrays in channels last: sums by channel and what repeats by channel, by long rows."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch


def last(*shape: int) -> torch.Tensor:
    return torch.randn(shape).contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("shape", [(4, 16, 33, 32), (2, 3, 128, 128), (1, 2100, 8, 8), (5, 24, 30, 31)])
def test_sums_by_channel(shape):
    torch.manual_seed(0)
    x = last(*shape)
    for keepdim in (False, True):
        wanted = x.double().numpy().sum((0, 2, 3), keepdims=keepdim)
        for found, scale in ((x.sum((0, 2, 3), keepdim), 1), (x.mean((0, 2, 3), keepdim), x[:, 0].numel())):
            assert found.shape == wanted.shape and found.is_contiguous()
            np.testing.assert_allclose(found.double().numpy() * scale, wanted, rtol=2e-5, atol=2e-3)


@pytest.mark.parametrize("shape", [(4, 16, 64, 64), (2, 3, 128, 256), (3, 5, 77, 91)])
def test_what_repeats_by_channel_has_the_bits_of_any_layout(shape):
    torch.manual_seed(0)
    x, by, one = last(*shape), torch.randn(1, shape[1], 1, 1), torch.tensor(3.0)
    for function in (torch.mul, torch.add, torch.maximum, lambda a, b: torch.addcmul(a, b, one)):
        found = function(x, by)
        assert torch.equal(found, function(x.contiguous(), by.expand(shape).contiguous()))
        assert found.is_contiguous(memory_format=torch.channels_last)
    y = x.clone()
    y.mul_(by).add_(x[0, :, 0, 0].reshape(-1, 1, 1))
    assert torch.equal(y, x * by + x[0, :, 0, 0].reshape(-1, 1, 1).clone())


def test_batch_norm_of_both_layouts():
    torch.manual_seed(0)
    x, grad = torch.randn(4, 24, 40, 36), torch.randn(4, 24, 40, 36)
    found = []
    for order in (torch.contiguous_format, torch.channels_last):
        given, norm = x.clone(memory_format=order).requires_grad_(), torch.nn.BatchNorm2d(24)
        out = norm(given)
        out.backward(grad.contiguous(memory_format=order))
        assert out.is_contiguous(memory_format=order) and given.grad.is_contiguous(memory_format=order)
        found.append([out, given.grad, norm.weight.grad, norm.bias.grad, norm.running_mean, norm.running_var])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=2e-4)
