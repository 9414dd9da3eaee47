"""Promotion: all pairs of dtypes, tensors with and without dims, and numbers, as recorded."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import rushlight

_GOLDENS = Path(__file__).parents[2] / "goldens"
sys.path.insert(0, str(_GOLDENS))
from promotion_cases import table  # noqa: E402 - lives beside its recorded output

_RECORDED = json.loads((_GOLDENS / "promotion.json").read_text())


@pytest.fixture(scope="module")
def found() -> dict[str, list[str]]:
    return table(rushlight)


@pytest.mark.parametrize("row", _RECORDED)
def test_row(found: dict[str, list[str]], row: str) -> None:
    assert found[row] == _RECORDED[row]


def test_default_dtype_is_what_numbers_become() -> None:
    rushlight.set_default_dtype(rushlight.float64)
    try:
        ones = rushlight.ones(2, dtype=rushlight.int64)
        assert (ones * 0.5).dtype is (ones / 2).dtype is rushlight.float64
        assert (ones * 1j).dtype is rushlight.complex128
        assert (rushlight.ones(2, dtype=rushlight.float16) * 0.5).dtype is rushlight.float16
    finally:
        rushlight.set_default_dtype(rushlight.float32)
