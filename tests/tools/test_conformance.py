"""Which reports of the harness count as failing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import conformance


def test_failing():
    report = {"status": "ok", "passed": {"grad": 2}, "total": {"grad": 2}}
    assert not conformance.failing(report)
    assert conformance.failing({**report, "passed": {}})
    assert conformance.failing({**report, "status": "crash"})
    assert not conformance.failing({**report, "status": "missing", "passed": {}})


def test_every_exception_has_a_reason():
    known = json.loads(conformance.EXCEPTIONS.read_text(encoding="utf-8"))
    assert all(isinstance(reason, str) and len(reason) > 10 for reason in known.values())
