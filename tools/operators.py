"""What is written from the table's rows: rushlight/_engine/ops/contents.tsv, and docs/operators.md's list.

python tools/operators.py     writes both anew, which a row that is added, renamed or reworded needs
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from rushlight._engine.derive.card import dtype_rule, meaning  # noqa: E402
from rushlight._engine.ops import FAMILIES, signature  # noqa: E402
from rushlight._engine.ops.table import CONTENTS, ROWS, Row, public  # noqa: E402

PAGE = ROOT / "docs" / "operators.md"
MARK = "<!-- From here on: `python tools/operators.py` -->\n"


def contents() -> str:
    """contents.tsv: a family's rows, in order, then its public names by namespace."""
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
    """Which family a row comes from; a body written elsewhere does not say."""
    made = row.body.__module__.removeprefix("rushlight._engine.ops.")
    return (
        made
        if made in FAMILIES
        else next(f for f in FAMILIES if row in vars(import_module(f"rushlight._engine.ops.{f}")).values())
    )


def page() -> str:
    """The whole text: what stands above the mark as it is, the list of ops anew."""
    return PAGE.read_text(encoding="utf-8").partition(MARK)[0] + MARK + "".join(_families())


def _families() -> Iterator[str]:
    rows: dict[str, list[Row]] = {}
    for row in ROWS.values():
        if any(space != "aten" for space, _, _ in public(row)):
            rows.setdefault(_family(row), []).append(row)
    for family in sorted(rows, key=FAMILIES.index):
        about = (import_module(f"rushlight._engine.ops.{family}").__doc__ or "").partition("\n\n")[0]
        yield f"\n### {family}\n\n{_line(about)}\n\n"
        for row in rows[family]:
            yield entry(row)


def entry(row: Row) -> str:
    """An op as an item of the list: signature, meaning, kind, spellings, dtypes, formula, gradients."""
    facts = [row.kind, *_spellings(row), f"dtypes: {dtype_rule(row)}"]
    if row.refuse:
        facts.append(f"refuses {', '.join(row.refuse)}")
    if row.autocast != "keep":
        facts.append(f"autocast: {row.autocast}")
    math = [f"{name}: {_math(name, value)}" for name, value in meaning(row)]
    return (
        f"- **`{signature.text(row.name, row.params, row.out)}`** {_line(row.doc)}\n"
        f"  {'; '.join(facts)}. {'; '.join(math)}\n"
    )


def _math(name: str, value: Any) -> str:
    worded = name == "gradient" or " over " in value or value.startswith("none")
    return str(value).partition(":")[0] if worded else f"`{value}`"


def _spellings(row: Row) -> list[str]:
    plain: list[str] = []
    written: list[str] = []
    for space, name, variant in sorted(set(public(row))):
        (written if variant == "inplace" else plain).append(f"`{space}.{name}`")
    return [", ".join(plain)] * bool(plain) + [f"in place {', '.join(written)}"] * bool(written)


def _line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    Path(CONTENTS).write_text(contents(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
