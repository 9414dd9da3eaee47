"""The tests of what a change touches, for a minute at most.

    python tools/quick.py [BASE]     what differs from BASE (HEAD: what is not committed; a branch: all of it)

Tests that were changed run first; of a family of ops, the laws of its rows; then the tests that lie where the
changed file lies; last, of generated files, what holds them to the code. Each of these is one process of
pytest, which is stopped when the minute is over, wherever it is. What did not get its turn is told. The exit
status is that of the first run that failed or was interrupted, else 0.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 55.0
OPS = "rushlight/_engine/ops/"
GOOD = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
# Seconds that a run of pytest gets after that to end by itself (a test, a summary) before it is interrupted.
GRACE = 5.0
BUDGET = "RUSHLIGHT_QUICK_END"
# Of files that tools write, what holds them to the code; that of the others is with the source they follow.
GENERATED = {
    ".pyi": "tests/typing/test_stubs.py",
    "rushlight/_engine/ops/contents.tsv": "tests/engine/ops/test_contents.py",
    "docs/operators.md": "tests/engine/ops/test_contents.py",
}
# Where a folder's tests do not lie by its own name.
ELSEWHERE = {
    "rushlight/_engine/autograd": "tests/autograd",
    "rushlight/_engine/dispatch": "tests/engine/ops",
    "rushlight/_engine/numerics": "tests/engine/core",
    "rushlight/_engine/names": "tests/launcher",
    "rushlight/_engine/devices": "tests/cuda",
    "rushlight/_engine/transforms": "tests/func",
    "rushlight/_torch_dispatch": "tests/torch_dispatch",
    "rushlight/utils/data": "tests/data",
    "rushlight_audio": "tests/audio",
    "rushlight_vision": "tests/vision",
    "rushlight/_engine": "tests/engine",
    "rushlight": "tests",
    "docs": "tests/docs",
    "tools": "tests/tools",
}


def changed(base: str) -> list[str]:
    """Files that differ from `base`, and those that git does not know yet."""

    def listed(*command: str) -> list[str]:
        done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.split()

    return sorted({*listed("diff", "--name-only", base), *listed("ls-files", "-o", "--exclude-standard")})


def rows_of(path: str) -> list[str]:
    """The rows that a family of ops declares, by the table's index."""
    family = path.removeprefix(OPS).removesuffix(".py").replace("/", ".")
    lines = (ROOT / OPS / "contents.tsv").read_text(encoding="utf-8").splitlines()
    cells = [line.split("\t") for line in lines]
    return [name for of, space, names in cells if of == family and not space for name in names.split()]


def tests_of(path: str) -> str | None:
    """The folder of the tests of a file, or the file itself if it is one of tests."""
    if path.startswith("tests/"):
        return path if Path(path).name.startswith("test_") and (ROOT / path).exists() else None
    for part in Path(path).parents:
        folder = part.as_posix()
        near = ROOT / folder.replace("rushlight/_engine", "tests/engine").replace("rushlight/", "tests/", 1)
        if folder in ELSEWHERE:
            return ELSEWHERE[folder]
        if near != ROOT / folder and near.is_dir():
            return near.relative_to(ROOT).as_posix()
    return None


class Budget:
    """A plugin of pytest: after the test in which the time is over, a run ends, as if there were no more."""

    def __init__(self, end: float) -> None:
        self.end = end  # of time.time()
        self.left = 0
        self.session: pytest.Session | None = None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """How many tests there are."""
        self.session, self.left = session, len(session.items)

    def pytest_runtest_logfinish(self, nodeid: str, location: object) -> None:
        """One is done: is there time for another?"""
        self.left -= 1
        if self.left and self.session is not None and time.time() > self.end:
            self.session.shouldstop = f"the minute is over: {self.left} tests had no turn"

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """That the time is over is no failure; Ctrl-C, which sets no `shouldstop`, stays one."""
        if session.shouldstop and not session.testsfailed:
            session.exitstatus = pytest.ExitCode.OK


def pytest_configure(config: pytest.Config) -> None:
    """This file is also the plugin of the processes that it starts."""
    if BUDGET in os.environ:
        config.pluginmanager.register(Budget(float(os.environ[BUDGET])))


def runs_for(files: list[str]) -> list[list[str]]:
    """pytest's arguments for changed files, a list for each run."""
    generated = {path: of for path in files for end, of in GENERATED.items() if path.endswith(end)}
    rows = [row for path in files if path.startswith(OPS) and path.endswith(".py") for row in rows_of(path)]
    places = dict.fromkeys(filter(None, [tests_of(path) for path in files if path not in generated]))
    ordered = sorted(places, key=lambda place: (not place.endswith(".py"), -place.count("/"), place))
    changed_tests = [place for place in ordered if place.endswith(".py")]
    folders = [place for place in ordered if not place.endswith(".py")]
    runs = [[place] for place in changed_tests]
    if rows:
        runs.append(["tests/engine/ops/test_laws.py", "-k", " or ".join(rows)])
    return [*runs, *[[place] for place in folders], *[[place] for place in sorted({*generated.values()})]]


def run(arguments: list[str], end: float) -> int | None:
    """The exit status of pytest on these; None if it had to be killed because the time is over."""
    plugin = ["-p", "tools.quick"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-x", *plugin, *arguments],
        cwd=ROOT,
        env={**os.environ, BUDGET: str(end)},
    )
    try:
        return process.wait(max(end + GRACE - time.time(), GRACE))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # it tells what ran
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return None


def main() -> int:
    """Run them; the exit status is that of the first run which failed."""
    runs = runs_for(changed(sys.argv[1] if len(sys.argv) > 1 else "HEAD"))
    if not runs:
        print("quick: nothing that has tests differs")
    end = time.time() + SECONDS
    for done, arguments in enumerate(runs):
        if time.time() > end:
            print("quick: the minute is over before", *[place for place, *_ in runs[done:]])
            break
        status = run(arguments, end)
        if status is None:
            print(f"quick: the minute was over in {arguments[0]}, which has been ended")
        elif status not in GOOD:
            return status
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(int(pytest.ExitCode.INTERRUPTED))
