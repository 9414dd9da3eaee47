"""Optimizers and schedulers do what PyTorch was recorded to do."""
from __future__ import annotations

import sys
from pathlib import Path

import pytest

import rushlight

sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from answers import difference, same  # noqa: E402 - lives beside its recorded output
from averaging_behaviours import AVERAGING  # noqa: E402
from optim_behaviours import OPTIM  # noqa: E402
from scheduler_behaviours import SCHEDULERS  # noqa: E402

_STEPS, _RATES, _AVERAGES = OPTIM.recorded(), SCHEDULERS.recorded(), AVERAGING.recorded()


@pytest.mark.parametrize("name", OPTIM)
def test_optimizer(name: str) -> None:
    got = OPTIM.answer(name, rushlight)
    assert same(got, _STEPS[name]), difference(got, _STEPS[name])


@pytest.mark.parametrize("name", SCHEDULERS)
def test_scheduler(name: str) -> None:
    """To the last bit, up to what cos() of another C library gives."""
    got = SCHEDULERS.answer(name, rushlight)
    assert same(got, _RATES[name], 1e-15), difference(got, _RATES[name])


@pytest.mark.parametrize("name", AVERAGING)
def test_averages(name: str) -> None:
    got = AVERAGING.answer(name, rushlight)
    assert same(got, _AVERAGES[name]), difference(got, _AVERAGES[name])
