"""Whole programs that others wrote, run as they are by PyTorch and by Rushlight, and what differs.

    python tools/programs.py --torch PYTHON --rushlight PYTHON --checkouts DIR --work DIR [--only REGEX]
        [--again] [--write]
    python tools/programs.py --install                 prints the packages of the table, for a package manager

The table is `tools/programs/table.toml`, a row for each program:

    name      what it is called here
    area      what it is about
    packages  what is installed for it, on both sides the same (but for torch itself)
    checkout  the repository (owner/name) that it is in, a directory OWNER+NAME under --checkouts
    run       the command line after `python`, in a copy of the checkout: of a file of the checkout, of a
              driver of ours (tools/programs/NAME.py, so where there is a checkout), or `-m pytest ...`
    folder    where in the checkout it is started
    prepare   a driver that writes the data that the program reads, run first, on both sides
    ignore    a regular expression: what matches is taken out of each line before lines are compared (times)
    rtol      how far numbers may be apart, where rounding grows (1e-4 where nothing is said), and
    why       the reason
    chaotic   the reason why rounding decides what comes out, where it does: PyTorch is run once more, on
              other instructions of the processor, and numbers may be ten times as far from PyTorch's as
              those are
    timeout   seconds (240 where nothing is said)
    environment   variables for both sides
    without   packages that the program is to find missing, on both sides (what it says that it does without)

A program is run by `tools/programs/seeded.py`: as `__main__`, from seeds that are set, and what its
variables hold at the end is printed as sums, so that a program that prints nothing can be compared, too.
Tests are compared by name: what passes with PyTorch must pass with Rushlight. What PyTorch gave is kept
under --work, and is run again with --again. --write writes `docs/programs.md`: rows that have been run under
--work as they came out, the others as the page has them (a row that never was run has no line).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent / "programs"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "programs.md"
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|\bnan\b|\binf\b")
TIMES = re.compile(
    r"\b0x[0-9a-f]+\b|\d\d:\d\d:\d\d\S*|\b\d{4}-\d\d-\d\d\b|"
    r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?\s*(?:s|ms|sec|secs|seconds|it/s|s/it|ms/batch)\b"
)
ROW = re.compile(r"^\| (\S+) \|.*\| (\d+ numbers|\d+ of \d+ tests) \| (yes|\*\*no\*\*) \|$")
NOTE = re.compile(r"^- (\S+): (\d+ differences, the first: .*)$")
OUTCOME = re.compile(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (\S+(?:\[.*?\])?)")


@dataclasses.dataclass
class Program:
    """A row of the table."""

    name: str
    area: str
    run: str
    packages: list[str] = dataclasses.field(default_factory=list)
    checkout: str = ""
    folder: str = "."
    prepare: str = ""
    ignore: str = ""
    rtol: float = 1e-4
    why: str = ""
    chaotic: str = ""
    timeout: float = 240
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    without: list[str] = dataclasses.field(default_factory=list)

    @property
    def tests(self) -> bool:
        """Whether it is run by pytest."""
        return self.run.startswith("-m pytest")


@dataclasses.dataclass
class Outcome:
    """What a run of a program gave."""

    code: int
    text: str
    errors: str
    seconds: float


def table() -> list[Program]:
    """The rows."""
    with open(HERE / "table.toml", "rb") as file:
        return [Program(**row) for row in tomllib.load(file)["program"]]


def command(program: Program, python: list[str]) -> list[str]:
    """The command line of a side."""
    first, *rest = program.run.split()
    if program.tests:
        # Without the suite's own options of pytest, which ask for coverage and plugins.
        own = ["-rA", "-q", "-p", "no:cacheprovider", "--tb=short", "-o", "addopts="]
        return [*python, *program.run.split(), *own]
    ours = not program.checkout or first.startswith("tools/programs/")
    return [*python, str(HERE / "seeded.py"), str(HERE / Path(first).name) if ours else first, *rest]


# PyTorch's and its libraries' kernels without the newer instructions: the same sums in another order.
OTHER_KERNELS = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "SSE41"}


def run(
    program: Program, python: list[str], checkouts: Path, workdir: Path, more: dict[str, str] | None = None
) -> Outcome:
    """Runs a program in a fresh folder, with more variables of the environment."""
    shutil.rmtree(workdir, ignore_errors=True)
    if program.checkout:
        source = checkouts / program.checkout.replace("/", "+")
        shutil.copytree(source, workdir, ignore=shutil.ignore_patterns(".git"), symlinks=True)
    else:
        workdir.mkdir(parents=True)
    env = (
        os.environ
        | {
            "PYTHONHASHSEED": "0",
            "MPLBACKEND": "Agg",
            "OMP_NUM_THREADS": "1",
            "COLUMNS": "100",
            "HF_HUB_OFFLINE": "1",
            "TQDM_DISABLE": "1",
            "WANDB_MODE": "disabled",
            "PYTHONPATH": str(workdir),
            "PROGRAM_WITHOUT": " ".join(program.without),
            "HOME": str(workdir.parent),
        }
        | program.environment
        | (more or {})
    )
    if program.prepare:
        first, *rest = program.prepare.split()
        subprocess.run(
            [*python, str(HERE / first), *rest],
            cwd=workdir / program.folder,
            env=env,
            check=True,
            timeout=program.timeout,
        )
    start = time.perf_counter()
    said, told = workdir.parent / f"{workdir.name}.out", workdir.parent / f"{workdir.name}.err"
    with open(said, "w+") as out, open(told, "w+") as err:
        child = subprocess.Popen(
            command(program, python),
            cwd=workdir / program.folder,
            env=env,
            stdout=out,
            stderr=err,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            code = child.wait(program.timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            code = 124
        seconds = time.perf_counter() - start
        out.seek(0)
        err.seek(0)
        return Outcome(code, out.read()[-2_000_000:], err.read()[-20_000:], seconds)


def close(a: str, b: str, rtol: float) -> bool:
    """Whether two printed numbers are the same but for rounding, in computing or in printing."""
    x, y = float(a), float(b)
    if x == y or (math.isnan(x) and math.isnan(y)):
        return True
    mantissa, _, power = min(a, b, key=len).lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    unit = 10.0 ** (int(power or 0) - digits) if digits else 0.0
    return abs(x - y) <= rtol * max(abs(x), abs(y)) + 1.01 * unit + rtol * 1e-2


def near(a: str, b: str, again: str) -> bool:
    """Whether a number is at most ten times as far from PyTorch's as PyTorch's own, rounded otherwise."""
    return abs(float(a) - float(b)) <= 10 * abs(float(a) - float(again))


def lines(program: Program, text: str) -> list[str]:
    """The lines of a text without what may differ: times, addresses, spaces."""
    text = text.replace("\r", "\n")
    if program.ignore:
        text = re.sub(program.ignore, "~", text, flags=re.MULTILINE)
    return [" ".join(TIMES.sub("~", line).split()) for line in text.split("\n") if line.strip()]


def differing(program: Program, theirs: str, ours: str, again: str) -> tuple[int, list[str]]:
    """How many numbers two texts have, and the lines that differ. `again`: what PyTorch printed when it
    rounded otherwise, or the first text once more.
    """
    a, b, c = (lines(program, text) for text in (theirs, ours, again))
    wrong = [] if len(a) == len(b) else [f"{len(a)} lines printed by PyTorch, {len(b)} by Rushlight"]
    numbers = 0
    for left, right, third in zip(a, b, c if len(c) == len(a) else a):
        x, y, z = NUMBER.findall(left), NUMBER.findall(right), NUMBER.findall(third)
        numbers += len(x)
        same = NUMBER.sub("#", left) == NUMBER.sub("#", right) and len(x) == len(y)
        z = z if len(z) == len(x) else x
        if not (same and all(close(p, q, program.rtol) or near(p, q, r) for p, q, r in zip(x, y, z))):
            wrong.append(f"PyTorch:   {left[:300]}\n    Rushlight: {right[:300]}")
    return numbers, wrong


def outcomes(text: str) -> dict[str, str]:
    """The tests of a report of pytest and what became of them."""
    found = (OUTCOME.match(line) for line in text.split("\n"))
    return {m[2]: m[1] for m in found if m}


def verdict(program: Program, theirs: Outcome, ours: Outcome, again: Outcome | None = None) -> dict[str, Any]:
    """What is said of a program: whether it is the same, what was compared, and what differs."""
    if program.tests:
        a, b = outcomes(theirs.text), outcomes(ours.text)
        expected = sorted(name for name, how in a.items() if how == "PASSED")
        missed = [f"{b.get(name, 'not run')} {name}" for name in expected if b.get(name) != "PASSED"]
        what = f"{len(expected) - len(missed)} of {len(expected)} tests"
        return {"same": bool(expected) and not missed, "what": what, "wrong": missed}
    numbers, wrong = differing(program, theirs.text, ours.text, (again or theirs).text)
    if theirs.code != ours.code:
        last = ours.errors.strip().split("\n")[-1][:300]
        wrong.insert(0, f"ended with {ours.code}, PyTorch with {theirs.code}: {last}")
    same = not wrong and theirs.code == 0 and numbers > 0
    return {"same": same, "what": f"{numbers} numbers", "wrong": wrong}


def identity(program: Program) -> list[str]:
    """What a run of a program depends on: a run on PyTorch that had the same is not done again."""
    driver = HERE / Path(program.run.split()[0]).name
    text = driver.read_text() if driver.exists() else ""
    return [program.run, program.checkout, program.folder, program.prepare, text, program.chaotic]


def compare(program: Program, args: argparse.Namespace) -> dict[str, Any]:
    """Runs a program on both sides and keeps what came out."""
    workdir = args.work / program.name
    workdir.mkdir(parents=True, exist_ok=True)
    kept = workdir / "torch.json"
    key = identity(program)
    stored = json.loads(kept.read_text()) if kept.exists() and not args.again else {}
    if stored.get("key") == key and stored["outcome"]["code"] in (0, 1 if program.tests else 0):
        theirs = Outcome(**stored["outcome"])
    else:
        theirs = run(program, [args.torch], args.checkouts, workdir / "torch")
        stored = {"key": key, "outcome": dataclasses.asdict(theirs), "again": None}
        if program.chaotic:
            again = run(program, [args.torch], args.checkouts, workdir / "again", OTHER_KERNELS)
            stored["again"] = dataclasses.asdict(again)
        kept.write_text(json.dumps(stored))
    third = Outcome(**stored["again"]) if stored.get("again") else None
    ours = run(program, [args.rushlight, "-m", "rushlight"], args.checkouts, workdir / "rushlight")
    found = verdict(program, theirs, ours, third) | {"times": [theirs.seconds, ours.seconds]}
    if not program.tests and theirs.code:
        last = theirs.errors.strip().split("\n")[-1][:300]
        found["wrong"].insert(0, f"PyTorch ended with {theirs.code}: {last}")
    (workdir / "verdict.json").write_text(json.dumps(found))
    return found


def findings(text: str) -> dict[str, dict[str, Any]]:
    """What a page says of its programs, as `verdict` would: of differences their number and the first."""
    found: dict[str, dict[str, Any]] = {}
    for line in text.split("\n"):
        if row := ROW.match(line):
            found[row[1]] = {"same": row[3] == "yes", "what": row[2], "note": ""}
        elif (note := NOTE.match(line)) and note[1] in found:
            found[note[1]]["note"] = note[2]
    return found


def note(found: dict[str, Any]) -> str:
    """What the page says of a program that differs."""
    if "note" in found:
        return str(found["note"])
    first = (found["wrong"] or ["nothing was compared"])[0].split("\n")
    return f"{len(found['wrong'])} differences, the first: `{' / '.join(x.strip() for x in first)[:240]}`"


def roundings(programs: list[Program]) -> list[str]:
    """Where numbers may be further apart, and why."""
    notes = [f"- {x.name}: {x.why} (numbers within {x.rtol:g})" for x in programs if x.why]
    return notes + [
        f"- {x.name}: {x.chaotic} (numbers within ten times the distance of PyTorch's own "
        "when its kernels add up in another order)"
        for x in programs
        if x.chaotic
    ]


def page(rows: list[tuple[Program, dict[str, Any]]]) -> str:
    """The page of figures."""
    same = sum(found["same"] for _, found in rows)
    text = [
        *INTRODUCTION,
        f"**{same} of {len(rows)} are the same.**",
        "",
        "| program | area | what is run | compared | same |",
        "|---|---|---|---|---|",
    ]
    for program, found in rows:
        what = program.run.replace("|", "\\|")
        where = f"{program.checkout}: " if program.checkout else ""
        text.append(
            f"| {program.name} | {program.area} | {where}`{what}` | {found['what']} | "
            f"{'yes' if found['same'] else '**no**'} |"
        )
    notes = roundings([program for program, _ in rows])
    if notes:
        text += ["", "## Where rounding grows", "", *notes]
    missed = [f"- {program.name}: {note(found)}" for program, found in rows if not found["same"]]
    if missed:
        text += ["", "## What differs", "", *missed]
    return "\n".join(text) + "\n"


def written(work: Path) -> str:
    """The page anew: of rows that have been run under a folder, and of the page as it is for the others."""
    known = findings(PAGE.read_text())
    for program in table():
        file = work / program.name / "verdict.json"
        if file.exists():
            known[program.name] = json.loads(file.read_text())
    return page([(program, known[program.name]) for program in table() if program.name in known])


INTRODUCTION = """# Programs of others

Packages and repositories that nobody here wrote, run as they are by PyTorch 2.13 and by Rushlight from the
same seeds: `python tools/programs.py` runs the table `tools/programs/table.toml` and writes this page. A
program is the same if all that it prints is: texts, and numbers within rounding (1e-4 of their size, or a
unit of the last digit that is printed); a suite of tests, if all pass that pass with PyTorch. The sums of
what a program's variables hold at the end are compared as well. Data sets cannot be had everywhere, so
programs read small synthetic ones.
""".split("\n")


def arguments() -> argparse.Namespace:
    """The command line."""
    shown = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=shown)
    parser.add_argument("--torch", default=sys.executable, help="a Python with torch and the packages")
    parser.add_argument("--rushlight", default=sys.executable, help="one with Rushlight and them")
    parser.add_argument("--checkouts", type=lambda x: Path(x).resolve(), default=Path("checkouts"))
    parser.add_argument("--work", type=lambda x: Path(x).resolve(), default=Path("programs-work"))
    parser.add_argument("--only", default="", help="names that match this regular expression")
    parser.add_argument("--again", action="store_true", help="run PyTorch's side anew, too")
    parser.add_argument("--write", action="store_true", help="write docs/programs.md")
    parser.add_argument("--install", action="store_true", help="print what is to be installed, and end")
    return parser.parse_args()


def main() -> None:
    """Runs the rows that are asked for."""
    args = arguments()
    if args.install:
        print("\n".join(sorted({package for program in table() for package in program.packages})))
        return
    for program in table():
        if not re.search(args.only, program.name):
            continue
        found = compare(program, args)
        theirs, ours = found["times"]
        print(
            f"{'same  ' if found['same'] else 'DIFFER'} {program.name:28} {found['what']:18} "
            f"{theirs:6.1f} s {ours:6.1f} s",
            flush=True,
        )
        for wrong in found["wrong"][:5]:
            print(f"    {wrong}", flush=True)
    if args.write:
        PAGE.write_text(written(args.work))


if __name__ == "__main__":
    main()
