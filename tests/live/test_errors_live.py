"""Mistakes beside an installed PyTorch: the same exception type."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from error_cases import cases, raised  # noqa: E402


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("text", "words"), cases(), ids=[text for text, _ in cases()])
def test_mistake_beside_pytorch(text: str, words: str) -> None:
    kind, message = raised(torch, text)
    assert kind and words in message, message
    assert raised(rushlight, text)[0] == kind
