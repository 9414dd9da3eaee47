"""The examples beside PyTorch: the same program, run by both, prints the same numbers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")
sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
import record_examples as examples


def test_char_gpt(tmp_path: Path) -> None:
    theirs = examples.run_char_gpt([sys.executable], tmp_path)
    ours = examples.run_char_gpt([sys.executable, "-m", "rushlight"], tmp_path)
    assert examples.losses(ours) == pytest.approx(examples.losses(theirs), abs=1.01e-4)
    assert examples.sample(ours) == examples.sample(theirs)


def test_a_checkpoint_of_pytorch_is_resumed(tmp_path: Path) -> None:
    whole = examples.run_char_gpt([sys.executable], tmp_path)
    examples.run_char_gpt([sys.executable], tmp_path, extra=("--stop-after", "30"))
    rest = examples.run_char_gpt([sys.executable, "-m", "rushlight"], tmp_path, extra=("--resume",))
    assert examples.losses(rest) == pytest.approx(examples.losses(whole)[30:], abs=1.01e-4)


def test_digits(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    theirs = examples.run_digits([sys.executable], tmp_path)
    ours = examples.run_digits([sys.executable, "-m", "rushlight"], tmp_path)
    assert examples.losses(ours) == pytest.approx(examples.losses(theirs), abs=1e-3)


@pytest.mark.parametrize(
    "command",
    [
        ["lr_range_test.py"],
        ["custom_gelu.py"],
        ["gated_linear_unit.py"],
        ["fashion_mnist.py", "--epochs", "1", "--hidden", "32", "--out", "{out}"],
    ],
    ids=lambda c: c[0],
)
def test_programs_of_the_guides(command: list[str], tmp_path: Path) -> None:
    name, *options = [part.replace("{out}", str(tmp_path / "c.pth")) for part in command]
    theirs, ours = (
        examples.run([*python, str(examples.EXAMPLES / name), *options])
        for python in ([sys.executable], [sys.executable, "-m", "rushlight"])
    )
    assert examples.losses(ours) == pytest.approx(examples.losses(theirs), rel=0.02, abs=1e-3)
    assert len(ours.splitlines()) == len(theirs.splitlines())
