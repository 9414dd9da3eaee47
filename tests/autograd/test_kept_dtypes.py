"""Tensor.grad_dtype: what dtype a leaf keeps its gradients in."""

from __future__ import annotations

import copy

import pytest

import rushlight as torch


def test_gradients_come_in_the_dtype_that_a_leaf_asks_for() -> None:
    x = torch.ones(3, requires_grad=True)
    assert x.grad_dtype is torch.float32
    x.grad_dtype = torch.float64
    seen = []
    x.register_hook(lambda grad: seen.append(grad.dtype))
    for _ in range(2):
        (x * 2).sum().backward()
    assert x.grad.dtype is torch.float64 and x.grad.tolist() == [4.0] * 3
    assert seen == [torch.float64] * 2
    assert torch.autograd.grad((x * 2).sum(), x)[0].dtype is torch.float64
    x.grad = None
    (x * x).sum().backward(create_graph=True)
    assert x.grad.dtype is torch.float64


def test_a_compiled_function_keeps_to_it() -> None:
    x = torch.ones(3, requires_grad=True)
    x.grad_dtype = torch.bfloat16
    compiled = torch.compile(lambda t: (t * t.sin()).sum())
    for _ in range(3):
        x.grad = None
        compiled(x).backward()
        assert x.grad.dtype is torch.bfloat16


def test_it_stays_when_gradients_are_switched_off_and_on() -> None:
    x = torch.ones(3)
    x.grad_dtype = torch.float16
    x.requires_grad_()
    (x * 3).sum().backward()
    assert x.grad.dtype is torch.float16


def test_without_one_any_gradient_may_be_given() -> None:
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(
        RuntimeError, match="a gradient with dtype 'double' to a tensor with grad_dtype 'Float'"
    ):
        x.grad = torch.ones(3, dtype=torch.float64)
    x.grad_dtype = None
    assert x.grad_dtype is None
    x.grad = torch.ones(3, dtype=torch.float16)
    (x * 2).sum().backward()
    assert x.grad.dtype is torch.float16
    with pytest.raises(RuntimeError, match="already a gradient with dtype 'c10::Half'"):
        x.grad_dtype = torch.float64


def test_what_is_refused() -> None:
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="only be accessed on leaf tensors"):
        (x * 2).grad_dtype
    with pytest.raises(RuntimeError, match="only be set on leaf tensors"):
        (x * 2).grad_dtype = torch.float64
    with pytest.raises(RuntimeError, match="must be a torch.dtype or None, but got int"):
        x.grad_dtype = 3


def test_copies_keep_gradients_in_their_own_dtype() -> None:
    x = torch.ones(3, requires_grad=True)
    x.grad_dtype = torch.float64
    assert copy.deepcopy(x).grad_dtype is torch.float32
