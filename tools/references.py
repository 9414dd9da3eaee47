"""References of the documentation into the code: `path.py:LINE NAME`, in backquotes.

    python tools/references.py           brings the lines up to date
    python tools/references.py --check   fails where one is not

A path is a file of rushlight/_engine/, or of the repository. NAME is defined in the file, at its top or as a
method `Class.method`.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("docs/design.md", "docs/walks.md", "CONTRIBUTING.md")
REFERENCE = re.compile(r"`((?:\w+/)*\w+\.py):(\d+) ([\w.]+)`")


def definitions(path: Path) -> dict[str, int]:
    """The line of each name that a file defines."""
    found: dict[str, int] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        found.update(_names(node))
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                found.update({f"{node.name}.{name}": line for name, line in _names(part).items()})
    return found


def _names(node: ast.stmt) -> dict[str, int]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name: node.lineno}
    if isinstance(node, ast.Assign):
        targets = [name for target in node.targets for name in ast.walk(target)]
    elif isinstance(node, ast.AnnAssign):
        targets = list(ast.walk(node.target))
    else:
        return {}
    return {name.id: node.lineno for name in targets if isinstance(name, ast.Name)}


def current(text: str) -> str:
    """The text of a page with the lines that the code has now; LookupError for what is not there."""

    def line(found: re.Match[str]) -> str:
        path, _, name = found.groups()
        file = next((f for f in (ROOT / "rushlight" / "_engine" / path, ROOT / path) if f.exists()), None)
        if file is None:
            raise LookupError(f"{path}: there is no such file")
        known = definitions(file)
        if name not in known:
            raise LookupError(f"{path} defines no {name}")
        return f"`{path}:{known[name]} {name}`"

    return REFERENCE.sub(line, text)


def main() -> int:
    """Write the pages anew, or check them."""
    checks, stale = "--check" in sys.argv, []
    for page in PAGES:
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        new = current(text)
        if new != text:
            what = "lines have moved: run python tools/references.py" if checks else "brought up to date"
            stale.append(f"{page}: {what}")
            if not checks:
                path.write_text(new, encoding="utf-8")
    print("\n".join(stale) or "references: all lines are current")
    return 1 if stale and checks else 0


if __name__ == "__main__":
    sys.exit(main())
