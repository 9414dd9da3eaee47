"""Ops on small operands: recorded values, dtypes, sizes, gradients and names of nodes."""
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import rushlight

_GOLDENS = Path(__file__).parents[1] / "goldens"
sys.path.insert(0, str(_GOLDENS))
from ops_cases import cases, differences, run  # noqa: E402 - lives beside its recorded output

_RECORDED: dict[str, Any] = json.loads((_GOLDENS / "ops.json").read_text())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", cases())
def test_as_recorded(text: str) -> None:
    found = differences(run(rushlight, text), _RECORDED[text])
    assert not found, "\n".join(found)
