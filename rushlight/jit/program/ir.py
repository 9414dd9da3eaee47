"""The program: values, nodes and blocks in single-assignment form, which script, trace and load all make.

A block's outputs are what it hands on: an If's to the node's outputs, a Loop's to its next round. A Loop's
inputs are the trip count or the condition (`attrs["while"]` says which), then what it carries; its block's
parameters are the round's number (of `for`), then what is carried; its outputs are what was carried last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rushlight.jit.program.types import Type


@dataclass(frozen=True)
class Example:
    """What is known of a tensor: what it was while it was traced, or what a pass found out; None is unknown.

    A negative size is a symbol: sizes of the same symbol are the same number.
    """

    dtype: Any = None
    sizes: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    device: Any = None
    requires_grad: bool | None = None
    parts: tuple[Example | None, ...] = ()  # of a tuple: what is known of its parts

    @property
    def complete(self) -> bool:
        """Whether all but the gradient is known."""
        known = None not in (self.dtype, self.sizes, self.strides, self.device)
        return known and min(self.sizes or (0,)) >= 0


@dataclass(eq=False)
class Value:
    """What a node gives; `hint` is the variable that it was assigned to, `example` the tensor of a trace."""

    type: Type
    node: Node | None = None
    hint: str = ""
    uses: list[tuple[Node, int]] = field(default_factory=list)
    example: Example | None = None
    inferred: bool = False  # an argument that nobody said to be a tensor
    name: str = ""  # what it is called in the graph's text, where somebody said so

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
    scope: str = ""

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
    """A sequence of nodes; `ending` is a node that reads the outputs; `scope`: which modules run now."""

    params: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    ending: Node = field(default_factory=lambda: Node("prim::Return", []))
    scope: str = ""

    def __repr__(self) -> str:
        """How many nodes, and what goes in and out."""
        return f"<Block ({', '.join(map(repr, self.params))}), {len(self.nodes)} nodes>"

    def add(self, kind: str, inputs: Sequence[Value] = (), results: Sequence[Type] = (), **more: Any) -> Node:
        """A new node at the end, with results of these types; `more` are fields of Node, others its
        attributes.
        """
        given = {name: more.pop(name) for name in ("schema", "place") if name in more}
        node = Node(kind, [], attrs=more, block=self, scope=self.scope, **given)
        node.outputs = [Value(t, node) for t in results]
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


def unread(node: Node, place: int) -> Value:
    """Take an input away from a node; the later ones move up."""
    value = node.inputs.pop(place)
    value.uses.remove((node, place))
    for i in range(place, len(node.inputs)):
        later = node.inputs[i]
        later.uses[later.uses.index((node, i + 1))] = (node, i)
    return value


def replace(old: Value, new: Value) -> None:
    """Let all who read one value read another."""
    for user, place in old.uses:
        user.inputs[place] = new
    new.uses += old.uses
    old.uses = []


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
    run: Callable[..., Any] | None = None
    graph: Any = None  # what programs are shown of it
    finished: bool = False
    # Arguments that are lists of so many numbers, for which one number may stand (BroadcastingList2[int]).
    repeated: dict[str, int] = field(default_factory=dict)
    inferred: set[str] = field(default_factory=set)  # arguments without annotation, taken for tensors
    named_only: int = 0  # how many of the last arguments are given by name only

    def __repr__(self) -> str:
        """Its name and its block's size."""
        return f"<Function {self.qualname}, {len(self.block.nodes)} nodes>"

    @property
    def name(self) -> str:
        """The last part of the name."""
        return self.qualname.rpartition(".")[2]


def inlined(function: Function, calls: bool = True) -> Function:
    """A copy of a program; with `calls`, what it calls is written in the place of the call."""
    made = Function(function.qualname, function.arguments, function.returns, owner=function.owner)
    _copy_into(made.block, function.block, {}, calls)
    return made


def written_into(block: Block, function: Function, values: Sequence[Value]) -> Value:
    """What a function does with these values, written at the end of a block; its result."""
    known = dict(zip(function.block.params, values, strict=True))
    _copy_nodes(block, function.block, known, True)
    return known[function.block.ending.inputs[0]]


def _copy_into(into: Block, block: Block, known: dict[Value, Value], calls: bool) -> None:
    """Copies of a block's parameters, nodes and results; `known` says which value stands for which."""
    for value in block.params:
        known[value] = _copy_value(value, into.param(value.type, value.hint).node)
        into.params[-1] = known[value]
    _copy_nodes(into, block, known, calls)
    into.finish([known[v] for v in block.ending.inputs])


def _copy_nodes(into: Block, block: Block, known: dict[Value, Value], calls: bool) -> None:
    for node in block.nodes:
        callee = node.attrs.get("function")
        if calls and callee is not None and _is_inlined(node, callee):
            known.update(zip(callee.block.params, (known[v] for v in node.inputs), strict=True))
            _copy_nodes(into, callee.block, known, calls)
            known[node.output] = known[callee.block.ending.inputs[0]]
            continue
        made = Node(node.kind, [], [], node.attrs, [], node.schema, node.place, into, node.scope)
        for value in node.inputs:
            read(made, known[value])
        for value in node.outputs:
            known[value] = _copy_value(value, made)
            made.outputs.append(known[value])
        for inner in node.blocks:
            made.blocks.append(Block())
            _copy_into(made.blocks[-1], inner, known, calls)
        into.nodes.append(made)


def _is_inlined(node: Node, callee: Function) -> bool:
    """Whether a call can be written out: which method an interface's is, is known when it is called."""
    known = callee.owner is None or not callee.owner.is_interface
    return known and node.kind not in ("prim::fork", "prim::awaitable")


def _copy_value(value: Value, node: Node | None) -> Value:
    return Value(value.type, node, value.hint, example=value.example, name=value.name)


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
