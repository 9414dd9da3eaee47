"""The size report: files and functions that are longer than one idea usually is.

There is no limit on the package's total. Totals are printed, as lines of code (neither blank lines nor
comments nor docstrings are counted).

    python tools/size.py          fails when a file or a function is beyond the measure
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from statements import parsed, statements

FILE_LINES, FUNCTION_LINES = 700, 60
PACKAGES = ("rushlight", "rushlight_audio", "rushlight_vision")


def functions(path: Path) -> list[tuple[str, int]]:
    """(name, lines) of every function of a file."""
    return measures(path)[1]


def measures(path: Path) -> tuple[int, list[tuple[str, int]]]:
    """Lines of code of a file, and (name, lines) of its functions."""
    text = path.read_text(encoding="utf-8")
    says = [bool(line.strip()) and not line.lstrip().startswith("#") for line in text.splitlines()]
    count, found = sum(says), []
    for node in statements(parsed(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append((node.name, (node.end_lineno or node.lineno) - node.lineno + 1))
        elif not isinstance(node, (ast.Module, ast.ClassDef)):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            count -= sum(says[node.body[0].lineno - 1 : node.body[0].end_lineno])
    return count, found


def main() -> int:
    """Print the report; exit status 1 where something is beyond the measure."""
    root = Path(__file__).resolve().parent.parent
    packages = {name: sorted((root / name).rglob("*.py")) for name in PACKAGES}
    files = {
        path: len(path.read_text(encoding="utf-8").splitlines()) for p in packages.values() for path in p
    }
    measured = {path: measures(path) for path in files}
    long_files = [(n, str(path.relative_to(root))) for path, n in files.items() if n > FILE_LINES]
    long_functions = [
        (n, f"{path.relative_to(root)}:{name}()")
        for path, (_, found) in measured.items()
        for name, n in found
        if n > FUNCTION_LINES
    ]
    for n, what in sorted(long_files, reverse=True) + sorted(long_functions, reverse=True):
        print(f"{n:6} lines  {what}")
    totals = {name: sum(measured[path][0] for path in of) for name, of in packages.items()}
    print(
        f"{len(files)} files, {sum(files.values())} lines, of them code: {totals}; "
        f"{len(long_files)} files over {FILE_LINES}, {len(long_functions)} functions over {FUNCTION_LINES}"
    )
    return 1 if long_files or long_functions else 0


if __name__ == "__main__":
    sys.exit(main())
