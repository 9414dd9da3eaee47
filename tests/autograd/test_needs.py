"""A backward pass for some inputs computes no gradients for others."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.core.recording import TAPE
from rushlight.utils.flop_counter import FlopCounterMode

F = torch.nn.functional


def _work(inputs: Any, out: Any) -> int:
    with FlopCounterMode(display=False) as counter:
        torch.autograd.grad(out, inputs, torch.ones_like(out), retain_graph=True)
    return int(counter.get_total_flops())


def test_gradients_that_nobody_asked_for() -> None:
    assert not TAPE
    a, b = torch.randn(8, 16, requires_grad=True), torch.randn(16, 4, requires_grad=True)
    out = a @ b
    assert _work((a,), out) == _work((b,), out) == _work((a, b), out) // 2
    x, w = torch.randn(1, 4, 8, 8, requires_grad=True), torch.randn(4, 4, 3, 3, requires_grad=True)
    out = F.conv2d(x, w)
    assert _work((x,), out) and _work((x,), out) + _work((w,), out) == _work((x, w), out)


def test_passes_within_passes_want_what_they_want() -> None:
    a, b = torch.randn(3, 3, requires_grad=True), torch.randn(3, 3, requires_grad=True)
    inner: list[Any] = []

    def hook(grad: Any) -> None:
        with torch.enable_grad():
            p, q = torch.randn(2, 2, requires_grad=True), torch.randn(2, 2, requires_grad=True)
            (p @ q).sum().backward()
        inner.append((p.grad is not None, q.grad is not None))

    middle = a @ b
    middle.register_hook(hook)
    (found,) = torch.autograd.grad((middle @ b).sum(), (a,), retain_graph=True)
    assert inner == [(True, True)] and found is not None
    (middle @ b).sum().backward(inputs=[b], retain_graph=True)
    assert a.grad is None and b.grad is not None
    (middle @ b).sum().backward()
    assert a.grad is not None and torch.equal(a.grad, found)


def test_gradients_of_a_dict_of_inputs_and_of_none() -> None:
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    found = torch.autograd.grad((x * 2 + y).sum(), {"x": x, "y": y})
    assert {name: t.tolist() for name, t in found.items()} == {"x": [2.0, 2.0], "y": [1.0, 1.0]}
    torch.autograd.backward((x * 3 + y).sum(), inputs={"x": x})
    assert (x.grad.tolist(), y.grad) == ([3.0, 3.0], None)
    for nothing in ([], (), {}):
        with pytest.raises(RuntimeError, match="`inputs` argument to `grad\\(\\)` cannot be empty"):
            torch.autograd.grad((x * 2).sum(), nothing)
    with pytest.raises(TypeError, match="must be a dict, not mappingproxy. Other Mapping types are not"):
        torch.autograd.grad((x * 2).sum(), MappingProxyType({"x": x}))


def test_results_without_a_gradient_may_get_none():
    seen = []

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            one, two = x.clone(), x.clone()
            ctx.mark_non_differentiable(two)
            ctx._materialize_non_diff_grads = False
            return one, two

        @staticmethod
        def backward(ctx, *grads):
            seen.extend(grads)
            return grads[0]

    Two.apply(torch.ones(1, requires_grad=True))[0].backward()
    assert seen[0].item() == 1 and seen[1] is None
