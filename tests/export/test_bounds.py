"""Bounds of sizes: those that are given, those that the program asks for, those of Dims that follow another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
from rushlight.export import Dim


class Calls(torch.nn.Module):
    """A module that calls a function of two inputs."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any, y: Any) -> Any:
        return self.function(x, y)


def bounds(function: Callable[[Any, Any], Any], x: Any, y: Any, *shapes: Any) -> list[tuple[Any, Any]]:
    made = torch.export.export(Calls(function), (x, y), dynamic_shapes=shapes)
    return [(r.lower, r.upper) for r in made.range_constraints.values()]


def between(low: int, high: int) -> Callable[[Any, Any], Any]:
    def function(x: Any, y: Any) -> Any:
        assert x > low
        assert x < high
        return x * y

    return function


def test_bounds_that_the_program_narrows() -> None:
    y = torch.randn(4)
    given = Dim.DYNAMIC(min=3, max=10)
    assert bounds(between(1, 20), 4, y, given, None) == [(3, 10)]
    assert bounds(between(3, 6), 4, y, given, None) == [(4, 5)]
    with pytest.raises(ValueError, match=r"\[3, 10\], conflicting with .* \[11, 19\], for inputs\['x'\]"):
        bounds(between(10, 20), 14, y, given, None)
    assert bounds(lambda x, y: x * y, 0, y, Dim.DYNAMIC, None)[0][0] == 0


def test_sizes_that_bounds_leave_one_number_of() -> None:
    def small(x: Any, y: Any) -> Any:
        assert x.shape[0] <= 32
        return x + 2

    with pytest.raises(
        ValueError, match=r"min=32, max=None.* a static shape of 32 for .*\['x'\]\.shape\[0\]"
    ):
        bounds(small, torch.randn(32), torch.randn(2), (Dim.DYNAMIC(min=32),), None)


def test_dims_that_follow_another() -> None:
    dim = Dim("dim", min=3, max=6)
    found = bounds(lambda x, y: x + y[1:], torch.randn(4), torch.randn(5), (dim,), (dim + 1,))
    assert sorted(found) == [(3, 6), (4, 7)]


def test_how_many_places_there_are() -> None:
    rows = Dim("rows", max=100)
    for as_tuple in (True, False):
        found = bounds(_places if as_tuple else _rows, torch.randn(3, 4), None, (rows, None), None)
        assert (0, 400) in found


def _places(x: Any, y: Any) -> Any:
    return torch.nonzero(x, as_tuple=True)


def _rows(x: Any, y: Any) -> Any:
    return torch.nonzero(x)


@pytest.mark.parametrize(
    "made", [float, torch.as_tensor, lambda n: torch.LongTensor([n]), lambda n: torch.asarray([n, 1])]
)
def test_a_constant_that_hangs_on_a_size_fixes_it(made: Any) -> None:
    def program(x: Any, y: Any) -> Any:
        return x.sum() + torch.as_tensor(made(x.shape[0]))

    x = torch.ones(4)
    with pytest.raises(torch._dynamo.exc.UserError, match="Constraints violated"):
        bounds(program, x, x, {0: Dim("n")}, None)
    assert bounds(program, x, x, {0: Dim.AUTO}, None) == []


def test_tensors_of_sizes_beside_complex_numbers() -> None:
    def program(x: Any, y: Any) -> Any:
        return torch.tensor([1j, x.shape[0]]), torch.tensor(x.shape)

    x = torch.ones(4, 2)
    made = torch.export.export(Calls(program), (x, x), dynamic_shapes=({0: Dim("n")}, None))
    mixed, sizes = made.module()(torch.ones(6, 2), x)
    assert (mixed.tolist(), sizes.tolist()) == ([1j, 6 + 0j], [6, 2])


def test_a_number_that_is_not_the_size() -> None:
    x = torch.ones(4)
    with pytest.raises(
        torch.fx.experimental.symbolic_shapes.ConstraintViolationError, match="constraint of 5"
    ):
        bounds(lambda x, y: x + y, x, x, {0: 5}, None)
