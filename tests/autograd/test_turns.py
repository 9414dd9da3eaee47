"""When leaves get their gradients, where hooks or memory show it: each after the last node that leads to it."""

import tracemalloc
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F


def watched(log: list[str], **leaves: Any) -> None:
    for name, leaf in leaves.items():
        leaf.register_post_accumulate_grad_hook(lambda _, name=name: log.append(name))


def noted(log: list[str], name: str, t: Any) -> Any:
    t.register_hook(lambda _: log.append(name))
    return t


def layers(log: list[str]) -> None:
    m = nn.Sequential(nn.Linear(4, 5), nn.LayerNorm(5), nn.Linear(5, 3))
    watched(log, **{name.replace(".", ""): p for name, p in m.named_parameters()})
    m[2](noted(log, "h1", m[1](noted(log, "h0", m[0](torch.ones(2, 4)))))).sum().backward()


def tied(log: list[str]) -> None:
    m = nn.Linear(4, 4)
    watched(log, weight=m.weight, bias=m.bias)
    m(noted(log, "h", m(torch.ones(2, 4)))).sum().backward()


def branches(log: list[str]) -> None:
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    watched(log, a=a, b=b)
    u = noted(log, "u", a * 2)
    (noted(log, "w", a.exp()) * noted(log, "v", u * b)).sum().backward()


def some(log: list[str]) -> None:
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    watched(log, a=a, b=b)
    (noted(log, "u", a * b) * b).sum().backward(inputs=[a, b])


def roots(log: list[str]) -> None:
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    watched(log, a=a, b=b)
    first = (noted(log, "u", a * b) * b).sum()
    torch.autograd.backward([first, noted(log, "s", a.sin()).sum()])


def embedded(log: list[str]) -> None:
    e, m = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
    watched(log, e=e.weight, m=m.weight)
    F.cross_entropy(m(noted(log, "h", e(torch.tensor([1, 2])))), torch.tensor([1, 2])).backward()


@pytest.mark.parametrize(
    ("case", "order"),
    [  # as PyTorch 2.13 does
        (layers, "2bias 2weight h1 1weight 1bias h0 0bias 0weight"),
        (tied, "h bias weight"),
        (branches, "v b w u a"),
        (some, "u a b"),
        (roots, "s u a b"),
        (embedded, "m h e"),
    ],
)
def test_hooks_see_the_order(case: Any, order: str) -> None:
    log: list[str] = []
    case(log)
    assert " ".join(log) == order


def test_a_hook_sees_the_gradients_that_are_there() -> None:
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    seen = []
    h = a.exp()
    h.register_hook(lambda _: seen.append((a.grad is None, b.grad is None)))
    (h * b).sum().backward()
    assert seen == [(True, False)]


def _step(w: Any) -> None:
    w.data.sub_(w.grad)
    w.grad = None


@pytest.mark.parametrize("accumulating", [False, True])
def test_gradients_are_freed_as_backward_goes(accumulating: bool) -> None:
    """A step in the backward keeps one gradient at a time; so does adding to gradients that exist."""
    size, count = 256, 8
    weights = [torch.full((size, size), 0.01, requires_grad=True) for _ in range(count)]
    for w in weights:
        if accumulating:
            w.grad = torch.zeros(size, size)
        else:
            w.register_post_accumulate_grad_hook(_step)
    x = torch.ones(1, size)
    for w in weights:
        x = x @ w
    tracemalloc.start()
    x.sum().backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * size * size * 4
