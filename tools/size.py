"""The size report: files and functions that are longer than one idea usually is.

There is no limit on the package's total. Totals are printed, as lines of code (neither blank lines nor
comments nor docstrings are counted).

    python tools/size.py          fails when a file or a function is beyond the measure
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

FILE_LINES, FUNCTION_LINES = 700, 60
PACKAGES = ("rushlight", "rushlight_audio", "rushlight_vision")


def functions(path: Path) -> list[tuple[str, int]]:
    """(name, lines) of every function of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        (node.name, (node.end_lineno or node.lineno) - node.lineno + 1)
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]


def code(path: Path) -> int:
    """Lines of code of a file."""
    text = path.read_text(encoding="utf-8")
    count = sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in text.splitlines())
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            and ast.get_docstring(node, clean=False) is not None
        ):
            first = node.body[0]
            lines = text.splitlines()[first.lineno - 1 : first.end_lineno]
            count -= sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in lines)
    return count


def main() -> int:
    """Print the report; exit status 1 where something is beyond the measure."""
    root = Path(__file__).resolve().parent.parent
    files = {
        path: len(path.read_text(encoding="utf-8").splitlines())
        for name in PACKAGES
        for path in sorted((root / name).rglob("*.py"))
    }
    long_files = [(n, str(path.relative_to(root))) for path, n in files.items() if n > FILE_LINES]
    long_functions = [
        (n, f"{path.relative_to(root)}:{name}()")
        for path in files
        for name, n in functions(path)
        if n > FUNCTION_LINES
    ]
    for n, what in sorted(long_files, reverse=True) + sorted(long_functions, reverse=True):
        print(f"{n:6} lines  {what}")
    totals = {name: sum(map(code, (root / name).rglob("*.py"))) for name in PACKAGES}
    print(
        f"{len(files)} files, {sum(files.values())} lines, of them code: {totals}; "
        f"{len(long_files)} files over {FILE_LINES}, {len(long_functions)} functions over {FUNCTION_LINES}"
    )
    return 1 if long_files or long_functions else 0


if __name__ == "__main__":
    sys.exit(main())
