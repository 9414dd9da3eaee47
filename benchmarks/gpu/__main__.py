"""python -m benchmarks.gpu: everything that a real GPU must show, in under nine minutes.

Sections come by what they are worth: the driver call by call, what is wrong, then what is compared with
PyTorch, for which an interpreter with PyTorch on CUDA must be there; each library has its turn in each
section, so that what time cuts off is whole comparisons. Each turn is a process of its own (operator cases:
several, side by side). What fails is noted and printed; what loses the device's context, or is silent for
too long, ends its process, is tried once more with CUDA_LAUNCH_BLOCKING=1 so that the kernel is named, and
another process goes on behind it. PyTorch has no turn where Rushlight showed nothing. After each turn
gpu.json and gpu.md are written anew.

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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gpu.page import page

ROOT = Path(__file__).resolve().parents[2]


class Section(NamedTuple):
    """A part of the run: seconds it may take for Rushlight, and for PyTorch, 0 where it does not do it."""

    name: str
    seconds: int
    compared: int


SECTIONS = (
    Section("contact", 40, 0),
    Section("machine", 40, 0),
    Section("rules", 40, 0),
    Section("cases", 110, 0),
    Section("numbers", 20, 15),
    Section("ops", 25, 20),
    Section("steps", 45, 30),
    Section("bandwidth", 35, 20),
    Section("products", 25, 15),
    Section("attention", 20, 15),
    Section("compiled", 70, 70),
    Section("memory", 25, 20),
    Section("copies", 12, 10),
    Section("errors", 12, 0),
)
# How many processes the operator cases are shared out over, at most.
PARTS = 8
# How many failures of a section are printed, and the characters of all that are.
SHOWN, PRINTED = 12, 8000
# Of a section's run: how many times it is begun again after the device's context was lost, and how many of
# the attempts that lost it are made once more to learn which kernel it was.
AGAIN, LOOKED_AT = 12, 3
# Seconds after which a process that prints nothing is ended: in sections of many small attempts, in others.
SILENT = {"cases": 40, "rules": 30, "contact": 30}
SILENT_ELSEWHERE = 60
OUT_OF_TIME = "out of time"
# How many times as long a rehearsal may take: it is about what is done, on a machine of any speed.
PATIENCE = 5


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
    parts = (
        max(min(PARTS, (os.cpu_count() or 1) // 2), 1) if section.name == "cases" and not given.fake else 1
    )
    with ThreadPoolExecutor(parts) as pool:
        turns = [pool.submit(turn, section, library, given, left, f"{k}/{parts}") for k in range(parts)]
        each = [t.result() for t in turns]
    return {
        "lines": [line for one in each for line in one["lines"]],
        "ended": next((one["ended"] for one in each if one["ended"]), ""),
        "seconds": max(one["seconds"] for one in each),
    }


def turn(section: Section, library: str, given: argparse.Namespace, left: float, part: str) -> dict[str, Any]:
    """A part of a section, in a process; begun again behind what has ended it."""
    python = sys.executable if library == "rushlight" else given.torch_python
    most = section.seconds if library == "rushlight" else section.compared
    patience = PATIENCE if given.fake else 1
    found: dict[str, Any] = {"lines": [], "ended": "", "seconds": 0.0}
    began, first, looked = time.perf_counter(), 0, 0
    fake = ["--fake"] if given.fake else []
    for _ in range(AGAIN):
        limit = min(most * patience, left) - (time.perf_counter() - began)
        if limit < 3:
            found["ended"] = found["ended"] or "out of time"
            break
        worker = [python, "-m", "benchmarks.gpu.worker", section.name, library]
        silence = SILENT.get(section.name, SILENT_ELSEWHERE) if library == "rushlight" else limit + 5
        lines, ended = _lines([*worker, str(limit), str(first), part, *fake], limit, silence * patience)
        found["lines"] += [line for line in lines if "next" not in line]
        found["ended"] = ended
        begun = [line for line in lines if "next" in line]
        if not ended or ended == OUT_OF_TIME or not begun:
            break
        first, name = begun[-1]["next"], begun[-1].get("name", "")
        if ended.startswith("silent"):
            found["lines"].append({"name": name, "value": None, "error": ended, "told": ended})
        elif library == "rushlight" and looked < LOOKED_AT and limit > 30:
            looked += 1
            again = [*worker, "20", str(first - 1), part, *fake, "--one"]
            lines, _ = _lines(again, 20, 20, {"CUDA_LAUNCH_BLOCKING": "1"})
            more = [line for line in lines if "next" not in line]
            found["lines"] += [{**line, "name": f"{line['name']}, waited for"} for line in more]
    found["seconds"] = round(time.perf_counter() - began, 1)
    return found


def _lines(
    command: list[str], limit: float, silence: float, more: dict[str, str] | None = None
) -> tuple[list[dict[str, Any]], str]:
    """What a worker prints, a JSON object a line, and how it ended: "" is well. silence: the seconds without
    a line after which it is ended; more: variables of its environment.
    """
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths, "RUSHLIGHT_CUDA": "driver", "PYTHONUNBUFFERED": "1"}
    environment |= more or {}
    # Into files: what hangs in the driver may not even die when it is killed.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        worker = subprocess.Popen(command, stdout=out, stderr=errors, text=True, env=environment, cwd=ROOT)
        ended = _watched(worker, out.fileno(), limit + 5, silence)
        out.seek(0)
        errors.seek(0)
        lines = [found for line in out for found in _parsed(line)]
        if worker.returncode and not ended:
            ended = f"exit status {worker.returncode}: {errors.read()[-1500:]}"
    return lines, ended


def _watched(worker: subprocess.Popen[str], out: int, limit: float, silence: float) -> str:
    """Wait for a worker that prints to a file; end it after its time, or when it was silent for so long.
    How it was ended: "" is by itself.
    """
    began = said = time.perf_counter()
    size, ended = 0, ""
    while not ended:
        try:
            worker.wait(0.2)
            return ""
        except subprocess.TimeoutExpired:
            now, printed = time.perf_counter(), os.fstat(out).st_size
            size, said = (printed, now) if printed > size else (size, said)
            if now - began > limit:
                ended = OUT_OF_TIME
            elif now - said > silence:
                ended = f"silent for {silence:.0f} s"
    worker.kill()
    return ended


def failures(lines: list[dict[str, Any]]) -> list[str]:
    """What failed, a line for each error."""
    found: dict[str, list[str]] = {}
    for line in lines:
        if line.get("error") and line.get("value") != "refused":
            told = line.get("told") or line["error"].strip().splitlines()[-1]
            found.setdefault(f"{line.get('value') or ''} {told[:600]}", []).append(line["name"])
    return [f"{', '.join(names[:6])}{', ...' * (len(names) > 6)}: {told}" for told, names in found.items()]


def showed(result: dict[str, Any] | None) -> bool:
    """Whether a section gave anything."""
    return result is not None and any(line.get("value") is not None for line in result["lines"])


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
        runs = [(lib, s) for s in SECTIONS for lib in ("rushlight", "pytorch")[: 1 + bool(s.compared)]]
    printed = 0
    for library, section in runs:
        if section.name not in wanted:
            continue
        if library == "pytorch" and not showed(found[section.name].get("rushlight")):
            print(f"{section.name:10s} {library:10s}    0.0 s  left out: there is nothing to compare")
            continue
        left = given.seconds * (PATIENCE if given.fake else 1) - (time.perf_counter() - began)
        result = run(section, library, given, left)
        found.setdefault(section.name, {})[library] = result
        ended = result["ended"].splitlines()[-1][:300] if result["ended"] else "done"
        print(f"{section.name:10s} {library:10s} {result['seconds']:6.1f} s  {ended}", flush=True)
        wrong = failures(result["lines"])
        shown = [line for line in wrong[:SHOWN] if (printed := printed + len(line)) < PRINTED]
        print("".join([f"    {line}\n" for line in shown]), end="")
        if len(wrong) > len(shown):
            print(f"    and {len(wrong) - len(shown)} more, in gpu.md", flush=True)
        (out / "gpu.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
        (out / "gpu.md").write_text(page(found), encoding="utf-8")
    print(f"wrote {out / 'gpu.json'} and {out / 'gpu.md'} in {time.perf_counter() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
