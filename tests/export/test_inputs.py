"""Inputs of exported programs: how dynamic_shapes tells them, their order, and what guards say of them."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.export import Dim, export


class _Function(torch.nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


class _Keywords(torch.nn.Module):
    def forward(self, a: Any, b: Any, one: Any, two: Any) -> Any:
        return a.sum() + b.sum() + one.sum() - two.sum()


class _Pair(torch.nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        return x + y


def test_shapes_of_variable_arguments() -> None:
    model, x = _Function(torch.add), torch.randn(3, 2)
    for shapes in ({"args": ({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC})}, (({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}),)):
        program = export(model, (x, x + 0), dynamic_shapes=shapes)
        assert program.module()(torch.ones(5, 2), torch.ones(5, 2)).shape == (5, 2)


def test_shapes_come_in_the_order_of_parameters() -> None:
    inputs = {"two": torch.ones(4), "one": torch.zeros(4)}
    shapes = (None, {0: Dim("b")}, {0: Dim("c")}, None)
    program = export(_Keywords(), (torch.ones(4), torch.ones(4)), inputs, dynamic_shapes=shapes)
    assert program.module()(torch.ones(4), torch.ones(7), two=torch.ones(4), one=torch.ones(9)) == 16


def test_dicts_in_another_order_and_named_tuples() -> None:
    program = export(_Function(lambda d: d["a"] - d["b"]), ({"a": torch.ones(2), "b": torch.zeros(2)},))
    assert program.module()({"b": torch.zeros(2), "a": torch.ones(2)}).tolist() == [1, 1]
    kind: Any = namedtuple("kind", ["x", "y"])
    point = kind(torch.ones(3), torch.ones(3))
    assert export(_Pair(), point).module()(*point).tolist() == [2, 2, 2]


def test_guards_name_inputs_of_derived_sizes() -> None:
    x = Dim("x", min=3, max=6)
    program = export(
        _Function(lambda x, y: x + y[1:]),
        (torch.randn(5), torch.randn(6)),
        dynamic_shapes=(({0: x}, {0: x + 1}),),
    )
    with pytest.raises(AssertionError, match=r"Guard failed: x?.*\.size\(\)\[0\] == -1 \+ .*\.size\(\)\[0\]"):
        program.module()(torch.randn(4), torch.randn(6))
    twice = export(
        _Function(lambda z, y: z[1:] + y[1::2]),
        (torch.randn(6), torch.randn(11)),
        dynamic_shapes=(({0: x + 1}, {0: 2 * x + 1}),),
    )
    with pytest.raises(
        AssertionError, match=r"Guard failed: -1 \+ 2 \* .*\.size\(\)\[0\] == .*\.size\(\)\[0\]"
    ):
        twice.module()(torch.randn(6), torch.randn(13))


def test_sizes_of_zero_and_one_are_taken() -> None:
    shapes = {"x": {0: Dim.DYNAMIC}, "y": {0: Dim.DYNAMIC}}
    program = export(_Pair(), (torch.randn(6, 3), torch.randn(6, 3)), dynamic_shapes=shapes)
    for rows in (0, 1, 4):
        assert program.module()(torch.ones(rows, 3), torch.ones(rows, 3)).shape == (rows, 3)


def test_what_is_noted_of_inputs_and_outputs_is_kept() -> None:
    program = export(_Pair(), (torch.ones(2), torch.ones(2)))
    for node in program.graph.nodes:
        node.meta["custom"] = {"noted": node.op}
    assert all(n.meta["custom"] == {"noted": n.op} for n in program.run_decompositions().graph.nodes)


def test_dicts_with_defaults_and_ordered_ones() -> None:
    class Sum(nn.Module):
        def forward(self, d):
            return d["a"] * 2 + d["b"]

    x = torch.ones(2)
    given = defaultdict(list, a=x, b=x + 1)
    assert export(Sum(), (given,)).module()(given).tolist() == [4.0, 4.0]
    ordered = export(Sum(), (OrderedDict(a=x, b=x + 1),)).module()
    with pytest.raises(ValueError):
        ordered(OrderedDict(b=x + 1, a=x))


def test_threads_leave_module_calls_as_they_were() -> None:
    call = nn.Module.__call__

    def record() -> None:
        for _ in range(2):
            export(nn.Sequential(nn.Linear(2, 2)), (torch.ones(3, 2),))

    threads = [threading.Thread(target=record) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert nn.Module.__call__ is call


def test_a_size_among_the_inputs_stays_one() -> None:
    class Sized(torch.nn.Module):
        def forward(self, x: torch.Tensor, size: tuple[int, ...]) -> torch.Tensor:
            return x.expand(size)

    given = torch.ones(1, 2), torch.Size((3, 2))
    program = torch.export.export(Sized(), given).module()
    assert program(*given).shape == (3, 2)


def test_the_size_of_an_input_that_is_not_dynamic_is_known() -> None:
    class Cut(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, int]:
            return x[6:], y.shape[0]

    given = torch.ones(8), torch.ones(3)
    found = torch.export.export(Cut(), given, dynamic_shapes=({0: torch.export.Dim.AUTO}, None))
    assert [r.lower for r in found.range_constraints.values()] == [8]
