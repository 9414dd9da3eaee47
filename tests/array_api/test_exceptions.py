"""What an ordinary Tensor keeps of PyTorch where the namespace's arrays follow the standard."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rushlight as torch
from rushlight import array_api

ROWS = json.loads(
    (Path(__file__).parents[2] / "tools" / "array_api_exceptions.json").read_text(encoding="utf-8")
)


def test_every_exception_has_a_reason_and_is_listed_once():
    tests = [test for row in ROWS for test in row["tests"]]
    assert len(set(tests)) == len(tests) and all(row["reason"] and row["tests"] for row in ROWS)


def test_a_tensors_operators_promote_as_pytorch_does():
    small, zero = torch.ones(2, dtype=torch.float32), torch.ones((), dtype=torch.float64)
    assert (small + zero).dtype is torch.float32 and array_api.add(small, zero).dtype is torch.float64
    a, b = torch.ones(2, dtype=torch.uint16), torch.ones(2, dtype=torch.uint8)
    with pytest.raises(RuntimeError, match="uint16"):
        a + b
    assert array_api.add(a, b).dtype is torch.uint16


def test_a_tensors_floor_division_is_pythons():
    x = torch.tensor([torch.inf, 1.0, -1.0])
    assert str((x // torch.tensor([1.0, -torch.inf, torch.inf])).tolist()) == "[nan, -1.0, -1.0]"


def test_a_tensors_brackets_are_pytorchs():
    x = torch.arange(3)
    with pytest.raises(ValueError, match="step"):
        x[::-1]
    with pytest.raises(IndexError, match="mask"):
        x[torch.empty(0, dtype=torch.bool)]
