"""Gradients, and gradients of gradients, where functions have seams: at 0, at ties, at bounds, at nan.

The numbers are PyTorch's (2.13), of float64.
"""

import math

import pytest

import rushlight as torch
from rushlight.nn import functional as F

NAN, INF = math.nan, math.inf


def derivatives(function, *values):
    """The gradients of a function's sum, and of each gradient's sum, which are None where there is none."""
    inputs = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in values]
    firsts = torch.autograd.grad(function(*inputs).sum(), inputs, create_graph=True)
    nothing = [None] * len(inputs)
    seconds = [
        torch.autograd.grad(g.sum(), inputs, retain_graph=True, allow_unused=True)
        if g.requires_grad
        else nothing
        for g in firsts
    ]
    return [g.tolist() for g in firsts], [[h if h is None else h.tolist() for h in row] for row in seconds]


def same(found, expected):
    assert found == pytest.approx(expected, nan_ok=True, rel=1e-8)


LOG2 = math.log(2)


@pytest.mark.parametrize(
    ("function", "input", "other", "expected"),
    [
        (torch.xlogy, [0.0, 0.0, 0.0, 1.0], [2.0, 0.0, -1.0, 2.0], [[LOG2, 0, 0, LOG2], [0, NAN, 0, 0.5]]),
        (torch.special.xlog1py, [0.0, 0.0, 1.0], [1.0, -1.0, 1.0], [[LOG2, 0, LOG2], [0, NAN, 0.5]]),
    ],
)
def test_products_with_logarithms(function, input, other, expected):
    for found, wanted in zip(derivatives(function, input, other)[0], expected, strict=True):
        same(found, wanted)


def test_concentrations_of_one():
    concentration = torch.ones(3, requires_grad=True)
    value = torch.tensor([0.2, 1.0, 3.0])
    density = torch.distributions.Gamma(concentration, torch.ones(3)).log_prob(value)
    (found,) = torch.autograd.grad(density.sum(), concentration)
    same(found.tolist(), (value.log() - torch.digamma(torch.ones(3))).tolist())


@pytest.mark.parametrize(("function", "curve"), [(torch.logaddexp, 0.25), (torch.logaddexp2, 0.25 * LOG2)])
def test_sums_of_exponentials_at_ties(function, curve):
    firsts, seconds = derivatives(function, [0.0, 1.0, -700.0], [0.0, 1.0, -700.0])
    same(firsts[0], [0.5] * 3)
    same(seconds[0][0], [curve] * 3)
    same(seconds[0][1], [-curve] * 3)


def test_logistic_losses_at_0():
    firsts, seconds = derivatives(F.logsigmoid, [0.0, 1.0])
    same(firsts[0], [0.5, 1 / (1 + math.e)])
    same(seconds[0][0], [-0.25, -math.e / (1 + math.e) ** 2])

    def loss(x):
        return F.binary_cross_entropy_with_logits(
            x, torch.tensor([1.0, 0.0], dtype=x.dtype), reduction="none"
        )

    firsts, seconds = derivatives(loss, [0.0, 0.0])
    same(firsts[0], [-0.5, 0.5])
    same(seconds[0][0], [0.25, 0.25])


def test_robust_losses():
    zeros = torch.zeros(5, dtype=torch.float64)

    def huber(x):
        return F.huber_loss(x, zeros, delta=2.0, reduction="none")

    def smooth(x):
        return F.smooth_l1_loss(x, zeros, beta=0.5, reduction="none")

    firsts, seconds = derivatives(huber, [0.0, 1.0, 2.0, -3.0, NAN])
    same(firsts[0], [0, 1, 2, -2, NAN])
    same(seconds[0][0][:4], [1, 1, 0, 0])
    firsts, seconds = derivatives(smooth, [0.0, 0.25, 0.5, -3.0, NAN])
    same(firsts[0], [0, 0.5, 1, -1, NAN])
    same(seconds[0][0][:4], [2, 2, 0, 0])


def test_deviations_of_the_same_numbers():
    for function in (torch.std, lambda x: x.std(0, correction=0), lambda x: torch.std_mean(x)[0]):
        same(derivatives(function, [3.0] * 4)[0][0], [0] * 4)
    found = derivatives(lambda x: x.std(1), [[1.0, 1.0], [1.0, 3.0]])[0][0]
    same(found[0], [0, 0])
    same(found[1], [-(0.5**0.5), 0.5**0.5])


def test_cross_entropies_at_the_wrong_end():
    target = torch.tensor([0.3, 1.0, 0.0, 0.7], dtype=torch.float64)

    def loss(x):
        return F.binary_cross_entropy(x, target, reduction="sum")

    same(derivatives(loss, [0.0, 1.0, 0.5, 0.25])[0][0], [-3e11, 0, 2, -2.4])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (F.relu, [0, 0, 1, 1]),
        (F.relu6, [0, 0, 1, 1]),
        (F.hardtanh, [0, 1, 0, 1]),
        (F.elu, [math.exp(-1), 1, 1, 1]),
        (F.celu, [math.exp(-1), 1, 1, 1]),
        (lambda x: x.clamp(-1, 1), [1, 1, 1, 0]),
        (lambda x: x.clamp(min=0), [0, 1, 1, 0]),
        (lambda x: x.clamp(max=0), [1, 1, 0, 0]),
    ],
)
def test_bounds_and_nan(function, expected):
    same(derivatives(function, [-1.0, 0.0, 1.0, NAN])[0][0], expected)


def test_logits():
    same(derivatives(torch.logit, [0.0, 1.0, 0.5, 2.0])[0][0], [INF, INF, 4, NAN])
    same(derivatives(lambda x: torch.logit(x, 0.25), [0.0, 0.5, 2.0])[0][0], [0, 4, 0])
