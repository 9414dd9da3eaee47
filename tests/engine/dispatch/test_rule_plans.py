"""Gradient rules that are planned: what a later backward pass gives is what the first did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.dispatch.nodes import declared
from rushlight._engine.dispatch.runners.rule_plans import PATIENCE
from rushlight._engine.kernels.runtime import tiers

F = torch.nn.functional
X, W, B = (4, 6, 6), (5, 6), (5,)
# A call on operands of given shapes.
CALLS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "linear": (F.linear, ((4, 6), W, B)),
    "linear of three dims": (F.linear, (X, W, B)),
    "linear, no bias": (F.linear, ((4, 6), W)),
    "linear of a vector": (F.linear, ((4, 6), (6,))),
    "mm": (torch.mm, ((4, 6), (6, 3))),
    "mm of one matrix": (lambda x: torch.mm(x, x), ((4, 4),)),
    "bmm": (torch.bmm, (X, X)),
    "softmax": (lambda x: x.softmax(-1), (X,)),
    "softmax along columns": (lambda x: x.softmax(1), (X,)),
    "log_softmax": (lambda x: x.log_softmax(-1), (X,)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (6,), w, b), (X, (6,), (6,))),
    "conv2d": (F.conv2d, ((2, 3, 8, 8), (4, 3, 3, 3), (4,))),
    "conv1d, no bias": (F.conv1d, ((2, 3, 8), (4, 3, 3))),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), ((4, 3, 5), (3,), (3,))),
    "cross_entropy": (lambda x: F.cross_entropy(x, torch.tensor([1, 5, 0, 2])), ((4, 6),)),
    "cross_entropy, one by one": (
        lambda x: F.cross_entropy(x, torch.tensor([1, -100, 0, 2]), reduction="none"),
        ((4, 6),),
    ),
}


def bits(tensors: Any) -> list[Any]:
    return [
        None if t is None else t.detach().contiguous().view(torch.uint8).numpy().tobytes() for t in tensors
    ]


@pytest.mark.parametrize("of", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", CALLS)
def test_each_pass_gives_the_same(name: str, of: Any) -> None:
    torch.manual_seed(0)
    call, shapes = CALLS[name]
    values = [torch.randn(s).to(of) for s in shapes]
    seed = torch.randn(call(*values).shape).to(of)
    for wanted in (
        [True] * len(values),
        [k == 0 for k in range(len(values))],
        [k > 0 for k in range(len(values))],
    ):
        if not any(wanted):
            continue
        first = None
        for number in range(PATIENCE + 5):
            given = [v.clone().requires_grad_(on) for v, on in zip(values, wanted, strict=True)]
            call(*given).backward(seed)
            found = bits([t.grad for t in given])
            first = first or found
            assert found == first, number
            if number == PATIENCE + 1:
                tiers.wait()
        # By the rule itself, as somebody listens.
        given = [v.clone().requires_grad_(on) for v, on in zip(values, wanted, strict=True)]
        out = call(*given)
        with torch.autograd.profiler.profile(record_shapes=True):
            out.backward(seed)
        assert bits([t.grad for t in given]) == first


def test_plans_are_made_and_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    x, layer = torch.randn(3, 7), torch.nn.Linear(7, 2)
    for _ in range(PATIENCE + 2):
        layer(x).sum().backward()
    run, ran = declared._run, list[str]()

    def noted(node: Any, grads: Any) -> Any:
        ran.append(node.name())
        return run(node, grads)

    monkeypatch.setattr(declared, "_run", noted)
    for _ in range(5):  # where a kernel becomes machine code, its plan is made anew
        tiers.wait()
        ran.clear()
        layer(x).sum().backward()
        if "AddmmBackward0" not in ran:
            break
    assert "AddmmBackward0" not in ran
    for _ in range(PATIENCE):  # what comes seldom is not learnt
        ran.clear()
        layer(x[:2]).sum().backward()
        assert "AddmmBackward0" in ran


def test_what_a_plan_must_not_take() -> None:
    class Own(torch.Tensor):
        pass

    layer: Any = torch.nn.Linear(3, 2)
    x = torch.randn(4, 3)
    for _ in range(PATIENCE + 2):
        layer(x.clone().requires_grad_()).sum().backward()
    # Something that was saved has changed.
    y = x.clone().requires_grad_()
    out = layer(y)
    with torch.no_grad():
        layer.weight.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
    # Gradients of gradients, and for some inputs alone.
    (g,) = torch.autograd.grad(layer(y).square().sum(), y, create_graph=True)
    assert g.grad_fn is not None
    before = layer.weight.grad.clone()
    layer(y).sum().backward(inputs=[y])
    assert torch.equal(layer.weight.grad, before)
    # Hooks that pack what is saved, twice the same graph, a class of a program's own.
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t * 2):
        out = layer(y)
    (doubled,) = torch.autograd.grad(out.sum(), y)
    torch.testing.assert_close(doubled, (layer.weight.detach().sum(0) * 2).expand(4, 3))
    out = layer(y)
    kept = torch.autograd.grad(out.sum(), y, retain_graph=True)
    assert torch.equal(kept[0], torch.autograd.grad(out.sum(), y)[0])
    with pytest.raises(RuntimeError, match="second time"):
        out.sum().backward()
    assert type(layer(x.as_subclass(Own))) is Own
    layer(x.as_subclass(Own)).sum().backward()


def test_gradients_are_nobody_elses() -> None:
    x = torch.randn(4, 4)
    for _ in range(PATIENCE + 3):
        a: Any = x.clone().requires_grad_()
        b: Any = x.clone().requires_grad_()
        g = torch.ones(4, 4)
        torch.mm(a, b).backward(g)
        assert a.grad.data_ptr() not in (b.grad.data_ptr(), g.data_ptr())
        a.grad.zero_()
        assert b.grad.abs().sum() > 0 and g.eq(1).all()
