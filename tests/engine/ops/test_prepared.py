"""Calls that are resolved once give what the ordinary ways give, before and after kernels are compiled."""

import itertools
import warnings

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight._engine.kernels.runtime import tiers
from rushlight._engine.numerics import ranges

rng = np.random.default_rng(0)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_index_add_of_few(dim):
    x, index = rng.standard_normal((3, 4, 5)).astype(np.float32), rng.integers(0, 3, 6)
    source = rng.standard_normal([6 if d == dim else n for d, n in enumerate(x.shape)]).astype(np.float32)
    expected = np.moveaxis(x.copy(), dim, 0)
    np.add.at(expected, index, np.moveaxis(source, dim, 0))
    for _ in range(40):  # NumPy's way, then machine code
        found = torch.tensor(x).index_add(dim, torch.tensor(index), torch.tensor(source))
        tiers.wait()
    np.testing.assert_array_equal(found.numpy(), np.moveaxis(expected, 0, dim))
    for wrong in (3 + dim, -1):
        with pytest.raises(RuntimeError, match="out of bounds"):
            torch.tensor(x).index_add(dim, torch.tensor([0, 0, 0, 0, 0, wrong]), torch.tensor(source))


@pytest.mark.parametrize("steps", [2, 3, 16, 33, 1 << 14])
def test_linspace_of_few(steps):
    for first, last in ((0, 1), (-3.7, 1e6), (1, 1), (-0.0, -0.0), (5, -2.5)):
        expected = ranges.linspace(first, last, steps, torch.float32)
        for _ in range(30):
            found = torch.linspace(first, last, steps)
            tiers.wait()
        np.testing.assert_array_equal(found.numpy().view(np.int32), expected.view(np.int32))


def test_plans_of_three_operands():
    a, b, c = (torch.randn(3, 4) for _ in range(3))
    # The product is not rounded before it is added: where the sum nearly cancels, that is most of the digits.
    expected = a.double().numpy() + b.double().numpy() * c.double().numpy()
    for _ in range(3):
        np.testing.assert_allclose(torch.addcmul(a, b, c).numpy(), expected, rtol=1e-6)
        with pytest.raises(RuntimeError, match="must match the size"):
            torch.addcmul(a, b, torch.ones(3))
        assert (
            torch.addcmul(a, torch.tensor(2.0), torch.tensor(3.0, dtype=torch.float64)).dtype is torch.float32
        )
        assert torch.clamp(a.to("meta"), 0, 1).device.type == "meta"
        grown = a.clone().requires_grad_()
        torch.clamp(grown, -0.5, 0.5).sum().backward()
        np.testing.assert_array_equal(grown.grad.numpy(), (abs(a.numpy()) <= 0.5).astype(np.float32))
    with pytest.raises(RuntimeError, match="At least one"):
        torch.clamp(a)


def test_functions_of_any_number_of_tensors_warn_their_caller():
    a = torch.arange(3)
    for call in (lambda: torch.meshgrid(a, a), lambda: torch.meshgrid([a, a])):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert [t.shape for t in call()] == [(3, 3)] * 2
        assert [w.filename for w in caught] == [__file__]
    assert torch.broadcast_tensors(tensors=[a, a])[0].shape == (3,)


@pytest.mark.parametrize("flat", [False, True])
def test_ctc_is_the_sum_over_alignments(flat):
    lengths, times = [3, 0, 1], [7, 5, 1]
    x, labels = torch.randn(7, 3, 5, dtype=torch.float64, requires_grad=True), torch.randint(1, 5, (3, 4))
    labels = torch.cat([row[:n] for row, n in zip(labels, lengths, strict=True)]) if flat else labels
    for reduction in ("none", "sum", "mean"):
        given = labels, torch.tensor(times), torch.tensor(lengths), 0, reduction
        assert torch.autograd.gradcheck(lambda x: F.ctc_loss(x.log_softmax(-1), *given), x)
    logs = x.detach().log_softmax(-1)
    one = F.ctc_loss(logs[:1], labels.reshape(-1)[:0], (1, 1, 1), (0, 0, 0), reduction="none")
    np.testing.assert_allclose(one.numpy(), -logs[0, :, 0].numpy(), rtol=1e-12)
    ways = [
        s
        for s in itertools.product(range(5), repeat=4)
        if [k for k, _ in itertools.groupby(s) if k] == [1, 1]
    ]
    total = sum(np.exp(sum(logs[t, 0, k].item() for t, k in enumerate(s))) for s in ways)
    found = F.ctc_loss(logs[:4, 0], torch.tensor([1, 1]), (4,), (2,), reduction="sum")
    np.testing.assert_allclose(found.item(), -np.log(total), rtol=1e-12)


def test_samples_of_any_grid_lie_in_order():
    image, flow = torch.randn(2, 3, 4, 5), torch.rand(2, 2, 6, 7) * 2 - 1
    turned = flow.permute(0, 2, 3, 1)
    found = F.grid_sample(image, turned, align_corners=False)
    assert found.is_contiguous()
    assert torch.equal(found, F.grid_sample(image, turned.contiguous(), align_corners=False))


@pytest.mark.parametrize("divisor", [None, 3])
def test_means_of_few_windows(divisor):
    image = torch.randn(2, 3, 7, 6)
    found = F.avg_pool2d(image, (3, 2), (2, 1), divisor_override=divisor)
    large = F.avg_pool2d(image.repeat(40, 1, 1, 1), (3, 2), (2, 1), divisor_override=divisor)
    assert found.shape == (2, 3, 3, 5) and torch.equal(found, large[:2])


@pytest.mark.parametrize("of", [torch.float32, torch.float64])
def test_probabilities_of_bernoulli(of):
    assert torch.bernoulli(torch.tensor([0.0, -0.0, 1.0], dtype=of)).tolist() == [0, 0, 1]
    for wrong in (-1e-6, 1.001, float("nan")):
        with pytest.raises(RuntimeError, match="probabilities must be"):
            torch.bernoulli(torch.tensor([0.5, wrong], dtype=of))


def test_draws_keep_no_generator():
    import gc
    import weakref

    p, found = torch.full((3, 4), 0.5), []
    for draw in (torch.bernoulli, lambda p, generator: torch.multinomial(p, 3, generator=generator)):
        for _ in range(3):
            generator = torch.Generator().manual_seed(1)
            found.append((weakref.ref(generator), draw(p, generator=generator)))
    del generator
    gc.collect()
    assert not any(alive() for alive, _ in found)
    assert torch.equal(found[0][1], found[2][1]) and torch.equal(found[3][1], found[5][1])
