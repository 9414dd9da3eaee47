"""The house's own checkers."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import layers  # noqa: E402


def test_layers_finds_an_import_that_points_down(tmp_path):
    folder = tmp_path / "rushlight" / "_engine" / "core"
    folder.mkdir(parents=True)
    (folder / "wrong.py").write_text("from rushlight._engine.tensors.tensor import Tensor\n")
    (folder / "right.py").write_text("from rushlight._engine.core import dtype\n")
    found = layers.violations(tmp_path)
    assert len(found) == 1 and "wrong.py:1" in found[0]


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
