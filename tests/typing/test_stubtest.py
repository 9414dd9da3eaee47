"""stubtest, which comes with mypy, finds no public name that the stubs lack or tell otherwise."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FORMS = "has forms that begin with, or go on to, different parameters; a signature at run time tells one"
# What one signature cannot tell, and the overloads of a stub can.
EXCEPTIONS = {
    "arange": FORMS,
    "randint": FORMS,
    "repeat_interleave": FORMS,
    "max": FORMS,
    "min": FORMS,
    "Tensor.repeat_interleave": FORMS,
    "Tensor.max": FORMS,
    "Tensor.min": FORMS,
    "Tensor.split": "torch.split, too, whose parameter is split_size_or_sections; either name is taken",
    "Tensor.__repr__": "told without tensor_contents: no checker compares such keywords",
    "Tensor.coalesce": "told as sparse tensors have it; an ordinary tensor's refuses",
}
# With each module's names as its file has them: a star import's are PyTorch's, many only to be imported.
AS_FILES = """
from rushlight._engine.names import star_names
star_names.star, star_names.shown = lambda module: None, lambda module, names: names
from mypy.stubtest import main
raise SystemExit(main())
"""
CONFIG = "[mypy]\nignore_missing_imports = True\nfollow_imports = silent\nignore_errors = True\n"


def of_a_public_stub(name: str) -> bool:
    """Whether a dotted name is told by a .pyi (and not by a source, which stubtest takes for one, too)."""
    parts = name.split(".")
    if any(re.match("_(?!_|engine$)", part) for part in parts):
        return False
    for end in range(len(parts), 0, -1):
        place = ROOT.joinpath(*parts[:end])
        if (place / "__init__.py").exists() or place.with_suffix(".py").exists():
            return (place / "__init__.pyi").exists() or place.with_suffix(".pyi").exists()
    return False


def test_stubtest_finds_nothing(tmp_path: Path) -> None:
    config = tmp_path / "mypy.ini"
    config.write_text(CONFIG)
    done = subprocess.run(
        [sys.executable, "-c", AS_FILES, "--concise", "--mypy-config-file", str(config), "rushlight"],
        capture_output=True,
        text=True,
        timeout=900,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MYPYPATH": str(ROOT), "RUSHLIGHT_CUDA": "simulated"},
    )
    assert "rushlight." in done.stdout and "not checking stubs" not in done.stdout, done.stdout + done.stderr
    told = [line for line in done.stdout.splitlines() if re.match(r"rushlight[.\w]* ", line)]
    found = [line for line in told if of_a_public_stub(line.split()[0])]
    excepted = {line.split()[0].partition(".")[2] for line in found} & EXCEPTIONS.keys()
    wrong = [line for line in found if line.split()[0].partition(".")[2] not in EXCEPTIONS]
    assert wrong == []
    assert excepted == EXCEPTIONS.keys(), "exceptions that are none any more"
