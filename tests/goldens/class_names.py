"""Records what PyTorch's classes call themselves: tests/goldens/class_names.tsv.

    python tests/goldens/class_names.py        needs PyTorch; reads the names in the file, and writes it anew

A line: the public name, then the class's module and qualified name.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

TABLE = Path(__file__).with_suffix(".tsv")


def main() -> None:
    """Ask PyTorch for each name of the table."""
    lines = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        public = line.split("\t")[0]
        module, _, name = public.rpartition(".")
        cls = getattr(import_module(module), name)
        lines.append(f"{public}\t{cls.__module__}\t{cls.__qualname__}\n")
    TABLE.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
