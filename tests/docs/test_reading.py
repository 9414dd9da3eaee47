"""The tree that the README shows is the package's."""

from __future__ import annotations

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


# Folders in which PyTorch has a module of its own for each file (docs/design.md).
AS_IN_PYTORCH = ("rushlight", "rushlight/nn/modules", "rushlight/optim", "rushlight/utils")


def test_no_other_folder_is_a_heap() -> None:
    for path in (ROOT / "rushlight").rglob("__init__.py"):
        if path.parent.relative_to(ROOT).as_posix() not in AS_IN_PYTORCH:
            assert len(list(path.parent.glob("*.py"))) <= 22, path.parent
