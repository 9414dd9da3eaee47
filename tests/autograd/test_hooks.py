"""Hooks: what they may give, where they are told, and the order in which nodes run."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch


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
