"""Record what the examples print under PyTorch: python tests/goldens/record_examples.py"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from example_text import example_text

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
# Small enough for a test, with every feature of the program: dropout, clipping, tied weights.
CHAR_GPT = [
    "--steps",
    "50",
    "--print-every",
    "1",
    "--sample",
    "40",
    "--batch",
    "4",
    "--context",
    "32",
    "--width",
    "64",
    "--layers",
    "2",
    "--seed",
    "3",
]
DIGITS = ["--epochs", "3"]


def losses(printed: str) -> list[float]:
    """The numbers after the word loss, in the order of the lines."""
    return [float(n) for n in re.findall(r"loss (\d+\.\d+)", printed)]


def sample(printed: str) -> str:
    """What char_gpt.py wrote between its two rules."""
    return printed.split("-" * 72)[1]


def run_char_gpt(command: list[str], folder: Path, threads: int = 2, extra: tuple[str, ...] = ()) -> str:
    """What char_gpt.py prints on the made text, run by `command`; its files go to `folder`."""
    text = folder / "text.txt"
    text.write_text(example_text(), encoding="utf-8")
    return run(
        [
            *command,
            str(EXAMPLES / "char_gpt.py"),
            *CHAR_GPT,
            "--text",
            str(text),
            "--out",
            str(folder),
            *extra,
        ],
        threads,
    )


def run_digits(command: list[str], folder: Path) -> str:
    """What digits.py prints, run by `command`; its picture goes to `folder`."""
    return run([*command, str(EXAMPLES / "digits.py"), *DIGITS, "--out", str(folder)])


def run(command: list[str], threads: int = 2) -> str:
    """What a command prints; its failure is an error that shows what it wrote to stderr."""
    number = str(threads)
    environment = {**os.environ, "OMP_NUM_THREADS": number, "OPENBLAS_NUM_THREADS": number, "PYTHONUTF8": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    if done.returncode:
        raise RuntimeError(f"{command} exited with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout


def main() -> None:
    """Write char_gpt_losses.json."""
    with tempfile.TemporaryDirectory() as name:
        one = run_char_gpt([sys.executable], Path(name), threads=1)
        two = run_char_gpt([sys.executable], Path(name), threads=2)
    if losses(one) != losses(two):
        raise SystemExit("PyTorch's losses depend on the number of threads: choose another size")
        digits = run_digits([sys.executable], Path(name))
    record = {"char_gpt": losses(one), "sample": sample(one), "digits": losses(digits)}
    (HERE / "char_gpt_losses.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
