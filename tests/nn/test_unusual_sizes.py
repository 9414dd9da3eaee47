"""Empty batches, scalars, samples for more than the batch, and modules that write in place on meta."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight.nn import functional as F


@pytest.mark.parametrize(
    ("module", "shape"),
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


def test_lengths_of_zero_have_no_slope():
    x, y = torch.tensor([3.0, 4.0], requires_grad=True), torch.zeros(2, requires_grad=True)
    torch.cosine_similarity(x, y, 0).backward()
    assert x.grad.tolist() == [0, 0] and torch.allclose(y.grad, torch.tensor([0.6, 0.8]) * 1e8)
    with pytest.raises(RuntimeError, match="eps must be non-negative"):
        torch.cosine_similarity(x, y, 0, eps=-1.0)
    assert torch.nn.functional.pdist(torch.full((2, 2), float("inf")), 0.0).isnan().all()


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: F.cosine_embedding_loss(torch.ones(5), torch.ones(5), torch.ones(5)), RuntimeError,
     "1D target tensor expects 2D input tensors"),
    (lambda: torch.nn.GroupNorm(10, 10)(torch.rand(1, 10, 1)), ValueError, "more than 1 value per channel"),
    (lambda: torch.nn.Linear(1, 1)(torch.tensor(1.0)), RuntimeError, "need to be at least 1D"),
    (lambda: torch.gru_cell(torch.ones(4, 8), torch.ones(4, 16), torch.ones(49, 8), torch.ones(48, 16)),
     RuntimeError, "weight_ih first dim must be 3"),
    (lambda: torch.nn.ReflectionPad1d(2)(torch.ones(3, 0, 10)), RuntimeError, "other non-zero dimensions"),
    (lambda: torch.nn.ReplicationPad1d(2)(torch.ones(2, 3, 10, 10)), NotImplementedError, "Padding size 2 is not"),
    (lambda: F.interpolate(torch.ones(1, 1, 4, 4), scale_factor=1e20, mode="bilinear"), RuntimeError, "int64_t"),
    (lambda: F.max_pool2d(torch.ones(1, 1, 4, 4), 2, stride=0), RuntimeError, "stride should not be zero"),
    (lambda: F.adaptive_max_pool1d(torch.ones(2, 2, 2), 1 << 61), RuntimeError, "overflowed"),
    (lambda: torch.nn.Linear(1, 1).to(torch.device("cpu"), True), TypeError, "invalid combination of arguments"),
])  # fmt: skip
def test_words_of_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_sizes_of_zero_and_of_one():
    for layer in (torch.nn.RNN(3, 4), torch.nn.LSTM(3, 4), torch.nn.GRU(3, 4)):
        out = layer(torch.zeros(5, 0, 3))[0]
        assert out.shape == (5, 0, 4)
        out.sum().backward()
    found = F.multi_margin_loss(torch.rand(10), torch.tensor([5]), reduction="none")
    assert found.shape == (1,)
    assert F.fractional_max_pool2d(torch.rand(1, 2, 8, 8), 2, output_size=(0, 1)).shape == (1, 2, 0, 1)


@pytest.mark.parametrize(
    "norm", [torch.nn.GroupNorm(2, 4), torch.nn.InstanceNorm2d(4), torch.nn.BatchNorm2d(4)]
)
def test_results_of_norms_may_be_written_to(norm):
    x = torch.randn(2, 4, 3, 3, requires_grad=True)
    for recorded in (True, False, True, True):
        with torch.set_grad_enabled(recorded):
            found = norm(x)
            assert found._is_view() == isinstance(norm, torch.nn.InstanceNorm2d)  # as in PyTorch
            torch.nn.functional.relu(found, inplace=True)
    found.sum().backward()
    assert x.grad is not None


def test_nothing_is_resampled_or_multiplied() -> None:
    assert F.interpolate(torch.zeros(0, 3, 4, 4), scale_factor=2).shape == (0, 3, 8, 8)
    x, weight = torch.zeros(2, 4, 5, requires_grad=True), torch.zeros(0, 5, requires_grad=True)
    F.linear(x, weight).sum().backward()
    assert weight.grad.shape == (0, 5) and x.grad.shape == (2, 4, 5)


def test_the_extra_size_of_a_transposed_convolution():
    layer = torch.nn.ConvTranspose2d(1, 1, 3, stride=2)
    x = torch.ones(1, 1, 4, 4)
    assert list(layer._output_padding(x, [10, 9], [2, 2], [0, 0], [3, 3], 2)) == [1, 0]
    assert list(layer._output_padding(x, [12, 12], [2, 2], [0, 0], [3, 3], 2, [2, 2])) == [1, 1]
    assert layer._output_padding(x, None, [2, 2], [0, 0], [3, 3], 2) == (0, 0)
    assert layer(x, output_size=[10, 9]).shape == (1, 1, 10, 9)


def test_convolutions_have_a_filter_for_each_group():
    for convolve in (F.conv2d, F.conv_transpose2d):
        with pytest.raises(RuntimeError, match="at least 1 at dimension 0"):
            convolve(torch.ones(1, 2, 5, 5), torch.ones(0, 2, 3, 3))
        with pytest.raises(
            RuntimeError, match=r"at least 2 at dimension 0, but got weight of size \[1, 1, 3, 3\]"
        ):
            convolve(torch.ones(1, 2, 5, 5), torch.ones(1, 1, 3, 3), groups=2)


def test_batch_norm_checks_each_form_of_its_operands():
    x, zeros, ones = torch.randn(4, 2, 5), torch.zeros(2), torch.ones(2)
    for _ in range(2):
        assert F.batch_norm(x, zeros, ones).shape == x.shape
        with pytest.raises(RuntimeError, match="running_mean must be defined in evaluation mode"):
            F.batch_norm(x, None, None)
        with pytest.raises(RuntimeError, match="weight should contain 2 elements not 3"):
            F.batch_norm(x, zeros, ones, torch.ones(3))
        with pytest.raises(RuntimeError, match="mixed dtype"):
            F.batch_norm(x.double(), zeros, ones)
        with pytest.raises(RuntimeError, match="running_mean"):
            F.batch_norm(x, torch.zeros(2, requires_grad=True), ones)
        with pytest.raises(ValueError, match="eps must be positive"):
            F.batch_norm(x, zeros, ones, training=True, eps=0)
        with pytest.raises(ValueError, match="more than 1 value per channel"):
            F.batch_norm(x[:1, :, :1], zeros, ones, training=True)


NUMPY_SIZES = {
    "avg_pool2d": lambda x, n: F.avg_pool2d(x, n(2), n(1), n(1)),
    "max_pool1d": lambda x, n: F.max_pool1d(x[0], n(2)),
    "lp_pool2d": lambda x, n: F.lp_pool2d(x, 2.0, n(2)),
    "adaptive_avg_pool1d": lambda x, n: F.adaptive_avg_pool1d(x[0], n(2)),
    "conv2d": lambda x, n: F.conv2d(x, torch.ones(1, 2, 3, 3), stride=n(2), padding=n(1)),
    "conv_transpose1d": lambda x, n: F.conv_transpose1d(
        x[:, 0, :2], torch.ones(2, 2, 3), stride=n(2), output_padding=n(1)
    ),
    "unfold": lambda x, n: F.unfold(x, n(2), stride=n(2)),
    "std": lambda x, n: x.std(n(1), True),
    "var": lambda x, n: x.var(dim=n(1), correction=n(0)),
    "tensor_split": lambda x, n: torch.cat(x.tensor_split(n(3), n(3))[1:], n(3)),
    "hsplit": lambda x, n: x[0, 0].hsplit(n(2))[1],
}


@pytest.mark.parametrize("name", NUMPY_SIZES)
def test_numpys_ints_are_sizes(name: str) -> None:
    x, run = torch.arange(48.0).view(1, 2, 4, 6), NUMPY_SIZES[name]
    torch.testing.assert_close(run(x, np.int64), run(x, int))
    torch.testing.assert_close(torch.jit.trace(lambda y: run(y, np.int64), x)(x), run(x, int))


def test_tables_of_no_columns_have_gradients() -> None:
    table = torch.randn(3, 0, requires_grad=True)
    F.embedding(torch.tensor([0, 2]), table).sum().backward()
    assert table.grad.shape == (3, 0)
