"""Nested tensors of both layouts: their gradients, what is written to them, and what they are turned into."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch

pytestmark = pytest.mark.parametrize("layout", [torch.strided, torch.jagged], ids=str)


def made(layout: Any, requires_grad: bool = False) -> Any:
    parts = [torch.arange(4.0).view(2, 2), torch.arange(2.0).view(1, 2)]
    return torch.nested.nested_tensor(parts, layout=layout, requires_grad=requires_grad)


def values(x: Any) -> list[Any]:
    return [part.tolist() for part in x.unbind()]


def test_gradients_that_are_asked_for(layout: Any) -> None:
    x, other = made(layout, True), made(layout, True)
    (found,) = torch.autograd.grad(x * x, x, made(layout))
    assert found.layout is layout and values(found) == [[[0, 2], [8, 18]], [[0, 2]]]
    whole = (x * 2).values().sum() if layout is torch.jagged else (x * 2).to_padded_tensor(0.0).sum()
    first, second = torch.autograd.grad(whole, [x, other], allow_unused=True)
    assert values(first) == [[[2, 2], [2, 2]], [[2, 2]]] and second is None
    torch.autograd.backward([x * 2, other * 3], [made(layout), made(layout)])
    assert values(other.grad) == [[[0, 3], [6, 9]], [[0, 3]]]


def test_hooks(layout: Any) -> None:
    x = made(layout, True)
    twice = x * 2
    twice.retain_grad()
    x.register_hook(lambda grad: grad * 10)
    twice.backward(torch.ones_like(twice.detach()))
    assert values(x.grad) == [[[20, 20], [20, 20]], [[20, 20]]]
    assert twice.retains_grad and values(twice.grad) == [[[1, 1], [1, 1]], [[1, 1]]]
    assert not x.detach_().requires_grad


def test_what_is_written(layout: Any) -> None:
    x = made(layout)
    assert values(x.fill_(7)) == [[[7, 7], [7, 7]], [[7, 7]]]
    assert values(x.zero_()) == [[[0, 0], [0, 0]], [[0, 0]]]
    leaf = made(layout, True)
    leaf.data = made(layout) + 1
    assert leaf.is_leaf and values(leaf.data) == [[[1, 2], [3, 4]], [[1, 2]]]
    with pytest.raises(NotImplementedError):
        x.resize_(3)
    if layout is torch.strided:
        kept = values(x)
        for view in (x.chunk(2, -1)[0], x.transpose(1, 2), x.narrow(0, 1, 1), x.select(2, 0)):
            for write in (lambda t: t.mul_(2), lambda t: t.fill_(1), lambda t: t.add_(1)):
                with pytest.raises(RuntimeError, match="must be contiguous to get buffer"):
                    write(view)
        assert values(x) == kept


def test_what_it_is_turned_into(layout: Any) -> None:
    x = made(layout)
    assert (x.nelement(), x.nbytes, x.untyped_storage().nbytes()) == (6, 24, 24)
    assert 3.0 in x and 9.0 not in x
    for turned in (x.tolist, x.numpy, x.__array__, x.item):
        with pytest.raises(RuntimeError):
            turned()
    assert torch.nested.nested_tensor([torch.tensor([5.0])], layout=layout).item() == 5.0


def test_sizes_of_padding_and_of_views(layout: Any) -> None:
    x = made(layout)
    with pytest.raises(RuntimeError, match="Truncation is not supported"):
        x.to_padded_tensor(0.0, (1, 2, 2))
    if layout is torch.strided:
        assert values(x.transpose(1, 2).reshape(2, -1, -1)) == [[[0, 2], [1, 3]], [[0], [1]]]
