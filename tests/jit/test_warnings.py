"""Warnings of compiled programs."""

from __future__ import annotations

import pytest

import rushlight as torch


def test_a_compiled_module_warns():
    loss = torch.jit.script(torch.nn.KLDivLoss())
    with pytest.warns(UserWarning, match="batchmean"):
        loss(torch.zeros(2, 2), torch.ones(2, 2))


def test_torchscript_can_be_switched_off() -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    layer = torch.nn.Linear(1, 1)
    torch.jit._state.disable()
    try:
        assert torch.jit.script(double) is double and torch.jit.trace(double, torch.ones(1)) is double
        assert torch.jit.script(layer) is layer and torch.jit.trace(layer, torch.ones(1, 1)) is layer
    finally:
        torch.jit._state.enable()
    assert isinstance(torch.jit.script(double), torch.jit.ScriptFunction)
