"""Losses of classes over planes and with weights: one pass, the values of log_softmax and nll_loss."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch

F = torch.nn.functional


@pytest.mark.parametrize("shape", [(6, 5), (3, 5, 4), (2, 7, 8, 9), (2, 21, 40, 41)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_is_that_of_log_probabilities(
    shape: tuple[int, ...], weighted: bool, reduction: str
) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    target, weight = torch.randint(0, 5, (shape[0], *shape[2:])), torch.rand(shape[1], dtype=torch.float64)
    target.view(-1)[:2] = -100
    own = weight if weighted else None
    wanted = F.nll_loss(x.log_softmax(1), target, own, reduction=reduction)
    (slope,) = torch.autograd.grad(wanted, x, torch.full_like(wanted, 1.5))
    for _ in range(3):  # also once there are plans
        found = F.cross_entropy(x, target, own, reduction=reduction)
        (ours,) = torch.autograd.grad(found, x, torch.full_like(found, 1.5))
        torch.testing.assert_close(found, wanted)
        torch.testing.assert_close(ours, slope)
        assert ours.is_contiguous()


def test_rows_that_do_not_count_may_be_infinite() -> None:
    x = torch.zeros(2, 3, 4)
    x[0, :, 0] = -torch.inf
    target = torch.zeros(2, 4, dtype=torch.int64)
    target[0, 0] = -100
    torch.testing.assert_close(F.cross_entropy(x, target), torch.tensor(3.0).log())


def test_slopes_of_slopes() -> None:
    x = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    target, weight = torch.randint(0, 4, (2, 3)), torch.rand(4, dtype=torch.float64)

    def loss(x: Any) -> Any:
        return F.cross_entropy(x, target, weight)

    assert torch.autograd.gradcheck(loss, (x,)) and torch.autograd.gradgradcheck(loss, (x,))


@pytest.mark.parametrize("bad", [4, -1])
def test_classes_out_of_range(bad: int) -> None:
    for weight in (None, torch.ones(4)):
        with pytest.raises(IndexError, match=f"Target {bad} is out of bounds"):
            F.cross_entropy(torch.randn(2, 4, 3), torch.full((2, 3), bad), weight)


@pytest.mark.parametrize("shape", [(6, 10), (400, 300)])
@pytest.mark.parametrize("compiled", [False, True])
def test_cross_entropy_of_logits_far_from_zero(shape: tuple[int, int], compiled: bool) -> None:
    torch.manual_seed(0)
    x = (torch.randn(shape) + 1e4).requires_grad_()
    exact = x.detach().double().requires_grad_()
    target = torch.randint(0, shape[1], shape[:1])
    wanted = F.cross_entropy(exact, target)
    (slopes,) = torch.autograd.grad(wanted, exact)
    call = torch.compile(F.cross_entropy) if compiled else F.cross_entropy
    for _ in range(4):
        loss = call(x, target)
        torch.testing.assert_close(loss.double(), wanted, rtol=1e-6, atol=0.0)
        (found,) = torch.autograd.grad(loss, x)
        torch.testing.assert_close(found.double(), slopes, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("shape", [(3, 4), (64, 10), (300, 400), (5, 1)])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_margins_of_rows(shape: tuple[int, int], p: int, reduction: str) -> None:
    torch.manual_seed(0)
    x, target = torch.randn(shape), torch.randint(0, shape[1], shape[:1])
    own = x.gather(1, target[:, None])
    apart = (0.7 - own + x).clamp(min=0) ** p * (torch.arange(shape[1]) != target[:, None])
    wanted = apart.sum(1) / shape[1]
    wanted = wanted if reduction == "none" else getattr(wanted, reduction)()
    for _ in range(3):
        found = F.multi_margin_loss(x, target, p, 0.7, reduction=reduction)
        torch.testing.assert_close(found, wanted)
        tracked = F.multi_margin_loss(x.clone().requires_grad_(), target, p, 0.7, reduction=reduction)
        torch.testing.assert_close(tracked.detach(), wanted)
    with pytest.raises(RuntimeError, match="target out of range"):
        F.multi_margin_loss(x, target + shape[1], p, reduction=reduction)


def test_targets_of_margin_losses_that_do_not_fit() -> None:
    one, number = torch.zeros(1), torch.zeros(())
    for input in (one, number):
        for target in (one.long(), number.long()):
            assert F.multilabel_margin_loss(input, target).item() == 0
    with pytest.raises(RuntimeError, match=r"inconsistent target size: \[2\] for input of size: \[\]"):
        F.multilabel_margin_loss(number, torch.zeros(2, dtype=torch.long))
    assert F.multi_margin_loss(torch.zeros(1, 1), number.long(), reduction="none").shape == ()
    message = r"Expected target size \[2\], but got \[1\]. Input has shape \[2, 2\]."
    with pytest.raises(RuntimeError, match=message):
        F.multi_margin_loss(torch.zeros(2, 2), torch.zeros(1, dtype=torch.long))
