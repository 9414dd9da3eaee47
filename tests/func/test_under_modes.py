"""Transforms inside modes that hear functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

import rushlight as torch
from rushlight.overrides import TorchFunctionMode
from rushlight.utils.flop_counter import FlopCounterMode


class Passing(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


@contextmanager
def on_a_device() -> Iterator[None]:
    torch.set_default_device("cpu")
    try:
        yield
    finally:
        torch.set_default_device(None)


def dominated(a: Any, b: Any) -> Any:
    """For each pair of rows, whether one is below the other: ops on the outer level's values alone, too."""

    def of(x: Any, y: Any) -> Any:
        return ((y <= x).all() & (y < x).any()) * (x + 1).sin().sum() * y.cos().sum()

    return torch.vmap(lambda x: torch.vmap(lambda y: of(x, y))(b))(a)


def tangents(a: Any, b: Any) -> Any:
    def along(x: Any) -> Any:
        return torch.func.jvp(lambda y: (x + 1).sin() * y.cos(), (x,), (x,))[1]

    return torch.vmap(along)(a + b)


@pytest.mark.parametrize("context", [Passing, on_a_device, lambda: FlopCounterMode(display=False)])
@pytest.mark.parametrize("program", [dominated, tangents])
def test_levels_in_each_other(program: Any, context: Callable[[], AbstractContextManager[Any]]) -> None:
    a = torch.arange(6.0).view(3, 2)
    expected = program(a, a / 2)
    with context():
        found = program(a, a / 2)
    torch.testing.assert_close(found, expected)
