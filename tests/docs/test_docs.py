"""What the documentation shows is run: Python blocks of the pages, and doctests of the package."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import rushlight

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
SHOWN = re.compile(r"^print\(.*\)\s+# (.*)$", re.MULTILINE)


def blocks() -> list[tuple[str, str]]:
    """(page and number, source) of every block of Python."""
    return [
        (f"{page.name}:{number}", found.group(1))
        for page in PAGES
        for number, found in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8")))
    ]


@pytest.mark.parametrize("source", [pytest.param(s, id=name) for name, s in blocks()])
def test_block_runs_and_prints_what_it_says(source, capsys):
    exec(compile(source, "<documentation>", "exec"), {"__name__": "documentation"})
    assert capsys.readouterr().out.splitlines() == SHOWN.findall(source)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_paths_exist(page):
    text = page.read_text(encoding="utf-8")
    linked = [page.parent / link for link in re.findall(r"\]\(([^)#:]+)\)", text)]
    named = [ROOT / path for path in re.findall(r"`((?:rushlight|examples|tools|tests)/[\w./]+)`", text)]
    assert [str(path) for path in (*linked, *named) if not path.exists()] == []


def test_docstring_examples():
    failed, found = [], doctest.DocTestFinder()
    run = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for module in pkgutil.walk_packages(rushlight.__path__, "rushlight."):
        if "__main__" not in module.name and "as_torch" not in module.name:
            for test in found.find(importlib.import_module(module.name), module.name):
                # Only those that have examples: what surrounds a run takes longer than most do.
                failed += [test.name] * bool(test.examples and run.run(test).failed)
    assert failed == [] and run.tries


def test_readme_names_the_commands_that_ci_runs():
    readme, script = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", ".ci/run"))
    for command in (
        "pip install -e '.[examples]' && python -m rushlight examples/char_gpt.py",
        "pip install -e '.[test]' && python -m pytest -n logical --dist loadfile",
    ):
        assert command in readme
        install, run = command.split(" && ")
        assert install.removeprefix("pip install ") in script
        assert run.split(" examples/")[0] in script
