"""Empty batches, scalars, samples for more than the batch, and modules that write in place on meta."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight.nn import functional as F


@pytest.mark.parametrize(
    "module, shape",
    [
        (torch.nn.Conv2d(3, 4, 3), (0, 3, 5, 5)),
        (torch.nn.ConvTranspose1d(3, 4, 3), (0, 3, 5)),
        (torch.nn.MaxPool2d(2), (0, 3, 4, 4)),
        (torch.nn.AdaptiveMaxPool2d(3), (0, 3, 4, 5)),
        (torch.nn.InstanceNorm1d(3), (0, 3, 5)),
        (torch.nn.BatchNorm1d(3), (0, 3, 5)),
        (torch.nn.FractionalMaxPool2d(2, output_size=2), (0, 3, 5, 5)),
    ],
)
def test_gradients_of_an_empty_batch(module, shape):
    x = torch.zeros(shape, requires_grad=True)
    found = module(x)
    assert found.shape[0] == 0
    of = [x, *module.parameters()]
    for g, t in zip(torch.autograd.grad(found.sum(), of), of, strict=True):
        assert g.shape == t.shape and not g.any()


def test_an_empty_batch_leaves_running_moments_alone():
    norm = torch.nn.BatchNorm1d(3)
    norm(torch.zeros(0, 3, 5))
    assert norm.running_mean.tolist() == [0, 0, 0] and norm.running_var.tolist() == [1, 1, 1]


def test_in_place_on_meta():
    x = torch.ones(3, device="meta")
    assert x.add_(1).mul_(x) is x and x.is_meta
    norm = torch.nn.BatchNorm2d(3, device="meta")
    assert norm(torch.ones(2, 3, 4, 4, device="meta")).shape == (2, 3, 4, 4)


def test_prelu_of_a_scalar():
    assert F.prelu(torch.tensor(-2.0), torch.tensor([0.5])).shape == ()
    with pytest.raises(RuntimeError, match="promoting"):
        F.prelu(torch.ones(2, dtype=torch.float64), torch.ones(1))


def test_fractional_pooling_takes_the_first_samples():
    torch.manual_seed(0)
    x, samples = torch.rand(1, 4, 5, 5, 5), torch.rand(2, 4, 3)
    wanted = F.fractional_max_pool3d(x, 2, output_size=2, _random_samples=samples[:1])
    assert torch.equal(F.fractional_max_pool3d(x, 2, output_size=2, _random_samples=samples), wanted)
    with pytest.raises(RuntimeError):
        F.fractional_max_pool3d(torch.rand(3, 4, 5, 5, 5), 2, output_size=2, _random_samples=samples)
