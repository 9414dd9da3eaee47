"""The program: values, nodes and blocks in single-assignment form, which script, trace and load all make.

A block's outputs are what it hands on: an If's to the node's outputs, a Loop's to its next round. A Loop's
inputs
are the trip count or the condition (`attrs["while"]` says which), then what it carries; its block's
parameters are
the round's number (of `for`), then what is carried; its outputs are what was carried last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rushlight.jit.types import Type


@dataclass(eq=False)
class Value:
    """What a node gives; `hint` is the variable that it was assigned to."""

    type: Type
    node: Node | None = None
    hint: str = ""
    uses: list[tuple[Node, int]] = field(default_factory=list)

    def __repr__(self) -> str:
        """One line: what it is made from, and all that is made from it, is not told again."""
        return f"%{self.hint or '_'} : {self.type}"


@dataclass(eq=False)
class Node:
    """One operation. kind: "aten::add", "prim::If", ...; schema: of what is in the table of schemas."""

    kind: str
    inputs: list[Value]
    outputs: list[Value] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)
    schema: Any = None
    place: str = ""
    block: Block | None = None

    @property
    def output(self) -> Value:
        """The only result."""
        return self.outputs[0]

    def __repr__(self) -> str:
        """One line, as a graph's text has it."""
        outputs = ", ".join(map(repr, self.outputs))
        inputs = ", ".join(f"%{v.hint or '_'}" for v in self.inputs)
        return f"{outputs}{' = ' if outputs else ''}{self.kind}({inputs})"


@dataclass(eq=False)
class Block:
    """A sequence of nodes; `ending` is a node that reads the outputs."""

    params: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    ending: Node = field(default_factory=lambda: Node("prim::Return", []))

    def __repr__(self) -> str:
        """How many nodes, and what goes in and out."""
        return f"<Block ({', '.join(map(repr, self.params))}), {len(self.nodes)} nodes>"

    def add(self, kind: str, inputs: Sequence[Value] = (), types: Sequence[Type] = (), **more: Any) -> Node:
        """A new node at the end; `more` are fields of Node, others its attributes."""
        given = {name: more.pop(name) for name in ("schema", "place") if name in more}
        node = Node(kind, [], attrs=more, block=self, **given)
        node.outputs = [Value(t, node) for t in types]
        for value in inputs:
            read(node, value)
        self.nodes.append(node)
        return node

    def finish(self, outputs: Sequence[Value]) -> None:
        """Say what the block gives."""
        self.ending.block = self
        for value in outputs:
            read(self.ending, value)

    def param(self, t: Type, hint: str = "") -> Value:
        """A new parameter."""
        found = Value(t, Node("prim::Param", [], block=self), hint)
        self.params.append(found)
        return found


def read(node: Node, value: Value) -> None:
    """Give a node one more input."""
    value.uses.append((node, len(node.inputs)))
    node.inputs.append(value)


def walk(block: Block) -> Iterator[Node]:
    """All nodes of a block and of the blocks in it."""
    for node in block.nodes:
        yield node
        for inner in node.blocks:
            yield from walk(inner)


@dataclass(eq=False)
class Function:
    """A compiled function or method: its arguments (name, type, default), results and block."""

    qualname: str
    arguments: list[tuple[str, Type, Any]]
    returns: Type | None
    block: Block = field(default_factory=Block)
    owner: Any = None
    run: Any = None
    finished: bool = False

    def __repr__(self) -> str:
        """Its name and its block's size."""
        return f"<Function {self.qualname}, {len(self.block.nodes)} nodes>"

    @property
    def name(self) -> str:
        """The last part of the name."""
        return self.qualname.rpartition(".")[2]


class Names:
    """Names of variables in a text: a hint, with a number behind it from the second time on."""

    def __init__(self, taken: Sequence[str] = ()) -> None:
        self._taken, self._next = set(taken), dict[str, int]()

    def new(self, hint: str) -> str:
        """An unused name, which is used from now on."""
        plain = re.sub(r"\W|^(?=\d)", "_", hint) or "_"
        name = plain
        while name == "_" or name in self._taken:
            name = f"{plain}{self._next.setdefault(plain, 0)}"
            self._next[plain] += 1
        self._taken.add(name)
        return name
