"""PyTorch's databases of modules and optimizers beside PyTorch: a quick part of what tools/ has for them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest")

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import modules
import optimizers

# Options of linear_cross_entropy that PyTorch ignores with a warning are ignored without one.
_MODULES = r"^(?!.*LinearCrossEntropy)"


@pytest.mark.parametrize("way", ["build", "forward", "functional", "in_place"])
def test_modules(way: str) -> None:
    report = modules.sweep([way], _MODULES, 1, ["float32"])
    assert report.ran[way] > 100
    assert not report.found


def test_modules_that_refuse() -> None:
    report = modules.sweep(
        ["errors"], "nn.(BatchNorm|GroupNorm|RNN|GRU|LSTM|MaxPool|Embedding|.*Pad)", 1, ["float32"]
    )
    assert report.ran["errors"] > 50
    assert not report.found


def test_optimizers() -> None:
    report = optimizers.sweep(
        ["steps", "groups", "bad_states", "errors", "schedulers"],
        "^(SGD|AdamW|RMSprop|SparseAdam)$",
        ["float32"],
    )
    assert report.ran.total() > 200
    assert not report.found
