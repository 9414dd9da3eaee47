"""tools/programs.py: the page keeps what it says of rows that were not run again."""

from __future__ import annotations

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"
# Under a name of its own: tests/goldens has a file of the same.
spec = spec_from_file_location("tool_programs", TOOLS / "programs.py")
programs = sys.modules["tool_programs"] = module_from_spec(spec)
spec.loader.exec_module(programs)
Program = programs.Program

ROWS = [
    Program("kept", "basics", "kept.py"),
    Program("missed", "basics", "-m pytest tests -k 'a|b'", checkout="owner/name"),
    Program("again", "basics", "again.py", why="sums of squares", rtol=1e-3),
    Program("never", "basics", "never.py"),
]


def test_rows_that_were_not_run_stay_as_the_page_has_them(monkeypatch, tmp_path):
    first = {
        "kept": {"same": True, "what": "3 numbers", "wrong": []},
        "missed": {"same": False, "what": "1 of 2 tests", "wrong": ["FAILED tests/test_x.py::test_a"]},
        "again": {"same": False, "what": "5 numbers", "wrong": ["PyTorch:   1\n    Rushlight: 2", "more"]},
    }
    page = tmp_path / "programs.md"
    page.write_text(programs.page([(row, first[row.name]) for row in ROWS[:3]]))
    assert "**1 of 3 are the same.**" in page.read_text()
    monkeypatch.setattr(programs, "table", lambda: ROWS)
    monkeypatch.setattr(programs, "PAGE", page)
    assert programs.written(tmp_path) == page.read_text()

    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "verdict.json").write_text(json.dumps(first["kept"]))
    text = programs.written(tmp_path)
    assert "**2 of 3 are the same.**" in text and "| again | basics | `again.py` | 3 numbers | yes |" in text
    assert "- missed: 1 differences, the first: `FAILED tests/test_x.py::test_a`" in text
    assert "- again: sums of squares (numbers within 0.001)" in text and "never" not in text


def test_the_page_is_what_the_table_makes_of_it(tmp_path):
    assert programs.written(tmp_path) == programs.PAGE.read_text()
