"""Products of matrices that are computed together: a sum of many, and many with one side in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rushlight.jit.program.folding import constant_of, is_constant
from rushlight.jit.program.ir import Block, Node, Value, read, replace, walk
from rushlight.jit.program.memory import Memory, remove
from rushlight.jit.program.types import TENSOR

# From how many products on.
_TREE, _SIDE = 4, 8


def batch_mm(block: Block) -> None:
    """Compute products together where nobody writes to what they read."""
    memory = Memory(block)
    written = {root for node in walk(block) for root in memory.written(node)}
    blocks = [block, *(inner for node in walk(block) for inner in node.blocks)]
    for one in blocks:
        products = {
            node
            for node in one.nodes
            if node.kind == "aten::mm" and not any(memory.of(v) & written for v in node.inputs)
        }
        _trees(one, products)
        _sides(one, products)


def decompose(block: Block) -> None:
    """Write addmm, where it multiplies neither part by a number, as a product and a sum."""
    for node in list(walk(block)):
        if node.kind != "aten::addmm" or not all(is_constant(v) for v in node.inputs[3:5]):
            continue
        if any(constant_of(v) != 1 for v in node.inputs[3:5]):
            continue
        product = _before(node, "aten::mm", node.inputs[1:3], 1).output
        whole = _before(node, "aten::add", [node.inputs[0], product, node.inputs[4]], 1).output
        replace(node.output, whole)
        remove(node)


def _leaves(node: Node | None, products: set[Node], within: Block) -> Iterator[Node] | None:
    """The products that a sum is of; None where it is of something else."""
    if node is None or node.block is not within:
        return None
    if node in products:
        return iter((node,))
    whole = node.kind == "aten::add" and len(node.inputs) == 3 and is_constant(node.inputs[2])
    if not whole or constant_of(node.inputs[2]) != 1 or node.inputs[1].type != TENSOR:
        return None
    sides = [_leaves(v.node, products, within) for v in node.inputs[:2]]
    if sides[0] is None or sides[1] is None or any(len(v.uses) != 1 for v in node.inputs[:2]):
        return None
    return iter([*sides[0], *sides[1]])


def _trees(block: Block, products: set[Node]) -> None:
    for node in reversed(list(block.nodes)):
        if node.block is None or node.kind != "aten::add" or node not in block.nodes:
            continue
        found = _leaves(node, products, block)
        leaves = [] if found is None else list(found)
        if len(leaves) < _TREE:
            continue
        sides = [n.inputs[i] for i in (0, 1) for n in leaves]
        made = _before(node, "prim::MMTreeReduce", sides, 1)
        replace(node.output, made.output)
        _clear(node)
        products.difference_update(leaves)


def _clear(node: Node) -> None:
    """Take a sum out with all that only it reads."""
    inputs = [v.node for v in node.inputs[:2]]
    block: Any = node.block
    if node in block.nodes:
        remove(node)
    for one in inputs:
        if one is not None and one.kind in ("aten::add", "aten::mm") and not one.output.uses:
            _clear(one)


def _sides(block: Block, products: set[Node]) -> None:
    for side in (0, 1):
        groups: dict[Value, list[Node]] = {}
        for node in block.nodes:
            if node in products:
                groups.setdefault(node.inputs[side], []).append(node)
        for common, nodes in groups.items():
            if len(nodes) < _SIDE or _depend(block, nodes):
                continue
            made = _before(nodes[-1], "prim::MMBatchSide", [common, *(n.inputs[1 - side] for n in nodes)], 0)
            made.attrs["given"] = {"side": ("i", side)}
            for node in nodes:
                made.outputs.append(Value(TENSOR, made))
                replace(node.output, made.outputs[-1])
            _move_up(block, made)
            for node in nodes:
                products.discard(node)
                remove(node)


def _depend(block: Block, nodes: list[Node]) -> bool:
    """Whether anybody reads one of these products before all that they read is there."""
    made = {node: i for i, node in enumerate(block.nodes)}
    makers = [v.node for node in nodes for v in node.inputs]
    last = max(made.get(node, -1) for node in makers if node is not None) if any(makers) else -1
    results = {node.output for node in nodes}
    if any(v in results for node in nodes for v in node.inputs):
        return True
    before = block.nodes[: last + 1]
    inside = [inner for node in before for inner in node.blocks]
    inside += [inner for outer in inside for node in walk(outer) for inner in node.blocks]
    readers = [*before, *(one for inner in inside for one in (*walk(inner), inner.ending))]
    return any(v in results for reader in readers for v in reader.inputs)


def _move_up(block: Block, made: Node) -> None:
    """Put a node right behind what it reads."""
    order = {node: i for i, node in enumerate(block.nodes)}
    behind = max((order[v.node] for v in made.inputs if v.node in order), default=-1)
    block.nodes.remove(made)
    block.nodes.insert(behind + 1, made)


def _before(node: Node, kind: str, inputs: list[Value], outputs: int) -> Node:
    block: Any = node.block
    made = Node(kind, [], place=node.place, block=block)
    for value in inputs:
        read(made, value)
    made.outputs = [Value(TENSOR, made) for _ in range(outputs)]
    block.nodes.insert(block.nodes.index(node), made)
    return made
