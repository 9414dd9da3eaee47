"""Tensor's odd methods, streams, pools with places and hooks of the graph: PyTorch's recorded answers."""
from __future__ import annotations

import sys
from pathlib import Path

import pytest

import rushlight as torch

sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from answers import difference, same  # noqa: E402
from tensor_behaviours import TENSOR  # noqa: E402

_WANTED = TENSOR.recorded()


@pytest.mark.parametrize("name", TENSOR)
def test_as_recorded(name: str) -> None:
    got = TENSOR.answer(name, torch)
    assert same(got, _WANTED[name]), difference(got, _WANTED[name])
