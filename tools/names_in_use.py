"""Which names of torch and torchvision programs mention, and which of them Rushlight has.

    python tools/names_in_use.py collect FOLDER USES.json [--projects LIST]
    python tools/names_in_use.py ask USES.json --pytorch PYTHON [--answers FOLDER]
    python tools/names_in_use.py page USES.json --answers FOLDER [--missing N]

FOLDER holds a folder for each project, with its Python files. `collect` reads their syntax trees; `ask`
resolves what PyTorch and Rushlight have of it (tools/ask_names.py, under either); `page` writes
docs/names-in-use.md, prints what is missing by weight (how many projects use it), and prints shares. The
projects are in tools/projects.tsv, or another LIST.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from multiprocessing import Pool
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "names-in-use.md"
PROJECTS = ROOT / "tools" / "projects.tsv"
PACKAGES = ("torch", "torchvision")
MARK = "<!-- From here on: `python tools/names_in_use.py page` -->\n"


# --- collecting ---------------------------------------------------------------------------------


class Names(ast.NodeVisitor):
    """Every dotted name of the packages in a file, and the keywords of calls to it."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}
        self.uses: Counter[str] = Counter()
        self.keywords: Counter[str] = Counter()

    def read(self, tree: ast.AST) -> None:
        """Imports first: a name in a function may come from an import further down."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom) and not node.level and _ours(node.module):
                self.uses[str(node.module)] += 1
                for alias in node.names:
                    if alias.name != "*":
                        self.aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                        self.uses[f"{node.module}.{alias.name}"] += 1
        self.visit(tree)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            if _ours(alias.name):
                self.uses[alias.name] += 1
                root = alias.name.partition(".")[0]
                self.aliases[alias.asname or root] = alias.name if alias.asname else root

    def dotted(self, node: ast.expr) -> str | None:
        """The full name that a chain of attributes spells, or None."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.aliases:
            return None
        return ".".join([self.aliases[node.id], *reversed(parts)])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self.dotted(node)
        if name is None:
            self.generic_visit(node)
        else:
            self.uses[name] += 1

    def visit_Name(self, node: ast.Name) -> None:
        name = self.aliases.get(node.id)
        if name is not None and isinstance(node.ctx, ast.Load):
            self.uses[name] += 1

    def visit_Call(self, node: ast.Call) -> None:
        name = self.dotted(node.func)
        if name is not None:
            for keyword in node.keywords:
                if keyword.arg:
                    self.keywords[f"{name}({keyword.arg})"] += 1
        self.generic_visit(node)


def _ours(module: str | None) -> bool:
    return module is not None and module.partition(".")[0] in PACKAGES


_IMPORTS = re.compile(rb"(?m)^\s*(import|from)\s+torch")


def collect_project(folder: Path) -> dict[str, dict[str, int]]:
    """The names and keywords of one project: how often each is written."""
    uses: Counter[str] = Counter()
    keywords: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.py")):
        try:
            text = path.read_bytes()
            if not _IMPORTS.search(text):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except (SyntaxError, ValueError, OSError, RecursionError):
            continue
        names = Names()
        names.read(tree)
        uses.update(names.uses)
        keywords.update(names.keywords)
    return {"names": dict(uses), "keywords": dict(keywords)}


def listed(projects: Path) -> list[str]:
    """The projects of the list, one a line: packages by name, repositories as owner/name."""
    lines = projects.read_text(encoding="utf-8").splitlines()
    return [line.split("\t")[0] for line in lines if line and not line.startswith("#")]


def collect(folder: Path, uses: Path, projects: Path) -> None:
    """Read every listed project that lies in the folder (a repository's slash may be a plus)."""
    there = {}
    for project in listed(projects):
        places = [folder / project, folder / project.replace("/", "+")]
        place = next((p for p in places if p.is_dir()), None)
        if place is None:
            print(f"not there: {project}")
        else:
            there[project] = place
    # Trees are many small objects without cycles: the collector only costs.
    with Pool(2, gc.disable) as pool:
        found = dict(zip(there, pool.map(collect_project, there.values(), chunksize=1), strict=True))
    uses.write_text(json.dumps(found, indent=0, sort_keys=True), encoding="utf-8")
    print(f"{len(found)} projects")


# --- asking -------------------------------------------------------------------------------------


def ask(uses: Path, pytorch: str, answers: Path) -> None:
    """Let both implementations say what they have: answers/pytorch.json, answers/rushlight.json."""
    answers.mkdir(parents=True, exist_ok=True)
    script = str(ROOT / "tools" / "ask_names.py")
    theirs, ours = answers / "pytorch.json", answers / "rushlight.json"
    if not theirs.exists() or theirs.stat().st_mtime < uses.stat().st_mtime:
        subprocess.run([pytorch, script, str(uses), str(theirs)], check=True)
    subprocess.run([sys.executable, "-m", "rushlight", script, str(uses), str(ours), str(theirs)], check=True)


# --- figures ------------------------------------------------------------------------------------


class Tally:
    """Names or keywords that PyTorch has, weighed; and those of them that Rushlight has."""

    def __init__(self, kind: str, uses: dict[str, Any], theirs: dict[str, Any], ours: dict[str, Any]) -> None:
        self.kind = kind
        self.there = {name for name, how in theirs[kind].items() if how}
        self.missing = {name for name in self.there if not ours[kind].get(name)}
        self.projects: Counter[str] = Counter()
        self.uses: Counter[str] = Counter()
        self.complete = 0
        for found in uses.values():
            mentioned = {name: n for name, n in found[kind].items() if name in self.there}
            self.projects.update(mentioned.keys())
            self.uses.update(mentioned)
            self.complete += not self.missing & mentioned.keys()

    def figures(self, total: int) -> str:
        """One row of the page's table."""
        names, uses = len(self.there), sum(self.uses.values())
        lost = sum(self.uses[name] for name in self.missing)
        here = names - len(self.missing)
        return (
            f"| {self.kind} | {names} | {here} ({_percent(here, names)}) "
            f"| {uses} | {_percent(uses - lost, uses)} | {self.complete} of {total} |\n"
        )

    def by_weight(self) -> Iterator[tuple[str, int, int]]:
        """The missing ones: name, projects, uses; most projects first."""
        for name in sorted(self.missing, key=lambda n: (-self.projects[n], -self.uses[n], n)):
            yield name, self.projects[name], self.uses[name]


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.2f} %"


def page(uses_path: Path, answers: Path, show: int) -> None:
    """Print the missing ones and write the page's table."""
    uses = json.loads(uses_path.read_text(encoding="utf-8"))
    theirs, ours = (
        json.loads((answers / f"{who}.json").read_text(encoding="utf-8")) for who in ("pytorch", "rushlight")
    )
    tallies = [Tally(kind, uses, theirs, ours) for kind in ("names", "keywords")]
    lines = [
        "| what | that PyTorch has | of these here | uses | of these found | projects that find all |\n",
        "|---|---|---|---|---|---|\n",
        *(tally.figures(len(uses)) for tally in tallies),
        "\n",
        "Missing, by the number of projects that use them:\n\n",
    ]
    for tally in tallies:
        rows = list(tally.by_weight())
        lines.append(
            f"- {tally.kind}: "
            + (", ".join(f"`{name}` ({projects})" for name, projects, _ in rows[:60]) or "none")
            + "\n"
        )
        for name, projects, count in rows[:show]:
            print(f"{projects:4} {count:5} {name}")
    print("".join(lines[:4]))
    empty = ours["by name only"]
    count = sum(tallies[0].uses[name] for name in empty)
    share = _percent(count, sum(tallies[0].uses.values()))
    lines.append(
        f"\nThere by name only, and refusing when called: {len(empty)} names, {count} uses ({share}).\n"
    )
    head = PAGE.read_text(encoding="utf-8").partition(MARK)[0] if PAGE.exists() else ""
    PAGE.write_text(head + MARK + "\n" + "".join(lines), encoding="utf-8")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("collect", "ask", "page"):
        command = commands.add_parser(name)
        if name == "collect":
            command.add_argument("folder", type=Path)
            command.add_argument("--projects", type=Path, default=PROJECTS)
        command.add_argument("uses", type=Path)
        if name == "ask":
            command.add_argument("--pytorch", required=True, help="a Python that has PyTorch and torchvision")
        if name != "collect":
            command.add_argument("--answers", type=Path, default=Path("answers"))
        if name == "page":
            command.add_argument("--missing", type=int, default=100)
    given = parser.parse_args()
    if given.command == "collect":
        collect(given.folder, given.uses, given.projects)
    elif given.command == "ask":
        ask(given.uses, given.pytorch, given.answers)
    else:
        page(given.uses, given.answers, given.missing)


if __name__ == "__main__":
    main()
