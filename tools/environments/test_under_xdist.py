"""Tests that pytest runs in several processes, one of which fails with a mistake of the user's."""

import pytest
import torch


@pytest.mark.parametrize("n", range(8))
def test_a_layer(n):
    assert torch.nn.Linear(n + 1, 2)(torch.ones(1, n + 1)).shape == (1, 2)


def test_an_error():
    with pytest.raises(RuntimeError, match="must match"):
        torch.zeros(2) + torch.zeros(3)
