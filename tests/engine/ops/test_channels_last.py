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


@pytest.mark.parametrize(
    "how", [{"scale_factor": 2}, {"size": (5, 17)}, {"size": (9, 9), "align_corners": True}]
)
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_resampling_keeps_the_layout(mode, how):
    torch.manual_seed(0)
    x = last(2, 6, 7, 9)
    results = []
    for given in (x, x.contiguous()):
        given = given.requires_grad_()
        found = torch.nn.functional.interpolate(given, mode=mode, **how)
        found.square().sum().backward()
        results.append((found.detach(), given.grad))
    (found, grad), (wanted, wanted_grad) = results
    assert found.is_contiguous(memory_format=torch.channels_last) and wanted.is_contiguous()
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(grad, wanted_grad)


@pytest.mark.parametrize("shape", [(4, 2, 64, 64), (3, 21, 40, 9), (2, 5, 2048)])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_over_planes(name, shape):
    torch.manual_seed(0)
    x = torch.randn(shape) * 5
    memory = [x, last(*shape).copy_(x)] if len(shape) == 4 else [x]
    for given in memory:
        given.requires_grad_()
        found = getattr(torch, name)(given, 1)
        wide = given.detach().double().requires_grad_()
        wanted = getattr(torch, name)(wide, 1)
        assert found.is_contiguous()
        torch.testing.assert_close(found.double(), wanted, rtol=1e-5, atol=1e-5)
        by = torch.randn(shape)
        found.backward(by)
        wanted.backward(by.double())
        torch.testing.assert_close(given.grad.double(), wide.grad, rtol=1e-5, atol=1e-5)
        again = getattr(torch, name)(given, 1)
        assert torch.equal(found, again)


@pytest.mark.parametrize("channels", [3, 8, 33])
def test_transposed_convolutions_of_both_layouts(channels):
    torch.manual_seed(0)
    x, w = torch.randn(2, 6, 7, 5), torch.randn(6, channels, 3, 2)
    found = torch.nn.functional.conv_transpose2d(x, w, stride=2, output_padding=1)
    by_last = torch.nn.functional.conv_transpose2d(last(2, 6, 7, 5).copy_(x), w, stride=2, output_padding=1)
    assert found.is_contiguous() and by_last.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(found, by_last)
    wide = torch.nn.functional.conv_transpose2d(x.double(), w.double(), stride=2, output_padding=1)
    torch.testing.assert_close(found.double(), wide, rtol=1e-5, atol=1e-4)
