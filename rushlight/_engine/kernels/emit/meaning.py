"""What a kernel computes, without how: expressions and dtypes; as text, read back, and verified.

The text of exp(x) + 1, which is also what the cache on disk is keyed by:
    (x: float32) work float32
    %0: float32 = in['x']
    %1: float32 = exp %0
    %2: float32 = const[1.0]
    %3: float32 = add %1 %2
    store %3 as float32
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rushlight._engine.core import dtype as dt
from rushlight._engine.derive.types import infer
from rushlight._engine.ops.atoms import ATOMS
from rushlight._engine.ops.expressions import Expr, intern, toposort
from rushlight._engine.ops.row_expressions import REDUCTIONS

# Of ops that are no atoms: on how many operands they work.
_OPERANDS = {"in": 0, "const": 0, "reduce": 1, "extent": 0, "iota": 0, "at": 2, "fetch": 2}
_HEAD = re.compile(r"\((.*)\) work (\w+)")
_NODE = re.compile(r"(%\d+): (\w+) = (\w+)(?:\[(.*)\])?((?: %\d+)*)")
_STORE = re.compile(r"store (%\d+) as (\w+)")


class InvalidIR(RuntimeError):
    """A kernel or a program that means nothing, or not what it was made from: a mistake of the compiler."""


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
        """A canonical text: equal meanings, equal text."""
        types, number = self.types(), dict[Expr, str]()
        lines = [f"({', '.join(f'{name}: {d}' for name, d in self.inputs)}) work {self.work}"]
        for node in toposort(self.outputs):
            number[node] = f"%{len(number)}"
            static = "" if node.arg is None else f"[{node.arg!r}]"
            lines.append(
                " ".join(
                    [
                        f"{number[node]}: {types.get(node, self.work)} = {node.op}{static}",
                        *[number[s] for s in node.src],
                    ]
                )
            )
        lines += [f"store {number[o]} as {d}" for o, d in zip(self.outputs, self.out_dtypes, strict=True)]
        return "\n".join(lines)

    @classmethod
    def parse(cls, text: str) -> Meaning:
        """The meaning that has this text. InvalidIR for a text that no meaning has."""
        head, *lines = text.splitlines()
        inputs, work = _fields(_HEAD, head)
        nodes, stored = dict[str, Expr](), list[Sequence[Any]]()
        for line in lines:
            if line.startswith("store "):
                stored.append(_fields(_STORE, line))
                continue
            name, _, op, static, operands = _fields(_NODE, line)
            if name in nodes or not nodes.keys() >= {*operands.split()}:
                raise InvalidIR(f"{line!r}: expected a new name, and operands that are defined before")
            nodes[name] = intern(op, tuple([nodes[s] for s in operands.split()]), static and _value(static))
        if not {name for name, _ in stored} <= nodes.keys():
            raise InvalidIR(f"{stored}: expected results that are defined")
        made = cls(
            tuple([nodes[name] for name, _ in stored]),
            tuple(re.findall(r"(\w+): (\w+)", inputs)),
            tuple([d for _, d in stored]),
            work,
        )
        made.verify()
        for line, own in zip(text.splitlines(), made.text().splitlines(), strict=False):
            if line != own:
                raise InvalidIR(f"{line!r}: expected {own!r}")
        return made

    def verify(self) -> list[Expr]:
        """The nodes in order. InvalidIR unless they are well-formed and every result has one store."""
        names, dtypes = [name for name, _ in self.inputs], {*self.out_dtypes, *dict(self.inputs).values()}
        if len(self.outputs) != len(self.out_dtypes) or not dt.BY_NAME.keys() >= dtypes | {self.work}:
            raise InvalidIR(
                f"{self.inputs} -> {self.out_dtypes}: expected known dtypes, and one store for "
                f"each of the {len(self.outputs)} results"
            )
        order = toposort(self.outputs)
        for node in order:
            atom, allowed = ATOMS.get(node.op), {"in": names, "reduce": REDUCTIONS}.get(node.op, (node.arg,))
            count = getattr(atom.numpy, "nin", len(node.src)) if atom else _OPERANDS.get(node.op)
            if (
                count != len(node.src)
                or node.arg not in allowed
                or (node.op == "at" and node.src[0].op != "in")
            ):
                raise InvalidIR(
                    f"{node.op}[{node.arg!r}] of {len(node.src)} operands: expected an atom or "
                    f"a row op with its {count} operands, one of {allowed}"
                )
        return order


def _fields(pattern: re.Pattern[str], line: str) -> Sequence[Any]:
    found = pattern.fullmatch(line)
    if found is None:
        raise InvalidIR(f"{line!r}: expected {pattern.pattern}")
    return found.groups()


def _value(text: str) -> Any:
    from ast import literal_eval

    try:
        return literal_eval(text)
    except ValueError:  # nan and inf
        return complex(text) if "j" in text else float(text)
