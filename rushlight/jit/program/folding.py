"""What of a program is known before it runs: ops of constants, and ifs of known conditions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight.jit.program.ir import Block, Example, Function, Node, Value, read, replace, unread
from rushlight.jit.program.memory import has_effect, immutable, remove, written_arguments
from rushlight.jit.program.types import Type

# Ops without a signature that are computed from constants alone.
_FOLDED = frozenset(("prim::TupleIndex", "prim::unchecked_cast", "prim::EnumName", "prim::EnumValue"))
# Containers that are constants when all that is in them is.
_BUILT = frozenset(("prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct"))
# What differs from call to call: ops by name, whole tensors of whatever memory held, and layers that drop.
_RANDOM = re.compile(
    r"_*(rand|bernoulli|multinomial|normal(_|$)|poisson|rrelu|binomial|standard_gamma|sample_dirichlet)"
    r"|.*(dropout|empty)"
)


def fold(block: Block, everything: bool = False, changes: Callable[[Value], bool] | None = None) -> None:
    """Compute what is known. Only numbers, text and None are, except with `everything`: tensors, too, and
    containers; `changes`: which of these the program writes to.
    """
    for node in list(block.nodes):
        for inner in node.blocks:
            fold(inner, everything, changes)
        if node.kind == "prim::Loop":
            _leave_unchanged(node)
            if _never_runs(node):
                for old, new in zip(node.outputs, node.inputs[1:], strict=True):
                    replace(old, new)
                remove(node)
                continue
        elif node.kind == "prim::If":
            _same_on_both_sides(node)
        if node.kind == "prim::If" and is_constant(node.inputs[0]):
            _take_branch(block, node)
        elif changes is not None and any(map(changes, node.outputs)):
            continue
        elif _folds(node, everything):
            _compute(block, node)


def _leave_unchanged(node: Node) -> None:
    """Do not carry through a loop what its rounds do not change."""
    (inner,) = node.blocks
    waits = bool(node.attrs.get("while"))
    for i in reversed(range(len(node.outputs))):
        param, last = inner.params[i + (not waits)], inner.ending.inputs[i + waits]
        first = node.inputs[i + 1]
        if last is not param and last is not first:
            continue
        replace(param, first)
        replace(node.outputs[i], first)
        unread(node, i + 1)
        unread(inner.ending, i + waits)
        del inner.params[i + (not waits)], node.outputs[i]


def _never_runs(node: Node) -> bool:
    """Whether a loop has no rounds."""
    if not is_constant(node.inputs[0]):
        return False
    rounds = constant_of(node.inputs[0])
    return rounds is False if node.attrs.get("while") else rounds <= 0


def _same_on_both_sides(node: Node) -> None:
    """Do not choose between a value and itself."""
    for value, *sides in zip(node.outputs, *(b.ending.inputs for b in node.blocks), strict=True):
        if not value.uses:
            continue
        if sides[0] is sides[1]:
            replace(value, sides[0])
        elif all(map(is_constant, sides)) and immutable(value.type):
            one, other = map(constant_of, sides)
            if type(one) is type(other) and one == other and sides[0].type == sides[1].type:
                replace(value, constant_before(node, one, sides[0].type))


def is_constant(value: Value) -> bool:
    """Whether a value is known."""
    return value.node is not None and value.node.kind == "prim::Constant"


def constant_of(value: Value) -> Any:
    """What a constant is."""
    node: Any = value.node
    return node.attrs["value"]


def _take_branch(block: Block, node: Node) -> None:
    """Put the branch that is taken in the place of an if."""
    chosen = node.blocks[0 if constant_of(node.inputs[0]) else 1]
    place = block.nodes.index(node)
    for inner in chosen.nodes:
        inner.block = block
    moved, chosen.nodes = chosen.nodes, []
    results = list(chosen.ending.inputs)
    block.nodes[place:place] = moved
    for old, new in zip(node.outputs, results, strict=True):
        new.hint = new.hint or old.hint
        replace(old, new)
    remove(node)


def _folds(node: Node, everything: bool) -> bool:
    """Whether a node's result is known and may stand for it."""
    empty = node.kind in ("prim::ListConstruct", "prim::DictConstruct") and everything
    if len(node.outputs) != 1 or not (node.inputs or empty) or not all(map(is_constant, node.inputs)):
        return False
    if not everything and not all(immutable(v.type) for v in (*node.inputs, *node.outputs)):
        return False
    if node.kind in _BUILT:
        return everything
    if node.kind in _FOLDED:
        return True
    if node.schema is None or has_effect(node) or written_arguments(node) or node.blocks:
        return False
    return not random(node)


def random(node: Node) -> bool:
    """Whether two runs of an op may give different results."""
    names = [p.name for p in node.schema.parameters] if node.schema is not None else []
    given = dict(zip(names, node.inputs, strict=False))
    for name in ("train", "training"):  # a layer that is not learning drops nothing
        if name in given and is_constant(given[name]) and constant_of(given[name]) is False:
            return False
    for name in ("dropout", "dropout_p"):
        if name in given:
            return not is_constant(given[name]) or constant_of(given[name]) != 0
    return "generator" in names or _RANDOM.match(node.kind.split("::")[1]) is not None


def _compute(block: Block, node: Node) -> None:
    from rushlight.jit.program.execute import runner  # what it needs, jit, imports this file

    made = Function("__torch__.known", [], None)
    inputs = []
    for value in node.inputs:
        known = made.block.add("prim::Constant", (), [value.type], value=constant_of(value))
        inputs.append(known.output)
    copied = made.block.add(
        node.kind, inputs, [node.output.type], schema=node.schema, place=node.place, **node.attrs
    )
    made.block.finish([copied.output])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = runner(made)()
    except Exception:  # it fails when it runs, where the program may catch or never come to it
        return
    constant = Node("prim::Constant", [], attrs={"value": found}, block=block)
    constant.outputs = [Value(node.output.type, constant, "", example=_example(found))]
    block.nodes[block.nodes.index(node)] = constant
    replace(node.output, constant.output)
    node.block, node.outputs = None, []
    for value in set(node.inputs):
        value.uses = [use for use in value.uses if use[0] is not node]


def _example(value: Any) -> Example | None:
    """What is told of a constant that is a tensor."""
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return None
    sizes = tuple(value.shape)
    return Example(value.dtype, sizes, tuple(value.stride()), value.device, value.requires_grad)


def constant_before(node: Node, value: Any, t: Type, hint: str = "") -> Value:
    """A new constant right before a node."""
    found = node_before(node, "prim::Constant", [], t, value=value)
    found.hint = hint
    return found


def node_before(
    node: Node, kind: str, inputs: list[Value], t: Type, schema: Any = None, **attrs: Any
) -> Value:
    """A new node with one result right before another one."""
    block: Any = node.block
    made = Node(kind, [], attrs=attrs, schema=schema, place=node.place, block=block)
    for value in inputs:
        read(made, value)
    made.outputs = [Value(t, made)]
    block.nodes.insert(block.nodes.index(node), made)
    return made.output


def reread(node: Node, place: int, value: Value) -> None:
    """Let one input of a node be another value."""
    old = node.inputs[place]
    old.uses = [use for use in old.uses if use != (node, place)]
    node.inputs[place] = value
    value.uses.append((node, place))
