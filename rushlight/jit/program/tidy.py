"""A program before it is written: what is known is computed, what nobody needs is left out, and constants
come first.
"""

from __future__ import annotations

from rushlight.jit.program.folding import fold
from rushlight.jit.program.ir import Block, Node, Value, replace
from rushlight.jit.program.memory import sweep
from rushlight.jit.program.schema import spell

_PLAIN = (int, float, bool, str, type(None))


def tidy(block: Block) -> None:
    """Fold and sweep a function's block, and gather its constants at the top, each once."""
    fold(block)
    sweep(block)
    top: list[Node] = []
    _gather(block, top, {})
    for node in top:
        node.block = block
    block.nodes[:0] = top


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
