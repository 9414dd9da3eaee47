"""Every workload runs on Rushlight; the arithmetic of the table."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

import rushlight
from benchmarks import widths, young
from benchmarks.__main__ import amount, cells
from benchmarks.eager import EAGER, section
from benchmarks.floor import WORK, Machine
from benchmarks.measure import Result, Worker
from benchmarks.page import replace_section
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


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(2.5, "s", "2.5 s"), (0.0123, "s", "12.3 ms"), (4.56e-6, "s", "4.56 us"), (240.4, "MB", "240 MB")],
)
def test_amounts(value, unit, text):
    assert amount(value, unit) == text


def test_a_row_says_whether_the_bar_is_met():
    machine = SimpleNamespace(floor={"add": 0.25}.get)
    assert cells(Result("w", 1.0, 2.0, 0.5, 1.0, name="add"), machine)[3:] == [
        "0.50",
        "1",
        "yes",
        "250 ms x 4.0",
    ]
    assert cells(Result("w", 2.0, 1.0, 2.0, 1.0), machine)[-2:] == ["no", ""]
    assert cells(Result("w", 0.0, 0.0, 0.0, 1.0, error="RuntimeError: x"), machine)[-2] == "RuntimeError: x"


def test_floors_are_of_workloads_that_there_are():
    assert WORK.keys() <= WORKLOADS.keys()
    machine = Machine.__new__(Machine)
    machine.bandwidth, machine.peak = 1e9, 1e9
    assert machine.floor("matmul") == 2 * 512**3 / 1e9 and machine.floor("small_add") is None


def test_every_op_of_the_eager_table_runs():
    with Worker(sys.executable, "rushlight", 2) as worker:
        for name in EAGER:
            if name.endswith(" 16"):
                assert worker.seconds(name, 1) >= 0, name


def test_a_section_is_put_in_its_place():
    page = replace_section("# A\n\nold\n\n## B\n\nb\n\n## C\n\nc\n", "## B\n\nnew\n")
    assert page == "# A\n\nold\n\n## B\n\nnew\n\n## C\n\nc\n"
    assert replace_section(page, "# A\n\nx\n") == "# A\n\nx\n\n## B\n\nnew\n\n## C\n\nc\n"
    assert replace_section("# A\n", "## D\n\nd\n") == "# A\n\n## D\n\nd\n"
    text = section(
        {"abs 16": Result("abs 16", 1.0, 2.0, 0.5, 3.0), "abs 4M": Result("abs 4M", 2.0, 1.0, 2.0, 3.0)}
    )
    assert "| abs | 0.50 | - | 2.00 |" in text and "Geometric mean 1.00" in text


@pytest.mark.parametrize("name", young.PROGRAMS)
def test_young_programs_run(name):
    young.PROGRAMS[name](rushlight)


def test_the_section_on_young_processes():
    text = young.section({"mlp": [0.5, 0.25, 1.0]}, True, 3.2)
    assert (
        text.startswith(young.HEADING)
        and "| A small MLP, 100 steps | 500 | 250 | 1000 | 0.50, 0.25 |" in text
    )


def test_widths_are_told_side_by_side() -> None:
    titles = widths.names()
    assert {"relu of 64k", "add, 4096 x 1024"} <= set(titles.values())
    text = widths.section(["a", "b"], {"AVX-512": [0.5, 2.0], "AVX2": [1.0, 1.0]})
    assert text.startswith(widths.HEADING) and "| b | 2.00 | 1.00 |" in text
    assert "Geometric mean 1.00 with AVX-512 and 1.00 with AVX2 (bar 0.6);\n1 and 0 are above 1.2." in text
