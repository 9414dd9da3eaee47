"""A result that the gradient does not read may be written to, as in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight.nn import functional as F

TARGET = torch.tensor([0, 1, 2, 3])
CASES: dict[str, Any] = {
    "topk": lambda x: x.topk(2, -1)[0],
    "sort": lambda x: x.sort(-1)[0],
    "max": lambda x: x.max(-1)[0],
    "median": lambda x: x.median(-1)[0],
    "kthvalue": lambda x: x.kthvalue(2, -1)[0],
    "cummax": lambda x: x.cummax(-1)[0],
    "frexp": lambda x: torch.frexp(x)[0],
    "slogdet": lambda x: torch.linalg.slogdet(x[:, :4])[1],
    "max_pool1d": lambda x: F.max_pool1d(x[None], 2),
    "cross_entropy": lambda x: F.cross_entropy(x, TARGET),
    "nll_loss": lambda x: F.nll_loss(x.log_softmax(-1), TARGET),
    "softsign": F.softsign,
    "normalize": F.normalize,
    "quotient": lambda x: x / (x * x + 1),
}


@pytest.mark.parametrize("name", CASES)
def test_gradient_after_a_write(name: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    (CASES[name](x) * 3).sum().backward()
    wanted, x.grad = x.grad, None
    CASES[name](x).mul_(3).sum().backward()
    assert torch.equal(x.grad, wanted)


@pytest.mark.parametrize("name", ["exp", "sigmoid", "softmax", "qr"])
def test_what_the_gradient_reads_may_not(name: str) -> None:
    x = torch.randn(4, 4, requires_grad=True)
    found = {
        "exp": x.exp,
        "sigmoid": x.sigmoid,
        "softmax": lambda: x.softmax(0),
        "qr": lambda: torch.linalg.qr(x)[0],
    }[name]()
    found.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        found.sum().backward()


@pytest.mark.parametrize(
    "name", ["relu_", "exp_", "sigmoid_", "tanh_", "sqrt_", "rsqrt_", "reciprocal_", "expm1_"]
)
def test_nor_what_an_in_place_op_wrote(name: str) -> None:
    x = (torch.rand(4) + 0.1).requires_grad_()
    wanted = torch.autograd.grad(getattr(x, name[:-1])().sum(), x)[0]
    written = x * 1
    getattr(written, name)()
    assert torch.equal(torch.autograd.grad(written.sum(), x, retain_graph=True)[0], wanted)
    written.mul_(2)
    with pytest.raises(RuntimeError, match=r"output 0 of \w+, is at version 2; expected version 1"):
        written.sum().backward()


def test_an_in_place_op_holds_its_result_once() -> None:
    x = torch.randn(4, requires_grad=True)
    written = torch.relu_(x * 1)
    assert written.grad_fn._saved_result.data_ptr() == written.data_ptr()
    part = x * 1
    torch.relu_(part[1:3])
    part.sum().backward()
    assert x.grad.tolist() == [1.0, *(x[1:3] > 0).float().tolist(), 1.0]


def _chain(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor | None]]:
    """A value after many tracked writes into it, and the gradients."""
    x.grad = w.grad = None
    y = x * 2
    y.mul_(w).mul_(y).add_(w, alpha=2).add_(1)
    y = torch.nn.functional.relu(y, inplace=True) / 3
    y.sigmoid_().sum().backward()
    return y, [x.grad, w.grad]


def test_later_tracked_writes_are_like_the_first() -> None:
    x, w = (torch.randn(4, 5, requires_grad=True) for _ in "xw")
    y, (first, second) = _chain(x, w)
    of = torch.relu((x * 2 * w) ** 2 + 2 * w + 1).div(3).sigmoid()
    torch.testing.assert_close(y, of)
    torch.testing.assert_close(torch.autograd.grad(of.sum(), (x, w)), (first, second))
    for _ in range(3):
        again, grads = _chain(x, w)
        assert torch.equal(again, y) and y.grad_fn.name() == again.grad_fn.name() == "SigmoidBackward0"
        assert torch.equal(grads[0], first) and torch.equal(grads[1], second)


def test_planned_tracked_writes_refuse_and_follow_views() -> None:
    w = torch.ones(3, requires_grad=True)
    for _ in range(4):
        base = torch.zeros(2, 3)
        base[0].mul_(2)
        base[1].add_(w)
        assert base.grad_fn.name().endswith("CopySlices")
        kept = w * 2
        kept.retain_grad()
        kept.mul_(3)
        kept.sum().backward()
        assert kept.grad.tolist() == [1.0] * 3
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            w.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            (saved := w.exp()).add_(1)
            saved.sum().backward()
