"""add, sub, mul and div take two Python numbers, as PyTorch's do; other ops want a tensor."""

import math

import pytest

import rushlight as torch

TAKEN = {
    "add": (lambda: torch.add(1, 2), 3, torch.int64),
    "add_bools": (lambda: torch.add(True, False), True, torch.bool),
    "add_alpha": (lambda: torch.add(1, 2.5, alpha=2), 6.0, torch.float32),
    "add_keywords": (lambda: torch.add(input=1, other=2), 3, torch.int64),
    "add_large": (lambda: torch.add(2**40, 1), 2**40 + 1, torch.int64),
    "sub": (lambda: torch.sub(1, 2), -1, torch.int64),
    "mul": (lambda: torch.mul(2, 3.0), 6.0, torch.float32),
    "mul_complex": (lambda: torch.mul(1j, 2), 2j, torch.complex64),
    "div": (lambda: torch.div(7, 2), 3.5, torch.float32),
    "div_trunc": (lambda: torch.div(-7, 2, rounding_mode="trunc"), -3, torch.int64),
    "div_floor": (lambda: torch.div(-7, 2, rounding_mode="floor"), -4, torch.int64),
    "div_zero": (lambda: torch.true_divide(1, 0), math.inf, torch.float32),
    "floor_divide": (lambda: torch.floor_divide(7.5, 2), 3.0, torch.float32),
    "out": (lambda: torch.add(2, 3, out=torch.zeros(())), 5.0, torch.float32),
    "beside_whole": (lambda: torch.ones((), dtype=torch.int32) + torch.mul(1.0, 2), 3.0, torch.float32),
}


@pytest.mark.parametrize("name", TAKEN)
def test_taken(name):
    function, value, dtype = TAKEN[name]
    for _ in range(3):
        found = function()
        assert found.item() == value and found.dtype is dtype and found.shape == ()


@pytest.mark.parametrize("name", ["remainder", "fmod", "pow", "maximum", "eq", "rsub", "bitwise_and"])
def test_not_taken(name):
    with pytest.raises(TypeError):
        getattr(torch, name)(7, 2)


def test_a_whole_number_has_no_quotient_by_zero():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.floor_divide(1, 0)
