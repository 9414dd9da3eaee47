"""Run the array API standard's own test suite, `data-apis/array-api-tests`, on rushlight.array_api.

    python tools/array_api_suite.py PATH/TO/array-api-tests [options of pytest]

Needs pytest, hypothesis and ndindex beside the package. Fails when a test fails that
tools/array_api_exceptions.json does not list with a reason; a listed one that passes is told as such
(the suite draws its examples at random: more of them with `--max-examples 200`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

EXCEPTIONS = Path(__file__).with_name("array_api_exceptions.json")


def outcomes(checkout: str, options: list[str]) -> dict[str, bool]:
    """file.py::test -> whether it passed, of every test that was not skipped."""
    path = os.pathsep.join([str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "array_api_tests",
                "-q",
                "--disable-deadline",
                f"--junit-xml={report}",
                *options,
            ],
            check=False,
            cwd=checkout,
            env={**os.environ, "ARRAY_API_TESTS_MODULE": "rushlight.array_api", "PYTHONPATH": path},
        )
        cases = ElementTree.parse(report).iter("testcase")
        return {
            f"{c.get('classname', '').split('.')[1]}.py::{c.get('name')}": not len(c)
            for c in cases
            if c.find("skipped") is None
        }


def main(checkout: str, options: list[str]) -> int:
    """Run, compare, report; exit status 1 if a test fails that is not listed."""
    rows = json.loads(EXCEPTIONS.read_text(encoding="utf-8"))
    listed = {test for row in rows for test in row["tests"]}
    passed = outcomes(checkout, options)
    failed = {test for test, fine in passed.items() if not fine}
    for test in sorted(failed - listed):
        print(f"fails: {test}")
    for test in sorted(test for test in listed if passed.get(test)):
        print(f"passes, though it is listed as an exception: {test}")
    print(f"{len(passed) - len(failed)} tests pass, {len(failed)} fail; {len(listed)} listed as exceptions")
    return 1 if failed - listed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
