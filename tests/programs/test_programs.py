"""Training programs print the losses that PyTorch was recorded to print, to four decimals over fifty steps."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import rushlight as torch

sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from programs import PROGRAMS, STEPS

_WANTED = PROGRAMS.recorded()


@pytest.mark.parametrize("name", PROGRAMS)
def test_losses(name: str) -> None:
    got, wanted = PROGRAMS.answer(name, torch), _WANTED[name]
    assert len(wanted) == STEPS
    assert got == pytest.approx(wanted, rel=0, abs=5e-5)
