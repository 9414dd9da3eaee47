"""How each row is served on a CUDA device: what docs/cuda.md's table says, row by row.

python tools/cuda_rows.py           writes the table into docs/cuda.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import rushlight as torch  # noqa: E402 - from this tree
from rushlight._engine.devices.cuda import draws  # noqa: E402
from rushlight._engine.devices.cuda.kernels import ptx, writing  # noqa: E402
from rushlight._engine.dispatch.runners.pointwise import simple  # noqa: E402
from rushlight._engine.kernels.emit.meaning import Meaning  # noqa: E402
from rushlight._engine.kernels.emit.target import Unsupported  # noqa: E402
from rushlight._engine.ops.table import ROWS, Row  # noqa: E402

PAGE = ROOT / "docs" / "cuda.md"
MARK = "<!-- the rest is written by tools/cuda_rows.py -->\n"
_DTYPES = ("float32", "int64", "bool", "complex64")
KERNEL, LIBRARY, DRAWN, VIEW, ROWS_OF = (
    "kernel",
    "library call",
    "kernel's numbers, drawn by the host",
    "view",
    "its rows",
)


def meanings(row: Row) -> Iterator[Meaning]:
    """What a pointwise row computes, in the first dtype that it takes; nothing for one without a plain
    form.
    """
    chosen = simple(row)
    if chosen is None:
        return
    formula, operands, _ = chosen
    for dtype in _DTYPES:
        values = [torch.ones(2, 3, dtype=getattr(torch, dtype)) for _ in operands]
        try:
            entry = formula.entry(values)
        except (RuntimeError, NotImplementedError, TypeError):
            continue
        yield entry.kernel.meaning
        return


def text_of(meaning: Meaning, target: str = "nvptx") -> str:
    """The LLVM IR of the flat kernel. Unsupported where there is none."""
    return writing.pointwise(meaning, 0, writing.vector_width(meaning), target=target)[0]


def served(row: Row) -> str:
    """How a row is served."""
    if row.name in draws.ROWS or row.name in draws.FACTORIES:
        return DRAWN
    if row.kind == "view" or row.options.get("is_view"):
        return VIEW
    if row.kind == "composite" and row.fused is None:
        return ROWS_OF
    if row.kind == "pointwise":
        try:
            found = [text_of(meaning) for meaning in meanings(row)]
            if found and not any("@" in line for t in found for line in foreign(t)):
                return KERNEL
        except Unsupported:
            pass
    return LIBRARY


def foreign(text: str) -> list[str]:
    """Declarations of functions of the C library, which PTX lacks."""
    return [s for s in text.splitlines() if s.startswith("declare") and "@llvm." not in s]


def table() -> str:
    """The table as text."""
    by: dict[str, list[str]] = {}
    for name in sorted(ROWS):
        by.setdefault(served(ROWS[name]), []).append(name)
    told = {
        KERNEL: "a device kernel (PTX by LLVM, assembled in the tests); simulated as blocks and threads with "
        "`,kernels`, else by a library call",
        LIBRARY: "only simulated: by the host's NumPy, BLAS and compiled loops over the device's memory",
        DRAWN: "PyTorch's CUDA numbers (Philox), drawn by the host into the device's memory",
        VIEW: "a view: no memory is touched",
        ROWS_OF: "composites: by their rows",
    }
    lines = [f"{len(ROWS)} rows.", ""]
    for way in (KERNEL, LIBRARY, DRAWN, VIEW, ROWS_OF):
        names = by.get(way, [])
        lines += [f"**{way}** ({len(names)}): {told[way]}.", "", ", ".join(f"`{n}`" for n in names), ""]
    return "\n".join(lines)


def main() -> int:
    """Write the table."""
    head = PAGE.read_text(encoding="utf-8").split(MARK)[0]
    PAGE.write_text(f"{head}{MARK}\n{table()}", encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


__all__ = ["assemblies", "main", "meanings", "served", "table", "text_of"]


def assemblies() -> Iterator[tuple[str, Any]]:
    """(row, what NVIDIA's assembler says of its kernel) for all rows with a kernel."""
    for name in sorted(ROWS):
        row = ROWS[name]
        if row.kind == "pointwise" and served(row) == KERNEL:
            for meaning in meanings(row):
                yield name, ptx.assemble(ptx.ptx(text_of(meaning)))


if __name__ == "__main__":
    sys.exit(main())
