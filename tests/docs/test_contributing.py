"""CONTRIBUTING.md is followed to the letter, in a copy of the tree; references into the code are current."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^### .*?\n(.*?)(?=^###? )", re.DOTALL | re.MULTILINE)
STEP = re.compile(
    r"end\s+of\s+`(?P<file>[\w/.]+)`[^`]*?:\n\n```\w+\n(?P<text>.*?)^```"
    r"|`python (?P<command>(?:tools/\w+\.py|-m pytest)[^`]*)`"
    r"|^```python\n(?P<check>.*?)^```",
    re.DOTALL | re.MULTILINE,
)


def test_the_changes_step_by_step(tmp_path: Path) -> None:
    for folder in ("rushlight", "tools", "docs", "tests"):
        # With what is compiled of it, but for files that some process is just writing.
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.pyc.*"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    sections = SECTION.findall(PAGE)
    assert len(sections) == 3
    for section in sections:
        checked = False
        for step in STEP.finditer(section):
            if step["file"]:
                with (tmp_path / step["file"]).open("a", encoding="utf-8") as file:
                    file.write(("\n\n" if step["file"].endswith(".py") else "") + step["text"])
            else:
                checked = step["check"] is not None
                run(tmp_path, *(["-c", step["check"]] if checked else shlex.split(step["command"])))
        assert checked


def run(tree: Path, *arguments: str) -> None:
    """Run Python in the copy; what it prints is shown where it fails."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env={"PYTHONPATH": str(tree), "PATH": "/usr/bin:/bin", "RUSHLIGHT_CACHE_DIR": str(tree / "cache")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_references_into_the_code_are_current() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "references.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"run `python tools/references.py`: {done.stdout}{done.stderr}"
