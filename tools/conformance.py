"""Hold Rushlight against PyTorch's own operator database, and the result against the record.

    python tools/conformance.py HARNESS        HARNESS is the path of conformance.py
    python tools/conformance.py HARNESS --write   record what was found (only after an improvement)

The record, tools/conformance.json, lists the operators that are there yet differ somewhere, and how
many pass. The run fails if an operator outside that list differs or fewer pass: so the list only
falls. Every operator whose row exists is judged; which these are the harness asks the package.
"""
from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("conformance.json")
CHECKS = ["--max-samples", "10", "--grad", "--errors", "--methods", "--inplace", "--jobs", "2"]


def run_harness(harness: Path, ops: str) -> list[dict[str, Any]]:
    """The harness's reports, one for each operator of the database."""
    with tempfile.TemporaryDirectory() as folder:
        reports = Path(folder) / "reports.json"
        done = subprocess.run([sys.executable, str(harness), "--package", "rushlight", "--ops", ops,
                               *CHECKS, "--json", str(reports)], stdout=subprocess.PIPE, text=True)
        print("\n".join(done.stdout.splitlines()[-6:]))
        # The harness exits with 1 where anything differs, so what counts is whether it reported.
        if not reports.exists() or not (text := reports.read_text(encoding="utf-8")):
            raise SystemExit(f"conformance: {harness} left no reports (exit {done.returncode})")
    found: list[dict[str, Any]] = json.loads(text)
    return found


def sort_out(reports: list[dict[str, Any]]) -> tuple[list[str], dict[str, str]]:
    """The operators that pass wholly, and those that differ, each with its first failure."""
    passing, differing = [], {}
    for report in reports:
        if report["status"] in ("missing", "n/a"):
            continue
        whole = all(report["passed"].get(cell, 0) == n for cell, n in report["total"].items())
        if report["status"] == "ok" and whole:
            passing.append(report["name"])
        else:
            differing[report["name"]] = str(next(iter(report["failures"]), report["status"]))[:160]
    return passing, differing


def complaints(passing: list[str], differing: dict[str, str], record: dict[str, Any],
               whole: bool) -> list[str]:
    """What is worse than the record."""
    found = [f"{name} differs: {why}" for name, why in sorted(differing.items())
             if name not in record["differing"]]
    if whole and len(passing) < record["passing"]:
        found.append(f"{len(passing)} operators pass, expected at least {record['passing']}")
    return found


def main() -> int:
    """Run, compare with the record, print what is worse; exit status 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("harness", type=Path)
    parser.add_argument("--ops", default="", help="regular expression found in the names to judge")
    parser.add_argument("--write", action="store_true", help="record what was found")
    options = parser.parse_args()
    passing, differing = sort_out(run_harness(options.harness, options.ops))
    if options.write:
        RECORD.write_text(json.dumps({"passing": len(passing),
                                      "differing": dict(sorted(differing.items()))}, indent=1) + "\n")
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    worse = complaints(passing, differing, record, whole=not options.ops)
    better = sorted(set(record["differing"]) & set(passing))
    if better:
        print(f"conformance: these pass now, strike them from {RECORD.name}: {', '.join(better)}")
    print("\n".join(worse) or f"conformance: {len(passing)} operators pass, none is worse")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
