"""tools/pytorch_tests.py: what is drawn and what is counted."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import pytorch_tests  # noqa: E402
from pytorch_tests_draw import draw  # noqa: E402

TESTS = [f"TestX::test_{name}" for name in ("a", "b", "c", "d_refs_", "e")]


def test_drawing_more_adds_to_the_same_tests():
    every = draw(TESTS, 0, 99, "", ["*_refs_*"])
    assert set(every) == set(TESTS) - {"TestX::test_d_refs_"}
    assert draw(TESTS[::-1], 0, 2, "", ["*_refs_*"]) == every[:2]
    assert draw(TESTS, 2, 2, "", ["*_refs_*"]) == every[2:]
    assert draw(TESTS, 0, 9, "_c", []) == ["TestX::test_c"]
    assert sorted(draw(TESTS, 0, 99, "", ["*_refs_*"], "another")) == sorted(every)


def test_exceptions_do_not_count_and_what_did_not_run_is_told(monkeypatch):
    monkeypatch.setattr(pytorch_tests, "reasons", lambda name: {"*::test_b": "why"})
    found = {
        "TestX::test_a": {"outcome": "passed", "message": ""},
        "TestX::test_b": {"outcome": "passed", "message": ""},
        "TestX::test_c": {"outcome": "failed", "message": "TypeError: 0x3f at 17"},
    }
    chosen = [test for test in TESTS if "_d_" not in test]
    row = pytorch_tests.count("test_x", chosen, chosen, found)
    assert (row.exceptions, row.of, row.passed, row.not_run) == (1, 2, 1, 1)
    assert row.mended == ["TestX::test_b"] and list(row.failures) == ["TestX::test_c"]
    assert pytorch_tests.cause("TypeError: 0x3f at 17\nmore") == "TypeError: # at #"


def test_a_process_that_ended_is_told_by_the_test_that_ran(tmp_path):
    log = tmp_path / "x.jsonl"
    log.write_text('{"begun": "a"}\n{"test": "a", "outcome": "passed"}\n{"begun": "b"}\n')
    assert pytorch_tests.crashed_in(log) == "b"


def test_figures_are_kept_in_the_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"Text.\n\n{pytorch_tests.RULE}\n")
    for name in ("test_x", "test_y"):
        pytorch_tests.write_page(page, [pytorch_tests.Figures(name, 20, 1, 10, 9)], "2.13.0")
    told = page.read_text()
    assert told.startswith("Text.") and "| test_x | 20 | 1 | 10 | 9 | 90.0 % |" in told
    assert "| *all* | 40 | 2 | 20 | 18 | 90.0 % |" in told
