"""What of a program's values may be the same memory, what is written to, and so what can be left out.

A value's *roots* are the pieces of memory that it may be, or be a part of: values that ops made, and
ELSEWHERE for what comes from outside. Numbers, text and None have none. PyTorch's signatures say which
arguments an op writes to and whether its result may be an argument; containers count as one with all
that was put into them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from functools import cache
from typing import Any

from rushlight.jit.program.ir import Block, Node, Value, walk
from rushlight.jit.program.schema import Schema, lines
from rushlight.jit.program.types import Type

ELSEWHERE = "elsewhere"
Roots = frozenset[Hashable]
_IMMUTABLE = frozenset("int float bool str NoneType number complex Device Enum Function".split())
# Nodes that do something besides giving results.
_EFFECTS = frozenset(
    (
        "prim::Print",
        "prim::RaiseException",
        "prim::SetAttr",
        "prim::CallFunction",
        "prim::CallMethod",
        "prim::PythonOp",
        "prim::With",
        "prim::fork",
        "prim::awaitable",
        "prim::awaitable_wait",
        "prim::AddStatValue",
        "aten::wait",
        "aten::warn",
        "aten::save",
        "aten::manual_seed",
        "aten::set_grad_enabled",
        "aten::backward",
        "aten::grad",
    )
)
# Nodes that hand what they read to others, who may write to it.
_HANDS_OUT = frozenset(
    f"prim::{name}" for name in "CallFunction CallMethod PythonOp With fork awaitable".split()
)
# Ops that take something out of a container.
_PARTS = frozenset(
    (
        *(f"aten::{name}" for name in "__getitem__ pop popitem values items get setdefault".split()),
        *(f"prim::{name}" for name in "TupleIndex TupleUnpack ListUnpack".split()),
    )
)
_LABEL = re.compile(r"(?<!Future)(?<!Await)\((?:\w(?:\|\w)?!?|\*|\w[^()]* -> \*)\)")


def immutable(t: Type) -> bool:
    """Whether values of a type cannot change: numbers, text, None, and tuples of these."""
    if t.kind in ("Tuple", "Optional", "Union"):
        return all(map(immutable, t.args))
    return t.kind in _IMMUTABLE


def _holds(t: Type) -> bool:
    """Whether a value of a type may hold memory of others: all but tensors, and lists of numbers."""
    if t.kind in ("List", "Dict", "Tuple", "Optional", "Union"):
        inside = t.args[0] if t.kind == "Optional" and t.args else None
        return _holds(inside) if inside is not None else not all(map(immutable, t.args))
    return t.kind not in ("Tensor", *_IMMUTABLE)


@cache
def _mutability(kind: str, overload: str) -> tuple[tuple[str, ...], bool]:
    """Of an op: the names of arguments that it writes to, and whether a result may be an argument."""
    name = kind.split("::")[1] + (f".{overload}" if overload else "")
    for line in lines(kind):
        if line.removeprefix("prim::").startswith(f"{name}("):
            inside, _, result = line.partition(") -> ")
            return tuple(re.findall(r"\(\w(?:\|\w)?!\)\??(?:\[\d?\])*\??\s+(\w+)", inside)), bool(
                _LABEL.search(result)
            )
    return (), True


def written_arguments(node: Node) -> list[Value]:
    """The inputs that an op writes to."""
    schema: Schema | None = node.schema
    if schema is None:
        return []
    if schema.parameters and schema.parameters[-1].name == "out" and schema.overload.endswith("out"):
        return node.inputs[len(schema.parameters) - 1 : len(schema.parameters)]
    names, _ = _mutability(schema.kind, schema.overload)
    return [v for v, p in zip(node.inputs, schema.parameters, strict=False) if p.name in names]


def has_effect(node: Node) -> bool:
    """Whether a node must stay though nobody reads its results; what it writes to is another matter."""
    if node.kind in _EFFECTS:
        return True
    known = node.kind.startswith(("aten::", "prim::"))
    return not known or (not node.outputs and not written_arguments(node) and not node.blocks)


def _given_away(node: Node) -> list[Value]:
    """The inputs that may be written to while a node runs, or because it ran."""
    if node.kind == "prim::SetAttr":
        return node.inputs[1:]
    return node.inputs if node.kind in _HANDS_OUT else written_arguments(node)


class Memory:
    """The roots of all values of a block. `attribute`: asked for those of an attribute that is read."""

    def __init__(self, block: Block, attribute: Callable[[Node], Roots] | None = None) -> None:
        self._roots: dict[Value, set[Hashable]] = {}
        self._attribute = attribute
        for value in block.params:
            self._join(value, (ELSEWHERE,))
        self._changed = True
        while self._changed:  # loops and containers hand on what is only known further down
            self._changed = False
            self._block(block)

    def of(self, value: Value) -> set[Hashable]:
        """A value's roots."""
        return self._roots.get(value, set())

    def written(self, node: Node) -> set[Hashable]:
        """The roots that a node writes to, or hands to others who may."""
        return {root for value in _given_away(node) for root in self.of(value)}

    def take(self, value: Value, other: Value) -> None:
        """Let a value stand for another one, too."""
        self._join(value, self.of(other))

    def _join(self, value: Value, roots: Iterable[Hashable]) -> None:
        if not immutable(value.type):
            known = self._roots.setdefault(value, set())
            count = len(known)
            known.update(roots)
            self._changed = len(known) != count or getattr(self, "_changed", False)

    def _block(self, block: Block) -> None:
        for node in block.nodes:
            for inner in node.blocks:
                self._block(inner)
            self._node(node)

    def _node(self, node: Node) -> None:
        if node.kind == "prim::If":
            for inner in node.blocks:
                self._hand_on(inner.ending.inputs, node.outputs)
        elif node.kind == "prim::Loop":
            (inner,) = node.blocks
            carried = inner.params if node.attrs["while"] else inner.params[1:]
            self._hand_on(node.inputs[1:], carried)
            self._hand_on(inner.ending.inputs[1:] if node.attrs["while"] else inner.ending.inputs, carried)
            self._hand_on(carried, node.outputs)
        elif node.kind == "prim::GetAttr":
            found = {ELSEWHERE} if self._attribute is None else self._attribute(node)
            self._join(node.output, {*found, *self.of(node.inputs[0])})
        else:
            self._op(node)

    def _hand_on(self, given: list[Value], taken: list[Value]) -> None:
        for one, other in zip(given, taken, strict=False):
            self._join(other, self.of(one))

    def _op(self, node: Node) -> None:
        inside = {root for value in node.inputs for root in self.of(value)}
        if node.kind in _PARTS:
            inside = {getattr(root, "part", root) for root in inside}
        for value in _given_away(node):
            if value.type.kind not in ("Tensor", "Optional"):  # what a list holds from now on
                self._join(value, inside)
        for value in node.outputs:
            fresh = ELSEWHERE if node.kind == "prim::Constant" else value
            self._join(value, {fresh, *(inside if self._may_be_argument(node) else ())})

    @staticmethod
    def _may_be_argument(node: Node) -> bool:
        schema = node.schema
        if schema is None or any(map(_holds, (v.type for v in node.inputs))):
            return True
        return _mutability(schema.kind, schema.overload)[1]


class _Living:
    """Which nodes and values of a program anything depends on."""

    def __init__(self, block: Block, memory: Memory) -> None:
        self.memory = memory
        self.nodes: set[Node] = set()
        self.values: set[Value] = set()
        self.roots: set[Hashable] = {ELSEWHERE}
        self.inside: dict[Block, Node] = {inner: node for node in walk(block) for inner in node.blocks}
        for value in block.ending.inputs:
            self.value(value)
        everything = list(walk(block))
        for node in everything:
            if "results" in node.attrs:  # of a trace: a module that ran stays a method of it
                self.node(node)
        count = -1
        while count != len(self.nodes):
            count = len(self.nodes)
            for node in everything:
                if node not in self.nodes and self.acts(node):
                    self.node(node)

    def acts(self, node: Node) -> bool:
        """Whether anybody can see that a node ran."""
        if node.kind == "prim::SetAttr":
            return bool(self.memory.of(node.inputs[0]) & self.roots)
        return has_effect(node) or bool(self.memory.written(node) & self.roots)

    def value(self, value: Value) -> None:
        """A value is read."""
        self._reach([value])

    def node(self, node: Node) -> None:
        """A node runs, and all that it is in."""
        self._reach([node])

    def _reach(self, pending: list[Value | Node]) -> None:
        """These, and all that they need; programs may be deeper than Python's stack."""
        while pending:
            found = pending.pop()
            known: set[Any] = self.values if isinstance(found, Value) else self.nodes
            if found not in known:
                known.add(found)
                pending += self._read(found) if isinstance(found, Value) else self._run(found)

    def _read(self, value: Value) -> list[Value | Node]:
        """What a value that is read needs."""
        self.roots |= self.memory.of(value)
        node = value.node
        if node is None or node.kind == "prim::Param":
            return []
        if node.kind != "prim::If":
            return [node]
        number = node.outputs.index(value)
        return [node, *(inner.ending.inputs[number] for inner in node.blocks)]

    def _run(self, node: Node) -> list[Value | Node]:
        """What a node that runs needs."""
        needed: list[Value | Node] = [*node.inputs, *node.attrs.get("results", ())]
        if node.kind == "prim::Loop":
            needed += node.blocks[0].ending.inputs
        around = self.inside.get(node.block) if node.block is not None else None
        return needed if around is None else [*needed, around]


def sweep(block: Block, attribute: Callable[[Node], Roots] | None = None) -> None:
    """Take out what has no effect and no reader: also writing to what nobody reads."""
    _sweep(block, _Living(block, Memory(block, attribute)))


def _sweep(block: Block, living: _Living) -> None:
    for node in reversed(list(block.nodes)):
        if node not in living.nodes:
            remove(node)
            continue
        if node.kind == "prim::If":
            keep_results(node, [i for i, v in enumerate(node.outputs) if v in living.values])
        for inner in node.blocks:
            _sweep(inner, living)


def remove(node: Node) -> None:
    """Take a node and its blocks out of its program."""
    block: Any = node.block
    block.nodes.remove(node)
    for one in (node, *(n for inner in node.blocks for n in walk(inner))):
        _unread(one)
    for inner in node.blocks:
        _unread(inner.ending)


def _unread(node: Node) -> None:
    for value in set(node.inputs):
        value.uses = [use for use in value.uses if use[0] is not node]


def keep_results(node: Node, keep: list[int]) -> None:
    """Leave only these results to an if."""
    if len(keep) == len(node.outputs):
        return
    node.outputs = [node.outputs[i] for i in keep]
    for block in node.blocks:
        kept = [block.ending.inputs[i] for i in keep]
        _unread(block.ending)
        block.ending.inputs = []
        block.finish(kept)
