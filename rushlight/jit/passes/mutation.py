"""Passes that put an op that gives a new value in the place of one that writes, and the other way."""

from __future__ import annotations

from typing import Any

from rushlight.jit.program.folding import constant_of, is_constant, node_before, reread
from rushlight.jit.program.ir import Block, Node, Value, walk
from rushlight.jit.program.memory import ELSEWHERE, Memory, remove
from rushlight.jit.program.resolve import resolve
from rushlight.jit.program.schema import named
from rushlight.jit.program.types import NONE, TENSOR, Type

# Ops that write a value that does not depend on what was there.
_SPECIAL = {
    "aten::zero_": "aten::zeros_like",
    "aten::fill_": "aten::full_like",
    "aten::normal_": "aten::normal",
}
_ACTIVATIONS = (
    "hardsigmoid hardtanh hardswish relu relu6 rrelu celu elu leaky_relu selu silu sigmoid tanh".split()
)
# Those whose result is of the argument's dtype, whatever that is.
_SAME_DTYPE = frozenset(
    "hardsigmoid hardtanh hardswish relu relu6 rrelu celu elu leaky_relu selu silu".split()
)


def remove_mutation(block: Block) -> None:
    """Take writing out where nobody else can see it."""
    remove_tensor_mutation(block)
    remove_list_mutation(block)


def remove_tensor_mutation(block: Block) -> None:
    """The same for tensors."""
    for node in list(walk(block)):
        if node.block is not None and _functional(node) is not None and _unseen(block, node):
            _apart(block, node)


def _functional(node: Node) -> str | None:
    """The op that gives what this one writes."""
    if node.kind in _SPECIAL:
        return _SPECIAL[node.kind] if node.kind != "aten::normal_" or len(node.inputs) == 4 else None
    name = node.kind.removesuffix("_")
    if node.schema is None or not node.kind.startswith("aten::") or name == node.kind or not named(name):
        return None
    return name if node.kind not in ("aten::copy_", "aten::resize_", "aten::set_") else None


def _unseen(block: Block, node: Node) -> bool:
    """Whether a value is written right behind where it is made, before anybody has read it."""
    value = node.inputs[0]
    maker = value.node
    if maker is None or maker.kind in ("prim::Param", "prim::Constant", "prim::GetAttr"):
        return False
    if maker.block is not node.block or not _fresh(value, Memory(block)):
        return False
    nodes: Any = node.block.nodes if node.block is not None else []
    between = set(nodes[nodes.index(maker) + 1 : nodes.index(node)])
    readers = [user for user, _ in value.uses if user is not node]
    return not any(user in between or _outermost(user, node.block) in between for user in readers)


def _outermost(node: Node, block: Block | None) -> Node | None:
    """The node of a block that another one is in."""
    if block is None:
        return None
    return next((one for one in block.nodes if one is node or node in _within(one)), None)


def _within(node: Node) -> set[Node]:
    return {n for inner in node.blocks for n in (*walk(inner), inner.ending)}


def _fresh(value: Value, memory: Memory) -> bool:
    """Whether nothing but the value's own op has made its memory, and no container holds it."""
    node = value.node
    if node is None:
        return False
    if node.kind == "prim::If":
        sides = [inner.ending.inputs[node.outputs.index(value)] for inner in node.blocks]
        return all(_fresh(one, memory) and len(one.uses) == 1 for one in sides)
    roots = memory.of(value)
    return roots == {value} and ELSEWHERE not in roots


def _apart(block: Block, node: Node) -> None:
    """Give a new value instead of writing, and let all who come later read that."""
    old = node.inputs[0]
    kind: Any = _functional(node)
    inputs = list(node.inputs)
    if node.kind in _SPECIAL:
        if node.kind == "aten::fill_" and inputs[1].type == TENSOR:
            made = node_before(node, "aten::expand_as", [inputs[1], old], TENSOR)
        else:
            inputs = _more(node, inputs)
            made = node_before(node, kind, inputs, TENSOR)
    else:
        made = node_before(node, kind, inputs, TENSOR)
    resolve(made.node)  # type: ignore[arg-type]
    made.hint = node.output.hint or old.hint
    place = _places(block)
    for user, at in list(old.uses):
        if user is not made.node and user is not node and place[user] > place[node]:
            reread(user, at, made)
    for user, at in list(node.output.uses):
        reread(user, at, made)
    remove(node)


def _more(node: Node, inputs: list[Value]) -> list[Value]:
    """What zeros_like, full_like and normal take beside: that all is as before."""

    def none() -> Value:
        return node_before(node, "prim::Constant", [], NONE, value=None)

    if node.kind == "aten::normal_":
        size = node_before(node, "aten::size", [inputs[0]], Type("List", (Type("int"),)))
        resolve(size.node)  # type: ignore[arg-type]
        return [inputs[1], inputs[2], size, inputs[3], *(none() for _ in range(4))]
    return [*inputs, *(none() for _ in range(5))]


def _places(block: Block) -> dict[Node, int]:
    found: dict[Node, int] = {}

    def number(one: Block) -> None:
        for node in one.nodes:
            found[node] = len(found)
            for inner in node.blocks:
                number(inner)
        found[one.ending] = len(found)

    number(block)
    return found


# --- lists ----------------------------------------------------------------------------------------


def remove_list_mutation(block: Block) -> None:
    """Let a list be made with what is put into it."""
    for node in list(walk(block)):
        change = _LISTS.get(node.kind)
        if change is None or node.block is None:
            continue
        made = node.inputs[0].node
        if made is None or made.kind != "prim::ListConstruct" or made.block is not node.block:
            continue
        if _unseen(block, node):
            items = change(list(made.inputs), node)
            if items is not None:
                _with_items(block, made, node, items)


def _with_items(block: Block, made: Node, node: Node, items: list[Value]) -> None:
    new = node_before(node, "prim::ListConstruct", items, made.output.type)
    new.hint = made.output.hint
    place = _places(block)
    for user, at in list(made.output.uses):
        if user is not node and place[user] > place[node]:
            reread(user, at, new)
    for value in node.outputs:
        for user, at in list(value.uses):
            reread(user, at, new)
    remove(node)
    if not made.output.uses:
        remove(made)


def _append(items: list[Value], node: Node) -> list[Value] | None:
    return [*items, node.inputs[1]]


def _insert(items: list[Value], node: Node) -> list[Value] | None:
    if not is_constant(node.inputs[1]):
        return None
    items.insert(constant_of(node.inputs[1]), node.inputs[2])
    return items


def _set(items: list[Value], node: Node) -> list[Value] | None:
    place = constant_of(node.inputs[1]) if is_constant(node.inputs[1]) else None
    if place is None or not -len(items) <= place < len(items):
        return None
    items[place] = node.inputs[2]
    return items


_LISTS = {"aten::append": _append, "aten::insert": _insert, "aten::_set_item": _set}


# --- activations ----------------------------------------------------------------------------------


def inplace_to_functional(block: Block) -> None:
    """Let activations give new tensors where nobody can see the difference."""
    names = {f"aten::{name}_" for name in _ACTIVATIONS}
    for node in list(walk(block)):
        if node.kind in names and node.block is not None and _unseen(block, node):
            _apart(block, node)


def functional_to_inplace(block: Block) -> None:
    """Let activations write to their argument where nobody needs it any more."""
    memory = Memory(block)
    for node in list(walk(block)):
        name = node.kind.removeprefix("aten::")
        if name not in _ACTIVATIONS or not named(f"{node.kind}_"):
            continue
        value = node.inputs[0]
        dtype = value.example.dtype if value.example is not None else None
        kept = name in _SAME_DTYPE or (dtype is not None and dtype.is_floating_point)
        kept = kept or (value.node is not None and value.node.kind in _KEEPS_FLOAT)
        if kept and len(value.uses) == 1 and _fresh(value, memory) and _made_by_op(value):
            node.kind, node.schema = f"{node.kind}_", None
            resolve(node)


_KEEPS_FLOAT = ("aten::add", "aten::sub", "aten::mul")


def _made_by_op(value: Value) -> bool:
    node = value.node
    return node is not None and node.kind.startswith("aten::")
