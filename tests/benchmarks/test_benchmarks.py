"""Every workload runs on Rushlight; the arithmetic of the table."""
from __future__ import annotations

import sys

import pytest

from benchmarks.__main__ import amount, cells
from benchmarks.measure import Result, Worker
from benchmarks.workloads import WORKLOADS


def test_every_workload_runs():
    with Worker(sys.executable, "rushlight", 2) as worker:
        for name in WORKLOADS:
            assert worker.seconds(name, 1) > 0, name
        with pytest.raises(RuntimeError, match="KeyError"):
            worker.seconds("no such workload", 1)
        assert worker.seconds("small_add", 3) > 0  # an error does not end the worker


def test_a_dead_worker_is_an_error():
    with Worker(sys.executable, "rushlight", 1) as worker:
        worker.process.kill()
        worker.process.wait()
        with pytest.raises(RuntimeError, match="the worker ended"):
            worker.seconds("small_add", 1)


@pytest.mark.parametrize("value, unit, text", [
    (2.5, "s", "2.5 s"), (0.0123, "s", "12.3 ms"), (4.56e-6, "s", "4.56 us"), (240.4, "MB", "240 MB")])
def test_amounts(value, unit, text):
    assert amount(value, unit) == text


def test_a_row_says_whether_the_bar_is_met():
    assert cells(Result("w", 1.0, 2.0, 0.5, 1.0))[3:] == ["0.50", "1", "yes"]
    assert cells(Result("w", 2.0, 1.0, 2.0, 1.0))[-1] == "no"
    assert cells(Result("w", 0.0, 0.0, 0.0, 1.0, error="RuntimeError: x"))[-1] == "RuntimeError: x"
