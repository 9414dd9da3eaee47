"""Run PyTorch's own unit tests on both sides, and count what Rushlight passes of what PyTorch passes.

    python tools/pytorch_tests.py --torch-python PYTHON --tests DIR [--tests DIR] [options] [test_torch ...]

PYTHON is an interpreter with PyTorch 2.13, pytest, expecttest and hypothesis; DIR holds PyTorch's test files
(of any release: decorators that the installed helpers no longer have pass through). Rushlight runs with the
interpreter that runs this command, from the tree that this file lies in. Without names all files of DIR run.

    --max N           of each file N of the tests, drawn by their ids: the same ones each time (300; 0: all)
    --start N         of these leave the first N out: other tests than those of a draw of N (0)
    --seed TEXT       draw in another order
    --match TEXT      only tests whose id contains TEXT
    --failed          only tests that did not pass last time
    --jobs N          files at the same time (1)
    --limit S         seconds for one test (60)
    --seconds S       seconds for one file and side (1800); what did not run by then is told, and not counted
    --work DIR        logs and what PyTorch passes (a folder of the user in the system's temporary folder)
    --json FILE       write the figures and all that failed
    --page FILE       write the figures of these files into the page (docs/pytorch-tests.md)
    --cuda            instead, tests of devices on a simulated CUDA device (RUSHLIGHT_CUDA says which, such as
                      simulated:2x4GB): only Rushlight runs, PyTorch has no device here, so a failure may be
                      PyTorch's as well; skipped tests do not count
    --check           fail (exit status 1) where a test fails that is no exception, or an exception passes

PyTorch runs first, once for each file and release: only what it passes there counts. A test that is an
exception (tools/pytorch_tests_exceptions.json: file -> {id, or pattern of ids: reason}) does not count and
need not pass. Prints passed/of for each file, then the first lines of what failed, most frequent first, with
an example; `WORK/TREE/FILE.jsonl` has each test's traceback, `FILE.out` what pytest printed. A test that ends
the process counts as failed ("the process ended with -11"), and the file goes on behind it.

    python tools/pytorch_tests.py --torch-python PT/bin/python --tests DIR test_view_ops --match test_split
    python tools/pytorch_tests.py --torch-python PT/bin/python --tests DIR test_view_ops --failed
"""

from __future__ import annotations

import argparse
import fnmatch
import getpass
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pytorch_tests_draw import draw

TOOLS = Path(__file__).resolve().parent
TREE = TOOLS.parent
EXCEPTIONS = TOOLS / "pytorch_tests_exceptions.json"
RULE = "<!-- Below: written by tools/pytorch_tests.py --page. -->"
INTERRUPTED = 2  # pytest's exit status
NEEDED = ("pytest", "expecttest", "hypothesis")

Outcome = dict[str, Any]


@dataclass
class Side:
    """One of the two implementations: an interpreter and how it is told to run a module."""

    python: str
    options: list[str]
    work: Path  # logs
    path: tuple[str, ...] = (str(TOOLS),)  # PYTHONPATH


@dataclass
class Figures:
    """What became of one file."""

    name: str
    pytorch_passes: int = 0
    exceptions: int = 0
    of: int = 0  # chosen tests that ran
    passed: int = 0
    not_run: int = 0
    failures: dict[str, str] = field(default_factory=dict)  # id -> message
    mended: list[str] = field(default_factory=list)  # exceptions that pass


# --- one file on one side -----------------------------------------------------------------------


def read_outcomes(log: Path) -> dict[str, Outcome]:
    """Test id -> outcome."""
    lines = map(json.loads, log.read_text().splitlines()) if log.exists() else ()
    return {told["test"]: told for told in lines if "test" in told}


def collected(log: Path) -> list[str]:
    """The ids of all tests of a file, as far as they are known."""
    lines = map(json.loads, log.read_text().splitlines()) if log.exists() else ()
    return next((told["collected"] for told in lines if "collected" in told), [])


def crashed_in(log: Path) -> str | None:
    """The test that had begun and not ended when the process was gone."""
    begun = None
    for told in map(json.loads, log.read_text().splitlines()):
        begun = told.get("begun", begun)
        if told.get("test") == begun:
            begun = None
    return begun


def run_file(side: Side, path: Path, args: argparse.Namespace, log: Path, wanted: dict[str, str]) -> None:
    """Run a file's tests, again and again behind tests that end the process."""
    side.work.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "RUNNER_LOG": str(log),
        "RUNNER_HELPERS": args.helpers,
        "RUNNER_LIMIT": str(args.limit),
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(side.path),
        "PYTORCH_TESTING_DEVICE_ONLY_FOR": "cpu",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        **wanted,
    }
    command = [
        side.python,
        *side.options,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--noconftest",
        "-p",
        "pytorch_tests_plugin",
        "--tb=short",
        "-W",
        "ignore",
        "--rootdir",
        str(path.parent),
        "--import-mode=append",
        str(path),
    ]
    end = time.monotonic() + args.seconds
    with log.with_suffix(".out").open("ab") as stream:
        while end > time.monotonic():
            try:
                code = subprocess.run(
                    command,
                    env=environment,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    cwd=side.work,
                    timeout=max(5, end - time.monotonic()),
                ).returncode
            except subprocess.TimeoutExpired:
                break
            test = crashed_in(log) if log.exists() else None
            if code == INTERRUPTED or test is None:
                break
            with log.open("a") as told:
                told.write(
                    json.dumps(
                        {
                            "test": test,
                            "outcome": "crashed",
                            "seconds": 0.0,
                            "message": f"the process ended with {code}",
                        }
                    )
                    + "\n"
                )


# --- both sides ---------------------------------------------------------------------------------


def reference(path: Path, args: argparse.Namespace) -> tuple[list[str], dict[str, Outcome]]:
    """The tests that are drawn of a file, and what PyTorch does in all that it has run so far.

    PyTorch's outcomes are kept by the file's text and PyTorch's version; what more is drawn is added.
    """
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    log = args.work / "pytorch" / f"{path.stem}-{args.version}-{digest}.jsonl"
    left_out = list(json.loads(EXCEPTIONS.read_text()).get("*", ()))
    drawing = (args.start, args.max or 10**9, args.match, left_out, args.seed)
    drawn = draw(collected(log), *drawing)
    if not drawn or set(drawn) - set(read_outcomes(log)):
        side = Side(args.torch_python, [], log.parent)
        run_file(side, path, args, log, {"RUNNER_DRAW": json.dumps(drawing)})
        drawn = draw(collected(log), *drawing)
    if not drawn:
        print(f"PyTorch runs no test of {path}; see {log.with_suffix('.out')}", flush=True)
    return drawn, read_outcomes(log)


def reasons(name: str) -> dict[str, str]:
    """The exceptions of a file: patterns of ids -> reason."""
    table = json.loads(EXCEPTIONS.read_text())
    return {**table.get("*", {}), **table.get(name, {})}


def is_exception(test: str, patterns: dict[str, str]) -> bool:
    """Whether the table lists the test."""
    return any(test == pattern or fnmatch.fnmatchcase(test, pattern) for pattern in patterns)


def on_a_device(side: Side, path: Path, args: argparse.Namespace) -> Figures:
    """Run a file's tests of devices on a simulated one."""
    log = side.work / f"{path.stem}-cuda.jsonl"
    side.work.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    log.with_suffix(".out").unlink(missing_ok=True)
    drawing = json.dumps([args.start, args.max or 10**9, args.match or "CUDA", [], args.seed])
    devices = os.environ.get("RUSHLIGHT_CUDA") or "simulated"
    where = {"PYTORCH_TESTING_DEVICE_ONLY_FOR": "cuda", "RUSHLIGHT_CUDA": devices}
    run_file(side, path, args, log, {"RUNNER_DRAW": drawing, **where})
    found = {t: told for t, told in read_outcomes(log).items() if told["outcome"] != "skipped"}
    return count(path.stem, list(found), list(found), found)


def compare(path: Path, args: argparse.Namespace) -> Figures:
    """Run one file on both sides."""
    side = Side(sys.executable, ["-m", "rushlight"], args.work / TREE.name, (str(TREE), str(TOOLS)))
    if args.cuda:
        return on_a_device(side, path, args)
    log = side.work / f"{path.stem}.jsonl"
    before = read_outcomes(log) if args.failed else {}
    drawn, pytorch = reference(path, args)
    passes = [test for test in drawn if pytorch.get(test, {"outcome": "not run"})["outcome"] == "passed"]
    chosen = passes
    if args.failed:
        chosen = [test for test in chosen if before.get(test, {"outcome": "passed"})["outcome"] != "passed"]
    side.work.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    log.with_suffix(".out").unlink(missing_ok=True)
    log.with_suffix(".chosen").write_text("\n".join(chosen))
    if chosen:
        run_file(side, path, args, log, {"RUNNER_CHOSEN": str(log.with_suffix(".chosen"))})
    found = read_outcomes(log)
    if not found:  # the file could not be imported
        found = {
            test: {"test": test, "outcome": "not collected", "message": "file not imported"}
            for test in chosen
        }
    if args.failed:  # what was not asked for stays known
        log.write_text("".join(json.dumps(told) + "\n" for told in {**before, **found}.values()))
    return count(path.stem, passes, chosen, found)


def count(name: str, passes: list[str], chosen: list[str], found: dict[str, Outcome]) -> Figures:
    """The figures of one file's outcomes."""
    patterns = reasons(name)
    counted = [test for test in chosen if not is_exception(test, patterns)]
    excepted = set(chosen) - set(counted)
    good = {test for test, told in found.items() if told["outcome"] == "passed"}
    ran = [test for test in counted if test in found]
    failures = {test: found[test]["message"] for test in ran if test not in good}
    return Figures(
        name,
        len(passes),
        len(excepted),
        len(ran),
        len(ran) - len(failures),
        len(counted) - len(ran),
        failures,
        sorted(excepted & good),
    )


# --- telling ------------------------------------------------------------------------------------


def cause(message: str) -> str:
    """The first line of a failure's message, without what differs from test to test."""
    return re.sub(r"0x[0-9a-f]+|\d+", "#", message.strip().split("\n")[0])[:160]


def print_causes(figures: list[Figures], most: int = 60) -> None:
    """What failed, most frequent first."""
    causes: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for row in figures:
        for test, message in row.failures.items():
            causes[cause(message)] += 1
            examples.setdefault(cause(message), f"{row.name}::{test}")
    for text, n in causes.most_common(most):
        print(f"{n:4}x {text}\n      {examples[text]}")


def share(passed: int, of: int) -> str:
    """A part in per cent."""
    return f"{100 * passed / of:.1f} %" if of else "-"


def write_page(page: Path, figures: list[Figures], version: str) -> None:
    """Write the figures below the page's rule; what is above it is written by hand."""
    head, _, told = page.read_text().partition(RULE)
    known = {line.split("|")[1].strip(): line for line in told.splitlines() if line.startswith("| test")}
    for row in figures:
        known[row.name] = (
            f"| {row.name} | {row.pytorch_passes} | {row.exceptions} | {row.of} "
            f"| {row.passed} | {share(row.passed, row.of)} |"
        )
    numbers = [[int(cell) for cell in line.split("|")[2:6]] for line in known.values()]
    total = [sum(column) for column in zip(*numbers, strict=True)]
    lines = [
        "| file | PyTorch passes | exceptions | of | Rushlight passes | |",
        "|---|---|---|---|---|---|",
        *(known[name] for name in sorted(known)),
        f"| *all* | {total[0]} | {total[1]} | {total[2]} | {total[3]} | {share(total[3], total[2])} |",
    ]
    page.write_text(f"{head}{RULE}\n\nBeside PyTorch {version}.\n\n" + "\n".join(lines) + "\n")


# --- the command --------------------------------------------------------------------------------


def arguments() -> argparse.Namespace:
    """The command line, with what the installed PyTorch says of itself."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--torch-python", required=True)
    parser.add_argument("--tests", action="append", required=True, type=Path)
    parser.add_argument("--max", type=int, default=300)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seed", default="")
    parser.add_argument("--match", default="")
    parser.add_argument("--failed", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=1800)
    scratch = Path(tempfile.gettempdir()) / f"pytorch-tests-{getpass.getuser()}"
    parser.add_argument("--work", type=Path, default=scratch)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--cuda", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.cuda and (args.page or args.check or args.failed):
        parser.error("--cuda has no page, no exceptions, and no last time")
    args.work = args.work.resolve()
    for python in (args.torch_python, sys.executable):
        for package in NEEDED:
            if subprocess.run([python, "-c", f"import {package}"], capture_output=True).returncode:
                parser.error(f"{python} has no {package}")
    told = subprocess.run(
        [args.torch_python, "-c", "import torch; print(torch.__file__, torch.__version__)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    args.helpers, args.version = str(Path(told[0]).parent / "testing"), told[1].partition("+")[0]
    return args


def files(args: argparse.Namespace) -> list[Path]:
    """The test files that were asked for, by name with or without "test_" and ".py"."""
    there = {path.stem: path.resolve() for folder in args.tests for path in sorted(folder.glob("test_*.py"))}
    names = [name.removesuffix(".py") for name in args.names] or sorted(there)
    names = [name if name in there else f"test_{name}" for name in names]
    missing = [name for name in names if name not in there]
    if missing:
        sys.exit(f"no such test files: {', '.join(missing)}")
    return [there[name] for name in names]


def main() -> int:
    """Run what was asked for; the exit status."""
    args = arguments()
    figures = []
    with ThreadPoolExecutor(args.jobs) as pool:
        for row in pool.map(lambda path: compare(path, args), files(args)):
            figures.append(row)
            print(
                f"{row.name:28} {row.passed:5}/{row.of:5} {share(row.passed, row.of):>8}   PyTorch passes "
                f"{row.pytorch_passes}, exceptions {row.exceptions}, not run {row.not_run}",
                flush=True,
            )
    print_causes(figures)
    passed, of = sum(row.passed for row in figures), sum(row.of for row in figures)
    print(f"PyTorch's own tests: {passed}/{of} {share(passed, of)}")
    for row in figures:
        for test in row.mended:
            print(f"passes, though it is listed as an exception: {row.name}::{test}")
    if args.json:
        args.json.write_text(json.dumps([asdict(row) for row in figures], indent=1) + "\n")
    if args.page:
        write_page(args.page, figures, args.version)
    return int(args.check and any(row.failures or row.mended for row in figures))


if __name__ == "__main__":
    sys.exit(main())
