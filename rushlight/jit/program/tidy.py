"""A program before it is written: what is known is computed, what nobody needs is left out, and constants
come first.
"""

from __future__ import annotations

from rushlight.jit.program.folding import fold
from rushlight.jit.program.ir import Block, Node, Value, read, replace
from rushlight.jit.program.memory import sweep
from rushlight.jit.program.schema import spell

_Place = tuple[int, int]
_PLAIN = (int, float, bool, str, type(None))


def tidy(block: Block) -> None:
    """Fold and sweep a function's block, gather its constants at the top, each once, and order what ifs and
    loops give.
    """
    fold(block)
    sweep(block)
    top: list[Node] = []
    _gather(block, top, {})
    for node in top:
        node.block = block
    block.nodes[:0] = top
    order_outputs(block)


def _gather(block: Block, top: list[Node], known: dict[tuple[type, str], Value]) -> None:
    for node in list(block.nodes):
        value = node.attrs.get("value")
        if node.kind == "prim::Constant" and type(value) in _PLAIN:
            block.nodes.remove(node)
            first = known.setdefault((type(value), spell(value)), node.output)
            if first is node.output:
                top.append(node)
            else:
                replace(node.output, first)
        for inner in node.blocks:
            _gather(inner, top, known)


def order_outputs(block: Block) -> None:
    """Put the outputs of all ifs and loops of a function in PyTorch's order."""
    places = dict[Node, int]()
    _number(block, places)
    for node in [n for n in places if n.kind in ("prim::If", "prim::Loop") and len(n.outputs) > 1]:
        order = sorted(range(len(node.outputs)), key=lambda i: _key(node.outputs[i], places))
        if order != list(range(len(order))):
            _permute(node, order)


def _number(block: Block, places: dict[Node, int]) -> None:
    """Number the nodes as the text has them."""
    for node in block.nodes:
        places[node] = len(places)
        for inner in node.blocks:
            _number(inner, places)
    places[block.ending] = len(places)


def _key(value: Value, places: dict[Node, int]) -> tuple[bool, _Place, str]:
    """Where a value stands among the outputs of its node."""
    first = min(((places[user], place) for user, place in value.uses), default=None)
    return first is None, first or (0, 0), "" if first else value.hint


def _permute(node: Node, order: list[int]) -> None:
    """Put a node's outputs, and what belongs to each, in this order."""
    node.outputs = [node.outputs[i] for i in order]
    if node.kind == "prim::Loop":
        _reread(node, order, 1)
        inner = node.blocks[0]
        before = len(inner.params) - len(order)
        inner.params[before:] = [inner.params[before + i] for i in order]
    for inner in node.blocks:
        _reread(inner.ending, order, len(inner.ending.inputs) - len(order))


def _reread(node: Node, order: list[int], before: int) -> None:
    """Let a node read its inputs, from number `before` on, in this order."""
    inputs = node.inputs
    for value in set(inputs):
        value.uses = [(user, place) for user, place in value.uses if user is not node]
    node.inputs = []
    for value in [*inputs[:before], *(inputs[before + i] for i in order)]:
        read(node, value)
