"""Writes rushlight/_engine/names/star_names.tsv: what `from module import *` gives of PyTorch's modules.

    python tools/star_names.py write
    python tools/star_names.py check

`check` imports the star of every module in the table, and prints what differs; it needs no torch.
A line is a module that Rushlight has too and, after tabs, three lists of words: names that a star import
gives and that are torch's own; what it gives besides, since PyTorch's file imports it and has no `__all__`;
and the other public names that dir() shows. Needs torch==2.13.0, where it is imported.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "rushlight" / "_engine" / "names" / "star_names.tsv"


def modules() -> Iterator[str]:
    """PyTorch's modules, but for private ones."""
    folder = Path(import_module("torch").__file__ or "").parent
    for path in folder.rglob("*.py"):
        parts = ["torch", *path.relative_to(folder).with_suffix("").parts]
        if parts[-1] == "__init__":
            parts.pop()
        if all(part.isidentifier() and not part.startswith("_") for part in parts):
            yield ".".join(parts)


def is_ours(name: str) -> bool:
    """Whether Rushlight has a module of its own by this name, or one that stands for it."""
    try:
        found = import_module(name.replace("torch", "rushlight", 1))
    except ImportError:
        return False
    return Path(getattr(found, "__file__", None) or "/").is_relative_to(ROOT)


def is_torchs(found: Any, name: str) -> bool:
    """Whether something is PyTorch's own, and not what its file imports; a constant is."""
    if isinstance(found, ModuleType):
        return False
    home = getattr(found, "__module__", None)
    return home.partition(".")[0] == "torch" if isinstance(home, str) else name != "annotations"


def lists(module: ModuleType) -> list[list[str]]:
    """The three lists of a module's names."""
    public = {name for name in dir(module) if not name.startswith("_")}
    told = getattr(module, "__all__", None)
    given = public if told is None else {name for name in told if hasattr(module, name)}
    own = {name for name in given if told is not None or is_torchs(getattr(module, name), name)}
    return [sorted(own), sorted(given - own), sorted(public - given)]


def write() -> None:
    """Writes the table."""
    lines = []
    for name in sorted(modules()):
        if not is_ours(name):
            continue
        try:
            found = import_module(name)
        except ImportError:
            print("not to be imported:", name)
            continue
        lines.append("\t".join([name, *map(" ".join, lists(found))]) + "\n")
    TABLE.write_text("".join(lines), encoding="utf-8")
    print(f"{len(lines)} modules, {TABLE.stat().st_size} bytes")


def check() -> int:
    """Prints what differs in star imports; how many modules do."""
    from rushlight._engine.names import star_names
    from tests.launcher.test_star_names import differences

    found = {name: differences(name) for name in star_names.table()}
    wrong = {name: both for name, both in found.items() if both != ([], [])}
    for name, (beyond, lacking) in wrong.items():
        print(name, "gives", *beyond, "and lacks", *lacking)
    print(f"{len(wrong)} of {len(found)} modules differ")
    return len(wrong)


def main() -> int:
    """The command line."""
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(ROOT))
    if sys.argv[1:] == ["check"]:
        return int(check() > 0)
    write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
