"""Graphs of calls whose dtype, device or target comes from an input."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: torch.tensor([1], dtype=x.dtype), "torch.tensor([1], dtype = getattr_1)"),
        (lambda x: torch.tensor([1], device=x.device), "torch.tensor([1], device = getattr_1)"),
        (lambda x: torch.as_tensor([1], dtype=x.dtype), "torch.as_tensor([1], dtype = getattr_1)"),
        (lambda x: torch.asarray([1.0], dtype=x.dtype), "torch.asarray([1.0], dtype = getattr_1)"),
        (lambda x: torch.result_type(x, 1), "torch.result_type(x, 1)"),
        (lambda x: torch.can_cast(x.dtype, torch.float), "torch.can_cast(getattr_1, torch.float32)"),
        (lambda x: torch.tensor([1.0]).to(x), "_tensor_constant0.to(x)"),
        (lambda x: torch.tensor([1.0]).to(dtype=x.dtype), "_tensor_constant0.to(dtype = getattr_1)"),
        (lambda x: torch.tensor([1.0]).to(device=x.device), "_tensor_constant0.to(device = getattr_1)"),
    ],
)
def test_options_may_come_from_an_input(function: Any, text: str) -> None:
    traced = torch.fx.symbolic_trace(function)
    assert text in traced.code
    x = torch.ones(2, dtype=torch.float64)
    found, wanted = traced(x), function(x)
    assert type(found) is type(wanted)
    if isinstance(wanted, torch.Tensor):
        assert found.dtype is wanted.dtype
        assert torch.equal(found, wanted)
    else:
        assert found == wanted


def test_other_classes_take_a_conversion_over() -> None:
    class Where:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func.__name__, len(args), sorted(kwargs or {})

    t = torch.ones(1)
    assert t.to(Where()) == ("to", 2, [])
    assert t.to(dtype=Where()) == ("to", 1, ["dtype"])


def _written(x: torch.Tensor) -> torch.Tensor:
    t = torch.zeros(4)
    t[1:3] = x
    return t


def _filled(x: torch.Tensor) -> torch.Tensor:
    t = torch.zeros(2)
    t.copy_(x)
    return t


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (_written, "__setitem__(slice(1, 3, None), x)"),
        (_filled, ".copy_(x)"),
        (lambda x: torch.arange(4.0)[x.long()], ".__getitem__(long)"),
        (lambda x: torch.arange(2).type_as(x), ".type_as(x)"),
        (lambda x: torch.arange(2).view_as(x), ".view_as(x)"),
        (lambda x: torch.arange(4).view(x.size(0), -1), ".view((size, -1))"),
        (lambda x: torch.arange(4).repeat(x.size(0)), ".repeat(size)"),
    ],
)
def test_methods_of_tensors_that_a_graph_holds(function: Any, text: str) -> None:
    traced = torch.fx.symbolic_trace(function)
    assert text in traced.code
    assert torch.equal(traced(torch.tensor([1.0, 3.0])), function(torch.tensor([1.0, 3.0])))
