"""The size report counts as it says."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import size


def test_functions_are_measured_from_def_to_their_last_line(tmp_path):
    file = tmp_path / "a.py"
    file.write_text(
        "def f():\n    return 1\n\n\nclass C:\n    async def g(self):\n        x = 1\n        return x\n"
    )
    assert size.functions(file) == [("f", 2), ("g", 3)]


def test_the_package_keeps_its_budgets(capsys):
    assert size.main() == 0
    assert "0 files over 700, 0 functions over 60" in capsys.readouterr().out
