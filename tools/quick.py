"""The tests of what a change touches, for a minute at most.

    python tools/quick.py [BASE]     what differs from BASE (HEAD: what is not committed; a branch: all of it)

Tests that were changed run first; of a family of ops, the laws of its rows; then the tests that lie where the
changed file lies. What did not get its turn in time is told, and the exit status is that of what ran.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 50.0
OPS = "rushlight/_engine/ops/"
GOOD = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.INTERRUPTED)
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
    """Stops a run of pytest when the time is over, and counts what is left."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds
        self.left = 0

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """How many tests there are."""
        self.left = len(items)

    def pytest_runtest_logfinish(self, nodeid: str, location: object) -> None:
        """One is done."""
        self.left -= 1

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Before each test: is there time for it?"""
        if time.monotonic() > self.end:
            item.session.shouldstop = f"the minute is over: {self.left} tests had no turn"


def main() -> int:
    """Run them; the exit status is pytest's."""
    files = changed(sys.argv[1] if len(sys.argv) > 1 else "HEAD")
    rows = [row for path in files if path.startswith(OPS) and path.endswith(".py") for row in rows_of(path)]
    runs = [["tests/engine/ops/test_laws.py", "-k", " or ".join(rows)]] if rows else []
    places = dict.fromkeys(filter(None, map(tests_of, files)))
    ordered = sorted(places, key=lambda place: (not place.endswith(".py"), place))
    runs += [[place] for place in ordered]
    if not runs:
        print("quick: nothing that has tests differs")
        return 0
    budget = Budget(SECONDS)
    for arguments in runs:
        status = pytest.main(["-q", "-x", *arguments], plugins=[budget])
        if status not in (
            pytest.ExitCode.OK,
            pytest.ExitCode.NO_TESTS_COLLECTED,
            pytest.ExitCode.INTERRUPTED,
        ):
            return int(status)
        if time.monotonic() > budget.end:
            print("quick: the minute is over")
            break
    return 0


if __name__ == "__main__":
    sys.exit(main())
