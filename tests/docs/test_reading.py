"""The tree that the README shows is the package's."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TREE = re.search(
    r"## Reading it\n\n```text\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S
)


def shown() -> tuple[set[str], set[str]]:
    """What the README names in the package, and in its engine."""
    assert TREE is not None
    package, engine = set[str](), set[str]()
    for line in TREE[1].splitlines()[1:]:
        names = re.split(r"\s{2,}", line.strip())[0].split()
        (engine if line.startswith("    ") else package).update(name.rstrip("/") for name in names)
    return package, engine


def test_what_the_readme_names_is_there() -> None:
    package, engine = shown()
    assert [name for name in package if not (ROOT / "rushlight" / name).exists()] == []
    assert [name for name in engine if not (ROOT / "rushlight" / "_engine" / name).is_dir()] == []


def test_every_folder_of_the_engine_is_named_and_says_what_it_holds() -> None:
    folders = [path for path in (ROOT / "rushlight" / "_engine").iterdir() if (path / "__init__.py").exists()]
    assert {path.name for path in folders} == shown()[1]
    for path in folders:
        assert len((path / "__init__.py").read_text(encoding="utf-8").split()) > 8, path


def test_every_package_of_the_engine_says_where_to_begin() -> None:
    inner = [
        path
        for path in (ROOT / "rushlight" / "_engine").rglob("__init__.py")
        if path.parent.name != "_engine"
    ]
    texts = {path: ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "" for path in inner}
    assert [path for path, text in texts.items() if "Begin with " not in " ".join(text.split())] == []
    named = {(path, name) for path, text in texts.items() for name in re.findall(r"\b[a-z_]+\.py\b", text)}
    engine = ROOT / "rushlight" / "_engine"
    assert [
        (path, name) for path, name in named if not [*path.parent.rglob(name), *engine.glob(f"*/{name}")]
    ] == []


# Folders in which PyTorch has a module of its own for each file (docs/design.md).
AS_IN_PYTORCH = ("rushlight", "rushlight/nn/modules", "rushlight/optim", "rushlight/utils")


def test_no_other_folder_is_a_heap() -> None:
    for path in (ROOT / "rushlight").rglob("__init__.py"):
        if path.parent.relative_to(ROOT).as_posix() not in AS_IN_PYTORCH:
            assert len(list(path.parent.glob("*.py"))) <= 22, path.parent
