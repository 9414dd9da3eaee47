"""benchmarks.gpu, rehearsed over the imitation of the driver: it goes on after a failure and writes its page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from benchmarks.gpu import __main__ as program
from benchmarks.gpu.contact import SUM
from benchmarks.gpu.page import page
from rushlight._engine.devices.cuda.kernels import ptx

ROOT = Path(__file__).resolve().parents[2]


def test_a_rehearsal(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    command = [sys.executable, "-m", "benchmarks.gpu", "--fake", "--out", str(tmp_path)]
    done = subprocess.run(
        [*command, "--only", "contact,machine,rules,numbers,ops,errors"],
        capture_output=True,
        text=True,
        timeout=900,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads((tmp_path / "gpu.json").read_text(encoding="utf-8"))
    assert list(found) == ["contact", "machine", "rules", "numbers", "ops", "errors"]
    assert not any(run["ended"] for runs in found.values() for run in runs.values()), found
    lines = [line for runs in found.values() for line in runs["rushlight"]["lines"]]
    failed = [line for line in lines if "error" in line]
    assert len(lines) > 60 and not failed, failed
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


def test_what_loses_the_context_is_named_and_the_next_step_comes(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    command = [sys.executable, "-m", "benchmarks.gpu", "--fake", "--out", str(tmp_path), "--only", "contact"]
    environment = {**os.environ, "FAKE_ERRORS": "cuMemcpyDtoDAsync_v2:716"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = json.loads((tmp_path / "gpu.json").read_text())["contact"]["rushlight"]["lines"]
    found = {line["name"]: line for line in lines}
    assert "error 716 of cuMemcpyDtoDAsync_v2(0x" in found["memory"]["told"]
    assert "error 716" in found["memory, waited for"]["told"]
    assert found["a graph"]["value"] == "1 node" and found["a launch by machine code"]["value"] == "by ctypes"
    assert "    memory" in done.stdout and "cuMemcpyDtoDAsync_v2(0x" in done.stdout


def test_a_silent_process_is_ended() -> None:
    with tempfile.TemporaryFile() as out:
        worker = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(60)"], stdout=out, text=True
        )
        began = time.perf_counter()
        assert program._watched(worker, out.fileno(), 60, 1) == "silent for 1 s"
        assert time.perf_counter() - began < 20 and worker.wait(20)


def test_failures_of_one_reason_are_one_line() -> None:
    lines = [{"name": name, "value": None, "error": "E", "told": "NoDriver: none"} for name in "abc"]
    lines += [{"name": "d", "value": "refused", "error": "E"}, {"name": "e", "value": 1.0}]
    assert program.failures(lines) == ["a, b, c:  NoDriver: none"]


def test_ptx_by_hand_is_taken() -> None:
    if ptx.assembler() is None:
        pytest.skip("ptxas is not installed")
    assert ptx.assemble(SUM, "sm_90").spills == 0
