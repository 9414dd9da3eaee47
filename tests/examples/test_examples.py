"""The examples on Rushlight print the numbers that they print on PyTorch."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "goldens"))
import record_examples as examples  # noqa: E402 - the recorder and the test run the same commands

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")
RUSHLIGHT = [sys.executable, "-m", "rushlight"]
RECORD = json.loads((ROOT / "tests/goldens/char_gpt_losses.json").read_text(encoding="utf-8"))


def drawn(path, size):
    """How many colours a picture of that size has: a plot has many, an empty figure few."""
    from PIL import Image

    with Image.open(path) as picture:
        assert picture.size == size
        return len(
            set(
                picture.convert("RGB").get_flattened_data()
                if hasattr(picture, "get_flattened_data")
                else picture.convert("RGB").getdata()
            )
        )


def test_char_gpt_prints_pytorchs_losses(tmp_path):
    printed = examples.run_char_gpt(RUSHLIGHT, tmp_path)
    # Four decimals are printed; the last may be rounded the other way.
    assert examples.losses(printed) == pytest.approx(RECORD["char_gpt"], abs=1.01e-4)
    assert examples.sample(printed) == RECORD["sample"]
    assert drawn(tmp_path / "char_gpt.png", (1200, 650)) > 20


def test_char_gpt_resumes_where_it_stopped(tmp_path):
    # The schedule depends on --steps, so the whole run is interrupted, not shortened.
    examples.run_char_gpt(RUSHLIGHT, tmp_path, extra=("--stop-after", "20"))
    printed = examples.run_char_gpt(RUSHLIGHT, tmp_path, extra=("--resume",))
    assert examples.losses(printed) == pytest.approx(RECORD["char_gpt"][20:], abs=1.01e-4)


def test_digits_prints_pytorchs_losses(tmp_path):
    pytest.importorskip("sklearn")
    printed = examples.run_digits(RUSHLIGHT, tmp_path)
    assert drawn(tmp_path / "digits.png", (1000, 400)) > 20
    assert examples.losses(printed) == pytest.approx(RECORD["digits"], abs=1e-3)
    assert float(printed.split("accuracy ")[-1].split()[0]) > 0.97
