"""Ops of a number and a tensor, in that order, in compiled code."""

from __future__ import annotations

import rushlight as torch


def _mixed(x, y):
    return (1 - x) * y + 2 * x + 3 / y + (1 + y)


def _compared(x, y):
    return x > 1, x >= 1, x < 2, x <= 2, x == 1, x != 1


def test_arithmetic():
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    code = torch.jit.script(_mixed)
    assert torch.equal(code(x, y), _mixed(x, y))
    assert "torch.mul(torch.add(torch.neg(x), 1), y)" in code.code
    assert "torch.mul(torch.reciprocal(y), 3)" in code.code


def test_comparisons():
    x = torch.tensor([0.0, 1.0, 2.0, 3.0])
    for got, wanted in zip(torch.jit.script(_compared)(x, x), _compared(x, x), strict=True):
        assert torch.equal(got, wanted)
