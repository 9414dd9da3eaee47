"""The sources of the public storey pass mypy --strict, which reads stubs where there are some: so the stubs go, in a copy."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight

_PACKAGE = Path(rushlight.__file__).parent
# What stands in stubs alone: names that are found when they are asked for.
_FOUND_LATE = ("__init__.pyi", "functional.pyi")


_FOLDERS = ("rushlight/jit", "rushlight/nn", "rushlight/optim")
_CONFIG = "[mypy]\nignore_missing_imports = True\nfollow_imports = silent\nfollow_imports_for_stubs = True\nexclude = rushlight/jit/library/[a-z]\n"


def test_public_sources(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    copy = tmp_path / "rushlight"
    shutil.copytree(_PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for stub in (copy / "nn").rglob("*.pyi"):
        if stub.name not in _FOUND_LATE:
            stub.unlink()
    config = tmp_path / "mypy.ini"
    config.write_text(_CONFIG, encoding="utf-8")
    options = ["--strict", "--no-warn-return-any", "--no-error-summary", "--config-file", str(config)]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--cache-dir", str(tmp_path / "cache"), *_FOLDERS],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
