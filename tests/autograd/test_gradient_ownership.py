"""A gradient that nobody else holds becomes the leaf's own, without a copy; the engine tells by reference counts."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch


class Handing(torch.autograd.Function):
    """The identity, whose gradient is a new tensor; `noted` gets its address, `held` the tensor itself."""

    noted: list[int] = []
    held: list[Any] | None = None

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        made = grad * 2
        Handing.noted.append(made.data_ptr())
        if Handing.held is not None:
            Handing.held.append(made)
        return made


@pytest.fixture(autouse=True)
def _fresh() -> Any:
    Handing.noted.clear()
    yield
    Handing.held = None


def test_a_gradient_of_its_own_is_not_copied() -> None:
    x = torch.ones(1000, requires_grad=True)
    Handing.apply(x).sum().backward()
    assert x.grad.data_ptr() == Handing.noted[0]


def test_a_gradient_that_a_program_holds_is_copied() -> None:
    Handing.held = []
    x = torch.ones(1000, requires_grad=True)
    Handing.apply(x).sum().backward()
    assert x.grad.data_ptr() != Handing.noted[0]
    Handing.held[0].zero_()
    assert x.grad.eq(2).all()


def test_gradients_of_rows_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    from rushlight._engine.autograd import hooks

    monkeypatch.setattr(hooks, "duplicate", lambda a: pytest.fail("a gradient was copied"))
    x = torch.randn(30, 40, requires_grad=True)
    w = torch.randn(40, 50, requires_grad=True)
    (x.tanh() @ w).exp().sum().backward()
    assert x.grad is not None and w.grad is not None


def test_the_only_view_of_its_memory_becomes_the_leafs_own() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    made = []

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.reshape(12) * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            found = grad * 2
            made.append(found.data_ptr())
            return found.reshape(3, 4)

    Function.apply(x).sum().backward()
    assert x.grad is not None and x.grad.data_ptr() == made[0]
    held = torch.ones(12)
    (x.detach().requires_grad_()).reshape(12).backward(held)
    y = torch.randn(3, 4, requires_grad=True)
    y.reshape(12).backward(held)
    assert y.grad is not None
    y.grad.zero_()
    assert held.tolist() == [1.0] * 12


def test_parts_of_one_memory_do_not_share_it() -> None:
    x, y = (torch.randn(3, requires_grad=True) for _ in range(2))
    grad = torch.ones(2, 3)
    torch.stack([x, y]).backward(grad)
    assert x.grad is not None and y.grad is not None
    x.grad.zero_()
    assert y.grad.tolist() == [1.0] * 3 and grad.tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("given", [torch.float64, torch.float16, torch.int64, torch.bool])
def test_a_given_gradient_is_read_in_the_dtype_of_its_output(given: torch.dtype) -> None:
    x, w = torch.ones(3, 4, requires_grad=True), torch.ones(4, 2, requires_grad=True)
    ones = torch.ones(3, 2, dtype=given)
    for found in torch.autograd.grad(x @ w, (x, w), ones):
        assert found.dtype is torch.float32
    assert torch.autograd.grad(x, x, torch.ones(3, 4, dtype=given))[0].dtype is torch.float32
    (x @ w).backward(ones)
    assert x.grad is not None and x.grad.tolist() == [[2.0] * 4] * 3
    batch = torch.autograd.grad(x @ w, x, ones[None], is_grads_batched=True)[0]
    assert batch.dtype is torch.float32 and batch.shape == (1, 3, 4)
    weight = torch.ones(3, 2, dtype=torch.float64, requires_grad=True)
    (through,) = torch.autograd.grad(x @ w, x, weight, create_graph=True)
    assert torch.autograd.grad(through.sum(), weight)[0].dtype is torch.float64
