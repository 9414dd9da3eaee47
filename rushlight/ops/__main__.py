"""`python -m rushlight.ops gelu` prints a row's card; `--list` prints all public names;
`--contents` writes contents.tsv anew, which a row that is added or renamed needs; `--docs` the page
docs/operators.md."""
from __future__ import annotations

import sys
from importlib import import_module

from rushlight.derive import manual
from rushlight.derive.card import card
from rushlight.ops import FAMILIES
from rushlight.ops.table import CONTENTS, NAMES, ROWS, Row, public


def main(arguments: list[str]) -> int:
    """Print what was asked for; exit status 1 for an unknown name."""
    if arguments in ([], ["--help"], ["-h"]):
        print(__doc__)
        print(f"{len(ROWS)} rows, {len(NAMES)} public names")
        return 0
    if arguments == ["--list"]:
        print("\n".join(sorted(f"{space}.{name}" for space, name in NAMES)))
        return 0
    if arguments == ["--contents"]:
        with open(CONTENTS, "w", encoding="utf-8") as file:
            file.write(written())
        return 0
    if arguments == ["--docs"]:
        manual.PAGE.write_text(manual.page(), encoding="utf-8")
        return 0
    for name in arguments:
        row = ROWS.get(name) or next((r for (_, n), (r, _) in NAMES.items() if n == name), None)
        if row is None:
            near = [n for n in ROWS if name in n or n in name]
            print(f"no row {name!r}" + (f"; did you mean {', '.join(near[:5])}?" if near else ""))
            return 1
        print(card(row))
    return 0


def written() -> str:
    """The text of contents.tsv: family, namespace ("" for the rows themselves), names."""
    lines = []
    for family in FAMILIES:
        spaces: dict[str, list[str]] = {"": []}
        for row in ROWS.values():
            if _family(row) == family:
                spaces[""].append(row.name)
                for space, name, _ in public(row):
                    spaces.setdefault(space, []).append(name)
        lines += [f"{family}\t{space}\t{' '.join(names)}\n" for space, names in spaces.items()]
    return "".join(lines)


def _family(row: Row) -> str:
    made = row.body.__module__.rpartition(".")[2]
    return made if made in FAMILIES else next(
        f for f in FAMILIES if row in vars(import_module(f"rushlight.ops.{f}")).values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
