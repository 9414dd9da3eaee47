"""A run begun by one framework goes on in the other one, from a file of torch.save, to the same losses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rushlight
from tests.goldens import midway

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("kind", midway.KINDS)
@pytest.mark.parametrize(
    ("first", "second"), [(torch, rushlight), (rushlight, torch)], ids=["theirs", "ours"]
)
def test_the_other_framework_goes_on(tmp_path: Path, first: Any, second: Any, kind: str) -> None:
    expected = midway.begin(first, tmp_path / "run.pt", kind)
    assert len(expected) == 50
    assert midway.resume(second, tmp_path / "run.pt", kind) == pytest.approx(expected, abs=5e-5)
