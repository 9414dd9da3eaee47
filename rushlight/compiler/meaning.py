"""What a kernel computes, without how: expressions and dtypes."""
from __future__ import annotations

from dataclasses import dataclass

from rushlight.derive.types import infer
from rushlight.ops.scalar import Expr, toposort


@dataclass(frozen=True)
class Meaning:
    """Expressions with the dtypes of their arrays: what a kernel computes."""

    outputs: tuple[Expr, ...]
    inputs: tuple[tuple[str, str], ...]
    out_dtypes: tuple[str, ...]
    work: str

    def types(self) -> dict[Expr, str]:
        """The dtype of every node."""
        return infer(self.outputs, dict(self.inputs), self.work)

    def text(self) -> str:
        """A canonical text: equal meanings, equal text (for the cache on disk)."""
        number: dict[Expr, int] = {}
        lines = [f"in {self.inputs} work {self.work} out {self.out_dtypes}"]
        for node in toposort(self.outputs):
            number[node] = len(number)
            operands = " ".join(f"%{number[s]}" for s in node.src)
            lines.append(f"%{number[node]} = {node.op} {operands} {node.arg!r}")
        return "\n".join([*lines, " ".join(f"%{number[o]}" for o in self.outputs)])
