"""Generated functions: their code is kept on the disk, and read there by the next process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import rushlight as torch
from rushlight._engine.dispatch import generated_code
x = torch.ones(3, requires_grad=True)
x.exp().sum().backward()
print(x.grad.tolist(), len(generated_code._fresh))
try:
    x.exp(1, 2, 3)
except TypeError:
    pass
"""


def run(folder: Path) -> tuple[str, int]:
    given = {**os.environ, "RUSHLIGHT_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=given, capture_output=True, text=True, check=True
    )
    grad, _, compiled = done.stdout.rpartition(" ")
    return grad, int(compiled)


def test_code_is_read_from_the_disk(tmp_path: Path) -> None:
    grad, compiled = run(tmp_path)
    assert compiled > 3
    assert run(tmp_path) == (grad, 0)


def test_damaged_code_is_compiled_again(tmp_path: Path) -> None:
    grad, compiled = run(tmp_path)
    for entry in tmp_path.iterdir():
        data = bytearray(entry.read_bytes())
        data[-1] ^= 1
        entry.write_bytes(data)
    assert run(tmp_path) == (grad, compiled)


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    grad, compiled = run(tmp_path / "file")
    assert compiled and run(tmp_path / "file") == (grad, compiled)
