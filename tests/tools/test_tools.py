"""The house's own checkers."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import attributes  # noqa: E402
import conflicts  # noqa: E402
import layers  # noqa: E402


def test_layers_finds_an_import_that_points_down(tmp_path):
    folder = tmp_path / "rushlight" / "_engine" / "core"
    folder.mkdir(parents=True)
    (folder / "wrong.py").write_text("from rushlight._engine.tensors.tensor import Tensor\n")
    (folder / "named.py").write_text("x = import_module('rushlight.sparse')\n")
    (folder / "right.py").write_text("from rushlight._engine.core import dtype\n")
    found = layers.violations(tmp_path)
    assert [line.partition(": ")[0].rpartition("/")[2] for line in found] == ["named.py:1", "wrong.py:1"]


def test_layers_of_the_package():
    assert layers.violations(ROOT) == []


def test_circles_are_found():
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert layers.circles(edges) == [["a", "b", "c"]]


def test_circles_of_the_package_are_small():
    assert all(len(circle) <= layers.LARGEST_CIRCLE for circle in layers.circles(layers.graph(ROOT)))


def test_what_is_for_annotations_alone_is_in_no_circle():
    text = "import x\nif TYPE_CHECKING:\n    import y\ntry:\n    import z\nexcept ImportError:\n    pass\n"
    assert layers.at_the_top(ast.parse(text + "def f():\n    import w\n")) == {"x", "z"}


def test_layers_finds_an_import_that_an_installation_does_not_bring(tmp_path):
    (tmp_path / "rushlight").mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["numpy>=2.1"]\n')
    (tmp_path / "rushlight" / "x.py").write_text(
        "import os\nimport numpy as np\nfrom typing_extensions import y\n"
    )
    assert layers.undeclared(tmp_path) == [
        "rushlight/x.py: imports typing_extensions, which an installation does not bring"
    ]
    assert layers.undeclared(ROOT) == []


def test_layers_finds_a_late_import_that_does_not_say_why(tmp_path):
    folder = tmp_path / "rushlight"
    folder.mkdir()
    plain = "def f():\n    from rushlight.b import c\n    return c\n"
    (folder / "plain.py").write_text(plain)
    (folder / "said.py").write_text(plain.replace("    from", "    # b.py imports this file\n    from"))
    (folder / "typed.py").write_text("if TYPE_CHECKING:\n    import rushlight.b\n")
    found = layers.unexplained(tmp_path)
    assert [line.partition(": ")[0] for line in found] == ["rushlight/plain.py:2", "rushlight/typed.py:1"]


def test_late_imports_of_the_package_say_why():
    assert layers.unexplained(ROOT) == []


def test_every_exception_of_layers_is_needed(monkeypatch):
    allowed = dict(layers.EXCEPTIONS)
    monkeypatch.setattr(layers, "EXCEPTIONS", {})
    found = "\n".join(layers.violations(ROOT))
    assert [file for file, _ in allowed if f"rushlight/_engine/{file}:" not in found] == []


def test_attributes_that_first_appear_in_a_method_are_found(tmp_path):
    (tmp_path / "a.py").write_text(
        "class Base:\n    told: int\n\n"
        "class Made(Base):\n    def __init__(self):\n        self.x = 0\n        self._more()\n"
        "    def _more(self):\n        self.y = 1\n"
        "    def later(self):\n        self.told, self.x, self.y, self.z = 1, 2, 3, 4\n\n"
        "class Other(Unknown):\n    def later(self):\n        self.z = 1\n"
    )
    assert [line.rpartition(" ")[2] for line in attributes.late(tmp_path)] == ["Made.z"]


def test_every_class_of_the_package_names_what_its_objects_have():
    assert attributes.late(ROOT / "rushlight") == []


def test_marks_of_unresolved_merges_are_found(tmp_path):
    page, code, binary = (tmp_path / name for name in ("a.md", "a.py", "a.bin"))
    page.write_text("A heading\n=======\n<<<<<< six\n" + "<" * 7 + " HEAD\r\nx\n" + ">" * 7 + "\n")
    code.write_text(f"x = 1 << 7\n{'|' * 7} base\n")
    binary.write_bytes(b"\0\n" + b"<" * 7 + b" HEAD\n")
    found = conflicts.marks([page, code, binary], tmp_path)
    assert [line.rpartition(": ")[0] for line in found] == ["a.md:4", "a.md:6", "a.py:2"]


def test_no_tracked_file_has_a_mark_of_an_unresolved_merge():
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout")
    assert conflicts.marks(conflicts.tracked(ROOT), ROOT) == []
