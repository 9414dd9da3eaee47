"""call_for_per_sample_grads: what each sample gives to each parameter's gradient."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn.utils._per_sample_grad import call_for_per_sample_grads


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_gradients_are_those_of_the_samples_one_by_one(reduction: str) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(2, 3, 3), nn.GroupNorm(1, 3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 2))
    x = torch.randn(4, 2, 6, 6)
    out = call_for_per_sample_grads(net, loss_reduction=reduction)(x)
    torch.testing.assert_close(out, net(x))
    getattr(out.square().sum(1), reduction)().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is None
        for i in range(4):
            (alone,) = torch.autograd.grad(net(x[i : i + 1]).square().sum(), [net.get_parameter(name)])
            torch.testing.assert_close(parameter.grad_sample[i], alone, rtol=1e-4, atol=1e-5)


def test_a_batch_in_the_second_dim_and_a_layer_used_twice() -> None:
    layer, x = nn.Linear(3, 3), torch.ones(5, 2, 3)
    twice = nn.Sequential(layer, layer)
    call_for_per_sample_grads(twice, batch_first=False)(x).sum().backward()
    (whole,) = torch.autograd.grad(twice(x).sum(), [layer.bias])
    torch.testing.assert_close(layer.bias.grad_sample.sum(0), whole)
    assert layer.bias.grad_sample.shape == (2, 3)


def test_bad_calls() -> None:
    layer = nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="sum or mean, got max"):
        call_for_per_sample_grads(layer, loss_reduction="max")
    with pytest.raises(RuntimeError, match="must be nn.Module"):
        call_for_per_sample_grads(len)
    with pytest.raises(RuntimeError, match="Batch size must be positive"):
        call_for_per_sample_grads(layer, batch_size=0)
    with pytest.raises(RuntimeError, match="batch size 2 and one with batch size 3"):
        call_for_per_sample_grads(nn.Bilinear(2, 2, 2))(torch.ones(2, 2), torch.ones(3, 2))
    call_for_per_sample_grads(layer)(torch.ones(2, 2)).sum().backward()
    with pytest.raises(RuntimeError, match="accumulates the gradients"):
        call_for_per_sample_grads(layer)
