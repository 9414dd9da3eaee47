"""benchmarks.gpu, rehearsed over the imitation of the driver: it goes on after a failure and writes its page."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.gpu.page import page

ROOT = Path(__file__).resolve().parents[2]


def test_a_rehearsal(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    command = [sys.executable, "-m", "benchmarks.gpu", "--fake", "--out", str(tmp_path)]
    done = subprocess.run(
        [*command, "--only", "machine,rules,numbers,ops,errors"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads((tmp_path / "gpu.json").read_text(encoding="utf-8"))
    assert list(found) == ["machine", "rules", "numbers", "ops", "errors"]
    assert not any(run["ended"] for runs in found.values() for run in runs.values()), found
    lines = [line for runs in found.values() for line in runs["rushlight"]["lines"]]
    failed = [line for line in lines if "error" in line]
    refused = {"poisson", "poisson, large", "gamma", "gamma, small"}
    assert len(lines) > 60 and {line["name"] for line in failed} == refused, failed
    assert {line["value"] for line in lines if line["name"] == "denormal numbers"} == {"good"}
    assert "| gelu | us |" in (tmp_path / "gpu.md").read_text(encoding="utf-8")


def test_a_section_that_fails_is_noted(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "benchmarks.gpu.worker",
        "no_such_section",
        "rushlight",
        "9",
        "0",
        "0/1",
        "--fake",
    ]
    assert subprocess.run(command, capture_output=True, timeout=100, cwd=ROOT).returncode == 1
    failed = {"lines": [], "ended": "exit status 1: KeyError: 'no_such_section'", "seconds": 1.0}
    line = {"name": "add", "value": None, "unit": "us", "error": "Traceback\nValueError: told"}
    text = page({"ops": {"rushlight": failed, "pytorch": {"lines": [line], "ended": "", "seconds": 1.0}}})
    assert "rushlight ended with" in text and "ValueError: told" in text
