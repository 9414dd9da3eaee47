"""`python -m rushlight.ops gelu` prints a row's card; `--list` prints all public names."""

from __future__ import annotations

import sys

from rushlight._engine.derive.card import card
from rushlight._engine.ops.table import NAMES, ROWS


def main(arguments: list[str]) -> int:
    """Print what was asked for; exit status 1 for an unknown name."""
    if arguments in ([], ["--help"], ["-h"]):
        print(__doc__)
        print(f"{len(ROWS)} rows, {len(NAMES)} public names")
        return 0
    if arguments == ["--list"]:
        print("\n".join(sorted(f"{space}.{name}" for space, name in NAMES)))
        return 0
    for name in arguments:
        row = ROWS.get(name) or next((r for (_, n), (r, _) in NAMES.items() if n == name), None)
        if row is None:
            near = [n for n in ROWS if name in n or n in name]
            print(f"no row {name!r}" + (f"; did you mean {', '.join(near[:5])}?" if near else ""))
            return 1
        print(card(row))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
