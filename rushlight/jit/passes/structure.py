"""Passes that keep what a program does: what is computed twice, tuples, loops, numbers, forks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight.jit.program.folding import constant_of, is_constant, random
from rushlight.jit.program.graphs import Graph
from rushlight.jit.program.ir import (
    Block,
    Example,
    Function,
    Node,
    Value,
    _copy_nodes,
    read,
    replace,
    unread,
    walk,
    written_into,
)
from rushlight.jit.program.memory import Memory, has_effect, immutable, remove, sweep, written_arguments
from rushlight.jit.program.types import TENSOR

# Rounds up to which a loop is written out.
_ROUNDS = 8


def over(change: Callable[[Block], None]) -> Callable[..., None]:
    """A pass that changes a graph's block in place."""

    def run(graph: Graph, *options: Any) -> None:
        change(graph._function.block)
        graph.edited()

    return run


# Ops whose result depends on what is switched on around them.
_MODES = frozenset(
    f"aten::{name}" for name in "is_grad_enabled is_autocast_enabled is_autocast_cpu_enabled".split()
)

# --- what is computed twice -----------------------------------------------------------------------


def cse(block: Block) -> None:
    """Compute once what is computed twice with the same arguments."""
    memory = Memory(block)
    written = {root for node in walk(block) for root in memory.written(node)}
    given = {root for value in block.ending.inputs for root in memory.of(value)}
    _cse(block, memory, written, given, {})


def _cse(
    block: Block, memory: Memory, written: set[Any], given: set[Any], around: dict[Any, list[Node]]
) -> None:
    known = {key: list(nodes) for key, nodes in around.items()}
    for node in list(block.nodes):
        for inner in node.blocks:
            _cse(inner, memory, written, given, known)
        if not _repeatable(node, memory, written):
            continue
        types = tuple(str(v.type) for v in node.outputs if v.type.kind == "Tuple")
        named = tuple(id(v.type.cls) for v in node.outputs)
        key = (node.kind, tuple(map(id, node.inputs)), _attributes(node), types, named)
        for first in known.get(key, ()):
            pairs = zip(first.outputs, node.outputs, strict=True)
            if all(immutable(a.type) or not (memory.of(a) | memory.of(b)) & given for a, b in pairs):
                for old, new in zip(node.outputs, first.outputs, strict=True):
                    replace(old, new)
                remove(node)
                break
        else:
            known.setdefault(key, []).append(node)


def _attributes(node: Node) -> str:
    if node.kind == "prim::Constant":
        value = node.attrs["value"]
        plain = isinstance(value, (int, float, str, bool, complex, type(None)))
        return f"{type(value).__name__}{value!r}" if plain else str(id(value))
    return repr(sorted((k, str(v)) for k, v in node.attrs.items()))


def _repeatable(node: Node, memory: Memory, written: set[Any]) -> bool:
    """Whether the same node with the same arguments gives the same, and nobody writes to it."""
    if node.blocks or has_effect(node) or written_arguments(node) or random(node):
        return False
    if node.kind in ("prim::Uninitialized", "prim::GetAttr", "prim::CreateObject", *_MODES):
        return False
    values = (*node.inputs, *node.outputs)
    return not any(memory.of(v) & written for v in values)


# --- tuples ---------------------------------------------------------------------------------------


def lower_all_tuples(block: Block) -> None:
    """Let parts of tuples be values of their own; RuntimeError where a tuple cannot be taken apart."""
    _open_params(block)
    for node in list(walk(block)):
        _constant_tuple(node)
    for node in list(walk(block)):
        _lower(node)
    while any(v.type.kind == "Tuple" for v in block.ending.inputs):
        at = next(i for i, v in enumerate(block.ending.inputs) if v.type.kind == "Tuple")
        parts = _parts(block.ending.inputs[at])
        rest = list(block.ending.inputs)
        rest[at : at + 1] = parts
        while block.ending.inputs:
            unread(block.ending, len(block.ending.inputs) - 1)
        for value in rest:
            read(block.ending, value)
    sweep(block)


def _open_params(block: Block) -> None:
    """Let a block take the parts of tuples that it takes."""
    for value in list(block.params):
        if value.type.kind == "Tuple" and value.type.args:
            at = block.params.index(value)
            made = Node("prim::TupleConstruct", [], block=block)
            parts = [Value(t, value.node) for t in value.type.args]
            block.params[at : at + 1] = parts
            made.outputs = [Value(value.type, made)]
            replace(value, made.output)
            for part in parts:
                read(made, part)
            block.nodes.insert(0, made)


def _constant_tuple(node: Node) -> None:
    """A constant tuple as a tuple of constants."""
    if node.kind != "prim::Constant" or node.output.type.kind != "Tuple":
        return
    block: Any = node.block
    at = block.nodes.index(node)
    made = Node("prim::TupleConstruct", [], block=block)
    for part, t in zip(node.attrs["value"], node.output.type.args, strict=True):
        constant = Node("prim::Constant", [], attrs={"value": part}, block=block)
        constant.outputs = [Value(t, constant)]
        block.nodes.insert(at, constant)
        at += 1
        read(made, constant.output)
    made.outputs = [Value(node.output.type, made)]
    block.nodes.insert(at, made)
    replace(node.output, made.output)
    remove(node)
    for user, _ in list(made.output.uses):
        _constant_tuple(user)
    for value in list(made.inputs):
        if value.node is not None:
            _constant_tuple(value.node)


def _parts(value: Value) -> list[Value]:
    node = value.node
    if node is None or node.kind != "prim::TupleConstruct":
        raise RuntimeError("tuple appears in op that does not forward tuples")
    return node.inputs


def _lower(node: Node) -> None:
    if node.kind == "prim::TupleUnpack" and _made(node.inputs[0]):
        for old, new in zip(node.outputs, _parts(node.inputs[0]), strict=True):
            replace(old, new)
        remove(node)
    elif node.kind == "prim::TupleIndex" and _made(node.inputs[0]) and is_constant(node.inputs[1]):
        replace(node.output, _parts(node.inputs[0])[constant_of(node.inputs[1])])
        remove(node)


def _made(value: Value) -> bool:
    return value.node is not None and value.node.kind == "prim::TupleConstruct"


# --- loops ----------------------------------------------------------------------------------------


def loop_unrolling(block: Block) -> None:
    """Write out loops of a few rounds whose number is known."""
    for node in list(walk(block)):
        if node.kind == "prim::Loop" and not node.attrs.get("while") and is_constant(node.inputs[0]):
            rounds = constant_of(node.inputs[0])
            if rounds <= _ROUNDS:
                _unroll(node, rounds)


def _unroll(node: Node, rounds: int) -> None:
    block: Any = node.block
    (inner,) = node.blocks
    carried, made = list(node.inputs[1:]), Block()
    for i in range(rounds):
        number = made.add("prim::Constant", (), [inner.params[0].type], value=i).output
        known = _Through(dict(zip(inner.params, [number, *carried], strict=True)))
        _copy_nodes(made, inner, known, False)
        carried = [known[v] for v in inner.ending.inputs]
    at = block.nodes.index(node)
    for one in made.nodes:
        one.block = block
    block.nodes[at:at] = made.nodes
    for old, new in zip(node.outputs, carried, strict=True):
        replace(old, new)
    remove(node)


class _Through(dict[Value, Value]):
    """Which value stands for which; one that is not told stands for itself."""

    def __missing__(self, value: Value) -> Value:
        return value


# --- numbers, forks -------------------------------------------------------------------------------


def erase_number_types(block: Block) -> None:
    """Let numbers be tensors."""
    for node in walk(block):
        if node.kind == "prim::Constant" and isinstance(node.attrs["value"], (int, float, complex)):
            node.attrs = {**node.attrs, "value": torch.tensor(node.attrs["value"])}
        for value in [*node.outputs, *(v for inner in node.blocks for v in inner.params)]:
            if value.type.kind in ("int", "float", "bool", "complex", "number"):
                value.type = TENSOR
    for value in block.params:
        if value.type.kind in ("int", "float", "bool", "complex", "number"):
            value.type = TENSOR


def inline_fork_wait(block: Block) -> None:
    """Let what is forked run where it is forked."""
    for node in list(walk(block)):
        if node.kind == "prim::fork":
            called: Function = node.attrs["function"]
            here: Any = node.block
            made = Block()
            result = written_into(made, called, node.inputs)
            for one in made.nodes:
                one.block = here
            here.nodes[here.nodes.index(node) : here.nodes.index(node)] = made.nodes
            for user, _ in list(node.output.uses):
                if user.kind == "aten::wait":
                    replace(user.output, result)
                    remove(user)
            if not node.output.uses:
                remove(node)


def refine_tuple_types(block: Block) -> None:
    """Let a tuple's type say what its parts are."""
    for node in walk(block):
        if node.kind == "prim::TupleConstruct":
            parts = tuple(v.type for v in node.inputs)
            if len(parts) == len(node.output.type.args):
                node.output.type = type(node.output.type)("Tuple", parts, node.output.type.cls)
                node.output.example = Example(parts=tuple(v.example for v in node.inputs))
