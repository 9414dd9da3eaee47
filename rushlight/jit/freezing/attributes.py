"""Which attributes of which modules a program reads, writes or changes in place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import rushlight as torch
from rushlight.jit.compiler.names import unique
from rushlight.jit.program.ir import Block, Function, Node, Value, read, walk
from rushlight.jit.program.memory import Memory
from rushlight.jit.program.types import ClassType

_CALLS = ("prim::CallMethod", "prim::CallFunction")
LATER = ("prim::fork", "prim::awaitable")


@dataclass(frozen=True)
class Attribute:
    """An attribute of one module or object, which are compared by identity; `within`: what it holds."""

    owner: int
    name: str
    within: bool = False

    @property
    def part(self) -> Attribute:
        """What is in the container that the attribute is."""
        return Attribute(self.owner, self.name, True)

    @property
    def whole(self) -> Attribute:
        """The attribute itself."""
        return Attribute(self.owner, self.name)


def type_of(found: Any) -> ClassType | None:
    """The compiled type of a module or an object; None of other values."""
    own = getattr(found, "_type", None)
    return own if isinstance(own, ClassType) else None


class Inlined:
    """A method with all that it calls in its place; `objects`: the modules and objects that values are."""

    def __init__(self, module: Any, function: Function, replaced: Sequence[Attribute] = ()) -> None:
        self.objects: dict[Value, Any] = {}
        self.replaced = replaced  # attributes that are one module now and another later
        self.function = Function(function.qualname, list(function.arguments), function.returns)
        self.function.repeated = function.repeated
        known: dict[Value, Value] = {}
        self._params(self.function.block, function.block, known)
        self.objects[self.function.block.params[0]] = module
        self._nodes(self.function.block, function.block, known)
        self.function.block.finish([known[v] for v in function.block.ending.inputs])

    def _params(self, into: Block, block: Block, known: dict[Value, Value]) -> None:
        for value in block.params:
            known[value] = into.param(value.type, value.hint)

    def _nodes(self, into: Block, block: Block, known: dict[Value, Value]) -> None:
        for node in block.nodes:
            if node.kind in _CALLS:
                self._call(into, node, known)
            else:
                self._copy(into, node, known)

    def _callee(self, node: Node, known: dict[Value, Value]) -> Function:
        """The function that a call runs: of an interface's method, that of the module that is there."""
        callee: Function = node.attrs["function"]
        if node.inputs and "name" in node.attrs:
            own = type_of(self.objects.get(known[node.inputs[0]]))
            callee = callee if own is None else own.method(node.attrs["name"]) or callee
        if not callee.block.params and callee.owner is not None:
            raise RuntimeError(
                "Freezing modules containing prim::ModuleContainerIndex is not supported: which module runs "
                f"{callee.qualname} is not known before"
            )
        return callee

    def _call(self, into: Block, node: Node, known: dict[Value, Value]) -> None:
        callee = self._callee(node, known)
        inner = dict(zip(callee.block.params, (known[v] for v in node.inputs), strict=True))
        self._nodes(into, callee.block, inner)
        known[node.output] = inner[callee.block.ending.inputs[0]]

    def _copy(self, into: Block, node: Node, known: dict[Value, Value]) -> None:
        made = Node(node.kind, [], [], dict(node.attrs), [], node.schema, node.place, into, node.scope)
        for value in node.inputs:
            read(made, known[value])
        for value in node.outputs:
            known[value] = Value(value.type, made, value.hint, example=value.example)
            made.outputs.append(known[value])
        if node.kind in LATER:
            made.attrs = {"function": self._later(node, known)}
        for inner in node.blocks:
            made.blocks.append(Block())
            self._params(made.blocks[-1], inner, known)
            self._nodes(made.blocks[-1], inner, known)
            made.blocks[-1].finish([known[v] for v in inner.ending.inputs])
        into.nodes.append(made)
        if node.kind == "prim::GetAttr":
            owner = self.objects.get(made.inputs[0])
            found = None if owner is None else held(owner, node.attrs["name"])
            if type_of(found) is not None and self.attribute(made) not in self.replaced:
                self.objects[made.output] = found

    def _later(self, node: Node, known: dict[Value, Value]) -> Function:
        """What a fork runs, as a function of its own."""
        callee = self._callee(node, known)
        made = Function(unique(f"__torch__.{callee.name}"), [], callee.returns, finished=True)
        inner: dict[Value, Value] = {}
        self._params(made.block, callee.block, inner)
        for given, taken in zip(node.inputs, made.block.params, strict=True):
            if known[given] in self.objects:
                self.objects[taken] = self.objects[known[given]]
        names = [name for name, _, _ in callee.arguments]
        made.arguments = [
            (n, v.type, default)
            for n, v, (_, _, default) in zip(names, made.block.params, callee.arguments, strict=True)
        ]
        self._nodes(made.block, callee.block, inner)
        made.block.finish([inner[v] for v in callee.block.ending.inputs])
        return made

    def blocks(self) -> Iterator[Block]:
        """The method's block, and those of what it forks."""
        yield from _forking(self.function.block)

    def nodes(self) -> Iterator[Node]:
        """All nodes."""
        for block in self.blocks():
            yield from walk(block)

    def attribute(self, node: Node) -> Attribute | None:
        """The attribute that a node reads or writes; None where the object is not known."""
        owner = self.objects.get(node.inputs[0])
        return None if owner is None else Attribute(id(owner), node.attrs["name"])

    def roots(self, node: Node) -> frozenset[Any]:
        """For the memory analysis: what an attribute that is read may be."""
        found = self.attribute(node)
        return frozenset(() if found is None else (found,))


def _forking(block: Block) -> Iterator[Block]:
    yield block
    for node in walk(block):
        if node.kind in LATER:
            yield from _forking(node.attrs["function"].block)


def changed(methods: Sequence[Inlined]) -> set[Attribute]:
    """The attributes that these methods set, or change in place."""
    found: set[Attribute] = set()
    for method in methods:
        for block in method.blocks():
            memory = Memory(block, method.roots)
            for node in walk(block):
                if node.kind == "prim::SetAttr":
                    set_here = method.attribute(node)
                    roots = {set_here, *memory.of(node.inputs[1])} if set_here else set()
                    found |= {root for root in roots if isinstance(root, Attribute)}
                found |= {root for root in memory.written(node) if isinstance(root, Attribute)}
                if node.kind in LATER:
                    parts = {root for value in node.inputs for root in memory.of(value)}
                    found |= {root for root in parts if isinstance(root, Attribute)}
    return found


def held(owner: Any, name: str) -> Any:
    """An attribute as programs have it: of lists and dicts no copy."""
    known = vars(owner)
    return known[name] if name in known else getattr(owner, name)


def memory_of(value: Any, deep: bool = True) -> set[Any]:
    """What a value's memory is known by: tensors' storages and containers; with `deep` of all in them."""
    if isinstance(value, torch.Tensor):
        return {value.untyped_storage().data_ptr() if value.layout is torch.strided else id(value)}
    if isinstance(value, dict):
        inside = [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple)):
        inside = [*value]
    else:
        return set()
    own = set() if isinstance(value, tuple) else {id(value)}
    return own | {memory for part in inside for memory in memory_of(part)} if deep else own
