"""All checks that read the sources and run nothing of them, in one command.

python tools/lint.py        runs every check, also behind one that fails; exit 1 if any did
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUFF = (sys.executable, "-m", "ruff")
CHECKS: tuple[tuple[str, ...], ...] = (
    (*RUFF, "check", "."),
    (*RUFF, "format", "--check", "."),
    (sys.executable, "tools/layers.py"),
    (sys.executable, "tools/attributes.py"),
    (sys.executable, "tools/size.py"),
    (sys.executable, "tools/conflicts.py"),
    (sys.executable, "tools/references.py", "--check"),
)


def main() -> int:
    """Run them; the exit status says whether one failed."""
    failed = [check for check in CHECKS if subprocess.run(check, cwd=ROOT, check=False).returncode]
    for check in failed:
        print(f"lint: failed: {' '.join(check[1:])}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
