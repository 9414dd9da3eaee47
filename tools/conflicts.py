"""Marks of unresolved merges: no tracked text file has any.

python tools/conflicts.py        prints each line that git writes where two changes meet; exit 1 if any
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

# Seven of these characters begin a line of their own. Seven `=` alone may underline a heading.
MARK = re.compile(rb"^(?:<{7}|>{7}|\|{7})(?: .*)?$", re.MULTILINE)


def tracked(root: Path) -> list[Path]:
    """The files that git knows, as they lie in the tree."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
    found = [root / name.decode() for name in listed.split(b"\0") if name]
    return [path for path in found if path.is_file() and not path.is_symlink()]


def marks(paths: list[Path], root: Path) -> list[str]:
    """`file:line: text` of each mark; files with a NUL byte are no text."""
    found = []
    for path in paths:
        data = path.read_bytes().replace(b"\r\n", b"\n")
        if b"\0" in data:
            continue
        for mark in MARK.finditer(data):
            line = data.count(b"\n", 0, mark.start()) + 1
            found.append(f"{path.relative_to(root)}:{line}: {mark[0].decode(errors='replace')}")
    return found


def main() -> int:
    """Print the marks; the exit status says whether there are any."""
    root = Path(__file__).resolve().parent.parent
    found = marks(tracked(root), root)
    print("\n".join(found) or "conflicts: no file has a mark of an unresolved merge")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
