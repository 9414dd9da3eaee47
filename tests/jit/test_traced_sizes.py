"""Sizes in brackets stay sizes in a trace: of what is traced, and of parameters and buffers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import rushlight as torch
from rushlight import nn


class Positions(nn.Module):
    """Adds positions, as transformers do."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Buffer(torch.arange(140.0).reshape(1, 20, 7))
        self.weight = nn.Parameter(torch.ones(20, 7))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(n, length, 7)."""
        found = x + self.table[:, : x.size(1)] + self.weight[: x.shape[1]]
        return found + self.table[0, x.size(1) - 1]


class Remembers(nn.Module):
    """Writes to a buffer by brackets."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = nn.Buffer(torch.zeros(20))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(n,)."""
        self.seen[: x.size(0)] = x
        return self.seen * 1


def cut(x: torch.Tensor) -> torch.Tensor:
    return x[: x.size(0) - 1, 1 : x.size(2) : 2]


def padded(x: torch.Tensor) -> torch.Tensor:
    found = torch.zeros(x.size(0) + 1, *x.shape[1:])
    found[: x.size(0)] = x
    found[x.size(0) :, 0] = 1
    return found


def counted(x: torch.Tensor) -> torch.Tensor:
    return x.reshape(x.numel() // 2, 2)


CASES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {f.__name__: f for f in (cut, padded, counted)}


@pytest.mark.parametrize("name", CASES)
def test_slices_of_what_is_traced(name: str) -> None:
    traced = torch.jit.trace(CASES[name], torch.randn(5, 6, 8))
    x = torch.randn(7, 8, 10)
    assert torch.equal(traced(x), CASES[name](x))


def test_slices_of_parameters_and_buffers() -> None:
    module = Positions()
    traced = torch.jit.trace(module, torch.randn(5, 6, 7))
    x = torch.randn(3, 9, 7)
    assert torch.equal(traced(x), module(x))


def test_writes_to_buffers() -> None:
    traced = torch.jit.trace(Remembers(), torch.ones(3), check_trace=False)
    assert traced(torch.full((5,), 2.0)).sum().item() == 10
