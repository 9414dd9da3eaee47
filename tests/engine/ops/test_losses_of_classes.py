"""cross_entropy where its one pass each way could go wrong: precision, writes after it, nothing that counts."""

import math

import pytest

import rushlight as torch
import rushlight.nn.functional as F

ROWS = torch.tensor([[0.0, 1, 2, 3, 4], [1, 0, 0, 2, 2]])


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6])
def test_large_logits_lose_nothing(offset):
    logits = (ROWS + offset)[:, :, None].requires_grad_()
    loss = F.cross_entropy(logits, torch.tensor([[1], [2]]))
    loss.backward()
    assert loss.item() == pytest.approx(3.2110719680786133, abs=1e-6)
    assert abs(logits.grad.sum().item()) < 1e-6


def test_logits_may_be_written_to_before_backward():
    leaf = torch.linspace(-2, 2, 60).view(3, 4, 5).requires_grad_()
    target = torch.arange(15).view(3, 5) % 4
    logits = leaf * 1
    loss = F.cross_entropy(logits, target)
    logits.clamp_(-1, 1)
    loss.backward()
    found, leaf.grad = leaf.grad.clamp(-1, 1), None
    F.cross_entropy(leaf * 1, target).backward()
    assert not found.equal(torch.zeros_like(found))


@pytest.mark.parametrize("shape", [(3, 4), (3, 4, 2)])
@pytest.mark.parametrize("weighted", [False, True])
def test_where_nothing_counts_the_mean_is_nan_and_has_no_gradient(shape, weighted):
    logits = torch.linspace(-1, 1, math.prod(shape)).view(shape).requires_grad_()
    target = torch.full((shape[0], *shape[2:]), -100)
    loss = F.cross_entropy(logits, target, torch.ones(4) if weighted else None)
    loss.backward()
    assert loss.isnan() and logits.grad.eq(0).all()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_derivatives(reduction):
    logits = torch.linspace(-1, 1, 24, dtype=torch.float64).sin().view(3, 4, 2).requires_grad_()
    target, weight = (
        torch.tensor([[0, 1], [-100, 3], [2, 2]]),
        torch.tensor([1.0, 2, 0.5, 3], dtype=torch.float64),
    )

    def loss(x):
        return F.cross_entropy(x, target, weight, reduction=reduction)

    assert torch.autograd.gradcheck(loss, logits) and torch.autograd.gradgradcheck(loss, logits)


def test_probabilities_of_no_rows():
    assert F.cross_entropy(torch.zeros(0, 3), torch.zeros(0, 3)).isnan()
