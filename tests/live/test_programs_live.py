"""Training programs beside PyTorch, each from another seed than the recorded one, and shorter."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import rushlight

torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
import programs  # noqa: E402

# Optimizers, schedulers and losses have live tests of their own. Rounding to few values turns a last bit into
# another path.
_NAMES = [
    name
    for name in programs.PROGRAMS
    if name.split("_")[0] not in ("optimizer", "scheduler", "loss")
    and name not in ("mixed_precision", "quantised_aware")
]


@pytest.mark.parametrize("name", _NAMES)
def test_losses(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "STEPS", 15)

    def other(package: Any) -> Any:
        seed = package.manual_seed
        monkeypatch.setattr(package, "manual_seed", lambda n: seed(n + 1000))
        return programs.PROGRAMS[name](package)

    assert other(rushlight) == pytest.approx(other(torch), rel=0, abs=5e-5)
