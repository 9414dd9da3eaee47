"""Collectives of exported programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import rushlight as torch
import rushlight.distributed as dist


@pytest.fixture(autouse=True)
def _group() -> Iterator[None]:
    dist.init_process_group(backend="fake", world_size=2, rank=0)
    yield
    dist.destroy_process_group()


class Calls(torch.nn.Module):
    """A module that calls a function."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def reduced(x: Any) -> Any:
    y = x * 2
    dist.all_reduce(y)
    return y


def gathered(x: Any) -> Any:
    parts = [torch.zeros_like(x) for _ in range(2)]
    dist.all_gather(parts, x)
    return parts


def whole(x: Any) -> Any:
    y = torch.zeros(8)
    work = dist.all_gather_into_tensor(y, x, async_op=True)
    work.wait()
    return y


def scattered(x: Any) -> Any:
    y = torch.zeros(2)
    dist.reduce_scatter_tensor(y, x)
    return y


def exchanged(x: Any) -> Any:
    y = torch.zeros(4)
    dist.all_to_all_single(y, x)
    return y


def sent(x: Any) -> Any:
    y = x + 1
    dist.broadcast(y, 0)
    return y


@pytest.mark.parametrize(
    ("function", "op"),
    [
        (reduced, "all_reduce"),
        (gathered, "all_gather_into_tensor"),
        (whole, "all_gather_into_tensor"),
        (scattered, "reduce_scatter_tensor"),
        (exchanged, "all_to_all_single"),
        (sent, "broadcast"),
    ],
)
def test_collectives_are_ops_of_the_program(function: Callable[[Any], Any], op: str) -> None:
    made = torch.export.export(Calls(function), (torch.randn(4),))
    called = [str(n.target) for n in made.graph.nodes]
    assert f"_c10d_functional.{op}.default" in called
    assert "_c10d_functional.wait_tensor.default" in called
    assert getattr(torch.ops._c10d_functional, op).default in [n.target for n in made.graph.nodes]
    x = torch.randn(4)
    found, wanted = made.module()(x), function(x)
    assert str(found.shape if hasattr(found, "shape") else len(found)) == str(
        wanted.shape if hasattr(wanted, "shape") else len(wanted)
    )
