"""python -m benchmarks.gpu: everything that a real GPU must show, in under nine minutes.

Each section runs in a process of its own, first all of them for Rushlight, then, where an interpreter with
PyTorch on CUDA is there, for PyTorch what time is left for; what fails, or outlives its time, is noted, and
the next one follows. After each section gpu.json and gpu.md are written anew.

python -m benchmarks.gpu --out DIRECTORY [--torch-python PYTHON] [--seconds 520] [--only NAME,NAME]
python -m benchmarks.gpu --fake       tiny sizes over the tests' imitation of the driver: a rehearsal
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gpu.page import page

ROOT = Path(__file__).resolve().parents[2]


class Section(NamedTuple):
    """A part of the run: seconds it may take for each library, and whether PyTorch does it, too."""

    name: str
    seconds: int
    compared: bool


SECTIONS = (
    Section("machine", 40, True),
    Section("ops", 25, True),
    Section("bandwidth", 35, True),
    Section("products", 30, True),
    Section("steps", 45, True),
    Section("compiled", 70, True),
    Section("attention", 20, True),
    Section("copies", 15, True),
    Section("memory", 25, True),
    Section("errors", 15, False),
    Section("cases", 100, False),
)
# Of a section's run: how many times it is begun again after the device's context was lost.
AGAIN = 12


def options() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--out", default=os.environ.get("OUT", "."), help="where gpu.json and gpu.md go")
    parser.add_argument("--torch-python", default=sys.executable, help="an interpreter that has PyTorch")
    parser.add_argument("--seconds", type=float, default=520, help="for all sections together")
    parser.add_argument("--only", default="", help="names of sections, with commas")
    parser.add_argument("--fake", action="store_true", help="rehearse over an imitation of the driver")
    return parser.parse_args()


def run(section: Section, library: str, given: argparse.Namespace, left: float) -> dict[str, Any]:
    """One section by one library: its lines, and how it ended."""
    python = sys.executable if library == "rushlight" else given.torch_python
    found: dict[str, Any] = {"lines": [], "ended": "", "seconds": 0.0}
    began, first = time.perf_counter(), 0
    for _ in range(AGAIN):
        limit = min(section.seconds, left) - (time.perf_counter() - began)
        if limit < 3:
            found["ended"] = found["ended"] or "out of time"
            break
        command = [python, "-m", "benchmarks.gpu.worker", section.name, library, str(limit), str(first)]
        lines, ended = _lines([*command, *(["--fake"] if given.fake else [])], limit)
        found["lines"] += [line for line in lines if "next" not in line]
        found["ended"] = ended
        begun = [line["next"] for line in lines if "next" in line]
        if not ended or not begun:
            break
        first = begun[-1]  # what comes behind what has ended it
    found["seconds"] = round(time.perf_counter() - began, 1)
    return found


def _lines(command: list[str], limit: float) -> tuple[list[dict[str, Any]], str]:
    """What a worker prints, a JSON object a line, and how it ended: "" is well."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RUSHLIGHT_CUDA": "driver", "PYTHONUNBUFFERED": "1"}
    # Into files: what hangs in the driver may not even die when it is killed.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        worker = subprocess.Popen(command, stdout=out, stderr=errors, text=True, env=environment, cwd=ROOT)
        ended = ""
        try:
            worker.wait(limit + 5)
        except subprocess.TimeoutExpired:
            worker.kill()
            ended = "out of time"
        out.seek(0)
        errors.seek(0)
        lines = [found for line in out for found in _parsed(line)]
        if worker.returncode and not ended:
            ended = f"exit status {worker.returncode}: {errors.read()[-1500:]}"
    return lines, ended


def _parsed(line: str) -> list[dict[str, Any]]:
    """A line's JSON object; none of what is no whole one."""
    try:
        found = json.loads(line) if line.startswith("{") else None
    except json.JSONDecodeError:
        return []
    return [found] if isinstance(found, dict) else []


def main() -> int:
    """Run the sections."""
    given = options()
    out = Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    began, found = time.perf_counter(), dict[str, Any]()
    wanted = given.only.split(",") if given.only else [s.name for s in SECTIONS]
    runs = [("rushlight", s) for s in SECTIONS]
    if not given.fake:
        runs += [("pytorch", s) for s in SECTIONS if s.compared]
    for library, section in runs:
        if section.name not in wanted:
            continue
        left = given.seconds - (time.perf_counter() - began)
        result = run(section, library, given, left)
        found.setdefault(section.name, {})[library] = result
        ended = result["ended"].splitlines()[-1][:100] if result["ended"] else "done"
        print(f"{section.name:10s} {library:10s} {result['seconds']:6.1f} s  {ended}", flush=True)
        (out / "gpu.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
        (out / "gpu.md").write_text(page(found), encoding="utf-8")
    print(f"wrote {out / 'gpu.json'} and {out / 'gpu.md'} in {time.perf_counter() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
