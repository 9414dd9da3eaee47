"""torch._dynamo.funcname_cache."""

from __future__ import annotations

from pathlib import Path

from rushlight._dynamo.funcname_cache import get_funcname

SOURCE = """import os

class A:
    @staticmethod
    def f():
        if True:
            class B:
                pass

    x = 1
def g(): pass
"""


def test_names_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(SOURCE)
    names = [get_funcname(str(path), i + 1) for i in range(12)]
    assert names == ["", "", "A", "A", "A.f", "A.f", "A.f.B", "A.f.B", "A.f.B", "A", "g", ""]
    assert get_funcname(str(tmp_path / "nowhere.py"), 1) == ""


def test_a_long_sum_and_a_file_that_is_no_python(tmp_path: Path) -> None:
    deep, wrong = tmp_path / "deep.py", tmp_path / "wrong.py"
    deep.write_text(f"def f():\n    return {'+'.join('1' * 1000)}\n")
    wrong.write_text("x = 1\0\n")
    assert get_funcname(str(deep), 2) == "f"
    assert get_funcname(str(wrong), 1) == ""
