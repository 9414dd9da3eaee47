"""Hugging Face's `transformers` beside PyTorch: other seeds than the recorded one, and each other's files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rushlight

pytest.importorskip("torch")
pytest.importorskip("transformers")
GOLDENS = Path(__file__).parents[1] / "goldens"
sys.path.insert(0, str(GOLDENS))
from answers import difference, same  # noqa: E402
from bridge_behaviours import BRIDGE  # noqa: E402

PROGRAM = str(GOLDENS / "bridge_behaviours.py")
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(rushlight.__file__).parents[1]),
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
}  # PyTorch's threads would wait for each other in spins
OURS, THEIRS = [sys.executable, "-m", "rushlight"], [sys.executable]


def run(python: list[str], *arguments: str) -> None:
    subprocess.run([*python, PROGRAM, *arguments], check=True, timeout=400, env=ENVIRONMENT)


def test_another_seed(tmp_path: Path) -> None:
    found: list[Any] = []
    for python in (OURS, THEIRS):
        run(python, str(tmp_path / "answers.json"), "11")
        found.append(json.loads((tmp_path / "answers.json").read_text()))
    differ = [
        difference(found[0][name], found[1][name], name)
        for name in BRIDGE
        if not same(found[0][name], found[1][name], 2e-5)
    ]
    assert not differ, "\n".join(differ)


@pytest.mark.parametrize(("writer", "reader"), [(OURS, THEIRS), (THEIRS, OURS)], ids=["ours", "theirs"])
def test_files_of_the_other(tmp_path: Path, writer: list[str], reader: list[str]) -> None:
    run(writer, "--save", str(tmp_path))
    answers = []
    for python in (writer, reader):
        run(python, "--load", str(tmp_path), str(tmp_path / "logits.json"))
        answers.append(json.loads((tmp_path / "logits.json").read_text()))
    assert same(*answers, 2e-5), difference(*answers)
