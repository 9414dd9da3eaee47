"""Hooks: what they may give, where they are told, and the order in which nodes run."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import pytest

import rushlight as torch
from rushlight.utils.hooks import RemovableHandle, unserializable_hook


def test_hooks_after_accumulation_give_nothing() -> None:
    x = torch.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda t: t.grad)  # type: ignore[arg-type,return-value]
    with pytest.raises(RuntimeError, match="post accumulate grad hooks should return None"):
        x.sum().backward()
    y = torch.ones(2, requires_grad=True)
    y.register_post_accumulate_grad_hook(lambda t: 1)  # type: ignore[arg-type,return-value]
    with pytest.raises(TypeError, match="expected Variable, but hook returned 'int'"):
        y.sum().backward()


def test_a_tensors_hooks_are_told() -> None:
    x: Any = torch.ones(2, requires_grad=True)
    assert x._backward_hooks is None
    handle = x.register_hook(lambda grad: None)
    assert len(x._backward_hooks) == 1
    handle.remove()
    assert not x._backward_hooks
    with pytest.raises(RuntimeError):
        del x._backward_hooks


def test_a_nodes_number_says_when_it_runs() -> None:
    x, order = torch.ones(2, requires_grad=True), []
    a: Any = x * 2
    b: Any = x * 3
    c: Any = a + b
    for t, number in ((a, 100), (b, 99), (c, 98)):
        t.grad_fn._set_sequence_nr(number)
        t.register_hook(lambda grad, number=number: order.append(number))
    c.sum().backward()
    assert order == [98, 100, 99] and x.grad is not None and x.grad.tolist() == [5.0, 5.0]


def test_assigned_hooks_are_those_that_are_called() -> None:
    x: Any = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: g * 3)
    x._backward_hooks = OrderedDict({7: lambda g: g * 10})
    x.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0] and list(x._backward_hooks) == [7]
    x._backward_hooks = None
    x.grad = None
    x.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0] and not x._backward_hooks


def test_the_table_of_hooks_is_the_tensors_own() -> None:
    x: Any = torch.ones(2, requires_grad=True)
    x._backward_hooks = table = OrderedDict()
    handle = RemovableHandle(x._backward_hooks)
    x._backward_hooks[handle.id] = lambda g: g * 5
    x.register_hook(lambda g: g + 1)
    x.sum().backward()
    assert x._backward_hooks is table and x.grad.tolist() == [6.0, 6.0]
    handle.remove()
    x.grad = None
    x.sum().backward()
    assert len(table) == 1 and x.grad.tolist() == [2.0, 2.0]
    x._backward_hooks = None
    assert x._backward_hooks is None
    with pytest.raises(TypeError, match="must be a dict or None, not int"):
        x._backward_hooks = 5


def test_hooks_are_of_one_result() -> None:
    a, b = (torch.ones(4, requires_grad=True) * 1).split(2)
    a.register_hook(lambda g: g)
    assert len(a._backward_hooks) == 1 and b._backward_hooks is None


def test_hooks_wait_until_a_tensor_requires_grad() -> None:
    x: Any = torch.ones(2)
    assert x._backward_hooks is None
    x._backward_hooks = OrderedDict({7: unserializable_hook(lambda g: g * 10)})
    assert pickle.loads(pickle.dumps(x))._backward_hooks is None
    assert copy.deepcopy(x)._backward_hooks is None
    for _ in range(2):
        x.requires_grad_()
        assert list(x._backward_hooks) == [7] and not x.__dict__
        x.sum().backward()
        assert x.grad.tolist() == [10.0, 10.0]
        x.grad = None
        x.requires_grad_(False)
        assert list(x._backward_hooks) == [7]
    x._backward_hooks = None
    assert not x.requires_grad_()._backward_hooks


def test_hooks_on_a_view_are_of_what_it_was_before_a_write() -> None:
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    base = leaf.clone()
    view = base[:1]
    view.register_hook(lambda grad: grad * 10)
    view.mul_(2)
    (base.sum() + view.sum()).backward()
    assert leaf.grad.tolist() == [4, 1]
    leaf.grad = None
    row = leaf.clone()[:]
    row.register_hook(lambda grad: grad * 10)
    row[:1].mul_(2)
    row.sum().backward()
    assert leaf.grad.tolist() == [2, 1]
