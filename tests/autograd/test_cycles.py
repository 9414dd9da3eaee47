"""Tensors and graphs go when the last name of theirs does, not when Python's collector of cycles runs."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.utils.checkpoint import checkpoint


def _net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 4))


def _step() -> None:
    net = _net()
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(5, 8)).square().mean().backward()
        optimizer.step()


def _checkpoint() -> None:
    checkpoint(_net(), torch.randn(5, 8, requires_grad=True), use_reentrant=False).sum().backward()


def _checkpoint_without_backward() -> None:
    checkpoint(_net(), torch.randn(5, 8, requires_grad=True), use_reentrant=False).sum()


def _packed() -> None:
    x = torch.randn(5, 8, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), torch.from_numpy):
        torch.cat([x.exp() * x, x]).softmax(-1).sum()


def _written_over() -> None:
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        x = torch.randn(2, 3, requires_grad=True).clone()
        (x**2).sum()
        x.sin_()


def _hooks() -> None:
    net = _net()
    net.register_forward_hook(lambda module, args, out: out * 2)
    net[0].register_full_backward_hook(lambda module, into, out: None)
    net(torch.randn(5, 8, requires_grad=True)).sum().backward()


def _twice() -> None:
    x = torch.randn(5, requires_grad=True)
    torch.autograd.grad((x**3).sum(), x, create_graph=True)[0].sum().backward()
    x.grad = None  # which is part of the graph that it is computed by


def _failing_hook() -> None:
    def hook(grad: Any) -> None:
        raise ValueError("no")

    x = torch.randn(3, requires_grad=True)
    y = x * 2
    y.register_hook(hook)
    with pytest.raises(ValueError):
        y.sum().backward()


class _Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.mark_dirty(x)
        x.mul_(2)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        kept: torch.Tensor = ctx.saved_tensors[0]
        return grad * kept


def _function_in_place() -> None:
    x = torch.randn(3, requires_grad=True)
    _Doubled.apply(x * 1)
    _Doubled.apply(x * 1).sum().backward()


def _chain() -> None:
    torch.linalg.multi_dot([torch.randn(3, 4), torch.randn(4, 5), torch.randn(5, 2)])


def _transforms() -> None:
    def loss(w: Any, x: Any) -> Any:
        return (w * x).sin().sum()

    torch.func.vmap(torch.func.grad(loss), (None, 0))(torch.randn(4), torch.randn(6, 4))
    torch.func.hessian(lambda x: (x**3).sum())(torch.randn(3))


def _recurrent() -> None:
    nn.LSTM(4, 8, 2, bidirectional=True)(torch.randn(7, 3, 4))[0].sum().backward()


_CASES = [
    _step,
    _checkpoint,
    _checkpoint_without_backward,
    _packed,
    _written_over,
    _hooks,
    _twice,
    _failing_hook,
    _function_in_place,
    _chain,
    _transforms,
    _recurrent,
]


@pytest.mark.parametrize("run", _CASES, ids=lambda run: run.__name__[1:])
def test_nothing_waits_for_the_collector(run: Callable[[], None]) -> None:
    run()
    gc.collect()
    gc.disable()
    try:
        run()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        kept = [
            o
            for o in gc.garbage
            if isinstance(o, (torch.Tensor, nn.Module)) or type(o).__name__.endswith(("Backward0", "Grad"))
        ]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not kept
