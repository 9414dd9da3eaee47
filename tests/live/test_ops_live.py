"""Ops on small operands beside an installed PyTorch: what tests/goldens/ops.json holds, afresh."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from ops_cases import cases, differences, run  # noqa: E402


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", cases())
def test_beside_pytorch(text: str) -> None:
    found = differences(run(rushlight, text), run(torch, text))
    assert not found, "\n".join(found)
