"""Tensors of a program's own classes: how they are made of tensors, and what their gradients are."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch


class Labelled(torch.Tensor):
    """A class that says nothing of ops."""


def test_a_tensor_made_of_a_tensor_is_a_view_in_its_graph() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    for made, cls in (
        (Labelled(y), Labelled),
        (torch.Tensor(y), torch.Tensor),
        (torch.FloatTensor(y), torch.Tensor),
        (torch.Tensor(Labelled(y)), torch.Tensor),
        (Labelled(Labelled(y)), Labelled),
        (y.new(y), torch.Tensor),
    ):
        assert type(made) is cls and made.requires_grad and type(made.grad_fn).__name__ == "AliasBackward0"
        assert made.data_ptr() == y.data_ptr() and made._is_view()
        (slope,) = torch.autograd.grad(made.sum(), x, retain_graph=True)
        assert slope.tolist() == [2.0, 2.0]
    assert not torch.Tensor(torch.ones(2)).requires_grad
    with pytest.raises(TypeError, match="dtype"):
        torch.DoubleTensor(y)


def test_gradients_asked_of_a_class() -> None:
    x = torch.linspace(0, 1, 3).as_subclass(Labelled)
    x.requires_grad_()
    (slope,) = torch.autograd.grad(x.square().sum(), x, create_graph=True)
    assert type(slope) is Labelled and slope.tolist() == [0.0, 1.0, 2.0]
    (curvature,) = torch.autograd.grad(outputs=slope.sum(), inputs=x, allow_unused=True)
    assert type(curvature) is Labelled and curvature.tolist() == [2.0, 2.0, 2.0]
    x.square().sum().backward()
    assert type(x.grad) is torch.Tensor


def test_a_class_may_answer_for_grad() -> None:
    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            if function is torch.autograd.grad:
                return sorted(kwargs), len(args)
            return super().__torch_function__(function, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Told).requires_grad_()
    names, count = torch.autograd.grad(x.sum(), x)
    assert count == 2 and names[:2] == ["allow_unused", "create_graph"]


def test_tensors_have_no_names() -> None:
    assert torch.ones(1).name is None


class _Noted(torch.Tensor):
    """Its handler asks for what `__new__` gives an instance last."""

    notes: list[str]

    def __new__(cls, data: torch.Tensor, notes: list[str] | None = None) -> Any:
        made = torch.Tensor._make_subclass(cls, data, require_grad=data.requires_grad)
        made.notes = [] if notes is None else notes
        return made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        notes = next(each.notes for each in args if isinstance(each, cls))
        found = torch.overrides.redispatch_function(func, types, args, kwargs)
        return cls(found, notes) if type(found) is torch.Tensor else found


def test_make_subclass_asks_nothing_of_the_class() -> None:
    x = _Noted(torch.ones(2, requires_grad=True), ["kept"])
    assert x.requires_grad and (-x).notes == ["kept"] and (-torch.nn.Parameter(x)).notes == ["kept"]
