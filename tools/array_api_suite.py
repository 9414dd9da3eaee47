"""Run the array API standard's own test suite, `data-apis/array-api-tests`, on rushlight.array_api.

    python tools/array_api_suite.py PATH/TO/array-api-tests [options of pytest]

Needs pytest, hypothesis and ndindex beside the package. Fails when a test fails that
tools/array_api_exceptions.json does not list with a reason; a listed one that passes is told as such.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

EXCEPTIONS = Path(__file__).with_name("array_api_exceptions.json")


def main(checkout: str, options: list[str]) -> int:
    """Run with what is listed expected to fail; pytest's exit status."""
    listed = [test for row in json.loads(EXCEPTIONS.read_text(encoding="utf-8")) for test in row["tests"]]
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as xfails:
        xfails.write("".join(f"array_api_tests/{test}\n" for test in listed))
        xfails.flush()
        command = [sys.executable, "-m", "pytest", "array_api_tests", "-q", "--disable-deadline",
                   "--xfails-file", xfails.name, *options]
        return subprocess.run(command, check=False, cwd=checkout, env={
            **os.environ, "ARRAY_API_TESTS_MODULE": "rushlight.array_api", "PYTHONPATH": path}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
