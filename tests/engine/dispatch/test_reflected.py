"""Operators with what is no operand on the left."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch


class Scaled:
    """What tensors may multiply, and nothing else."""

    def __rmul__(self, factor: Any) -> Any:
        return factor.tolist()


def test_a_quotient_is_the_product_with_the_reciprocal() -> None:
    """As PyTorch's: what can be multiplied by a tensor can be divided by one."""
    x = torch.tensor([2.0, 4.0])
    assert Scaled() / x == [0.5, 0.25]
    for wrong in (object(), "a", None, [1.0, 2.0]):
        with pytest.raises(TypeError, match="unsupported operand"):
            wrong / x
    with pytest.raises(TypeError):
        Scaled() - x
