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

from rushlight.base import dtype as dt
from rushlight.derive.types import infer
from rushlight.ops.atoms import ATOMS
from rushlight.ops.rowexpr import REDUCTIONS
from rushlight.ops.scalar import Expr, intern, toposort

# Of ops that are no atoms: on how many operands they work.
_OPERANDS = {"in": 0, "const": 0, "reduce": 1, "extent": 0, "iota": 0, "at": 2}
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
            lines.append(" ".join([f"{number[node]}: {types.get(node, self.work)} = {node.op}{static}",
                                   *[number[s] for s in node.src]]))
        lines += [f"store {number[o]} as {d}" for o, d in zip(self.outputs, self.out_dtypes, strict=True)]
        return "\n".join(lines)

    @classmethod
    def parse(cls, text: str) -> Meaning:
        """The meaning that has this text. InvalidIR for a text that no meaning has."""
        head, *lines = text.splitlines()
        inputs, work = _fields(_HEAD, head)
        named = tuple([tuple(pair.split(": ")) for pair in inputs.split(", ") if pair])
        nodes, said, stored = dict[str, Expr](), dict[Expr, str](), list[Sequence[Any]]()
        for line in lines:
            if line.startswith("store "):
                stored.append(_fields(_STORE, line))
                continue
            name, kind, op, static, operands = _fields(_NODE, line)
            src = operands.split()
            if name in nodes or not nodes.keys() >= {*src}:
                raise InvalidIR(f"{line!r}: expected a new name, and operands that are defined before")
            nodes[name] = intern(op, tuple([nodes[s] for s in src]), None if static is None else _value(static))
            said[nodes[name]] = kind
        if not {name for name, _ in stored} <= nodes.keys():
            raise InvalidIR(f"{stored}: expected results that are defined")
        made = cls(tuple([nodes[name] for name, _ in stored]), named,  # type: ignore[arg-type]
                   tuple([d for _, d in stored]), work)
        made.verify(said)
        return made

    def verify(self, said: dict[Expr, str] | None = None) -> list[Expr]:
        """The nodes in order. InvalidIR unless they are well-formed, have the dtypes that are `said`, and
        every result has one store."""
        names, order = [name for name, _ in self.inputs], toposort(self.outputs)
        if len(self.outputs) != len(self.out_dtypes) or len({*names}) < len(names) or not dt.BY_NAME.keys() >= {
                *self.out_dtypes, *[d for _, d in self.inputs], self.work}:
            raise InvalidIR(f"{self.inputs} -> {self.out_dtypes}: expected names that differ, known dtypes and "
                            f"one store for each of the {len(self.outputs)} results")
        for node in order:
            atom = ATOMS.get(node.op)
            count = getattr(atom.numpy, "nin", len(node.src)) if atom else _OPERANDS.get(node.op)
            if count != len(node.src) or node.op == "in" and node.arg not in names or (
                    node.op == "reduce" and node.arg not in REDUCTIONS) or (
                    node.op == "at" and node.src[0].op != "in"):
                raise InvalidIR(f"{node.op}[{node.arg!r}] of {len(node.src)} operands: expected an atom or row "
                                f"op with its operands, a reduction of {REDUCTIONS}, an input of {names}")
        types = self.types() if said else {}
        for node, kind in (said or {}).items():
            if types.get(node, self.work) != kind:
                raise InvalidIR(f"{node.op} is said to be {kind}; expected {types.get(node)} from its operands")
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
