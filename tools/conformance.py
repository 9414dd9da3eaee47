"""Run PyTorch's conformance harness on every row, and compare with the recorded exceptions.

    python tools/conformance.py PATH/TO/conformance.py

Needs torch==2.13.0 and expecttest beside the package. Fails when an operator of the database that the
package has does not pass, unless tools/conformance_exceptions.json lists it with a reason; and when
a listed one passes, so that the list only shrinks.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

EXCEPTIONS = Path(__file__).with_name("conformance_exceptions.json")
FLAGS = [
    "--package",
    "rushlight",
    "--max-samples",
    "10",
    "--grad",
    "--errors",
    "--methods",
    "--inplace",
    "--jobs",
    "2",
]


def failing(report: dict[str, Any]) -> bool:
    """Whether an operator that exists does not pass."""
    if report["status"] in ("missing", "n/a"):
        return False
    return report["status"] != "ok" or any(
        report["passed"].get(cell, 0) != n for cell, n in report["total"].items()
    )


def main(harness: str) -> int:
    """Run, compare, report; exit status 1 on any difference."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "reports.json"
        run = subprocess.run(
            [sys.executable, harness, *FLAGS, "--json", str(out)], check=True, capture_output=True, text=True
        )
        reports = json.loads(out.read_text())
    print("\n".join(run.stdout.splitlines()[-8:]))
    known = json.loads(EXCEPTIONS.read_text())
    found = {r["name"]: (r["failures"] or [r["status"]])[0] for r in reports if failing(r)}
    for name in sorted(set(found) - set(known)):
        print(f"fails: {name}: {found[name]}")
    for name in sorted(set(known) - set(found)):
        print(f"passes, though it is listed as an exception: {name}")
    print(f"{len(found)} operators fail, {len(known)} listed as exceptions")
    return 0 if set(found) == set(known) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
