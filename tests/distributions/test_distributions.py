"""torch.distributions draws and weighs as PyTorch was recorded to."""
from __future__ import annotations

import sys
from pathlib import Path

import pytest

import rushlight as torch

sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from distribution_behaviours import DISTRIBUTIONS  # noqa: E402

test_behaviour = DISTRIBUTIONS.compared(torch)


def test_what_is_absent_says_what_is_there() -> None:
    with pytest.raises(AttributeError, match="'VonMises' in Rushlight. Instead: scipy.stats.vonmises"):
        torch.distributions.VonMises
    with pytest.raises(NotImplementedError, match="Bernoulli has no rsample"):
        torch.distributions.Bernoulli(0.5).rsample()
