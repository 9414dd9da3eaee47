"""Indexing, scattering, sorting and counting ops: recorded PyTorch behaviour, errors included."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import rushlight

_GOLDENS = Path(__file__).parents[2] / "goldens"
sys.path.insert(0, str(_GOLDENS))
from rows_cases import case_outcome, cases, namespace, same  # noqa: E402 - beside the records

_RECORDED: dict[str, Any] = json.loads((_GOLDENS / "rows.json").read_text())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", cases())
def test_as_recorded(case: str) -> None:
    found, expected = case_outcome(case, namespace(rushlight)), _RECORDED[case]
    if "error" in expected:
        assert found.get("error") == expected["error"], found
        words = expected["message"].split("\n")[0].strip().rstrip(".")
        assert words in found["message"] or _same_start(words, found["message"]), found
    else:
        assert "error" not in found, found
        assert same(found["result"], expected["result"]), (found, expected)


def _same_start(theirs: str, ours: str) -> bool:
    """Rushlight's text may go on differently after the first half of PyTorch's."""
    half = theirs[: max(20, len(theirs) // 2)]
    return ours.strip().startswith(half)
