"""docs/performance.md: a page of sections, each written by the command that measures it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence

from benchmarks.measure import ROOT

PAGE = ROOT / "docs" / "performance.md"


def replace_section(page: str, section: str) -> str:
    """The page with a section (from its heading, `## ...` or `# ...`, to the next `## `) put in its place."""
    heading = section.split("\n", 1)[0]
    parts = page.split("\n## ")
    texts = [parts[0].rstrip("\n"), *("## " + part.rstrip("\n") for part in parts[1:])]
    for k, text in enumerate(texts):
        if text.split("\n", 1)[0] == heading:
            texts[k] = section.rstrip("\n")
            break
    else:
        texts.append(section.rstrip("\n"))
    return "\n\n".join(text for text in texts if text) + "\n"


def table_section(
    heading: str, notes: Iterable[str], columns: Sequence[str], rows: Iterable[Sequence[str]]
) -> str:
    """A section: its heading, the lines that say how it was measured, and a table."""
    lines = [heading, "", *notes, "", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def parser(description: str | None, rounds: int) -> argparse.ArgumentParser:
    """The options of a command that measures one section; `rounds` is the default of --rounds."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--torch-python", default=sys.executable)
    made.add_argument("--rounds", type=int, default=rounds)
    made.add_argument("--write", action="store_true")
    return made


def write_section(section: str) -> None:
    """Put a section into the page on disk."""
    PAGE.write_text(replace_section(PAGE.read_text(encoding="utf-8"), section), encoding="utf-8")
