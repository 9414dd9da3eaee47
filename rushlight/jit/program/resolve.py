"""Which signature a node that nobody compiled means: one that a pass or a text of a graph made."""

from __future__ import annotations

from rushlight.jit.program import schema as schemas
from rushlight.jit.program.ir import Node
from rushlight.jit.program.types import Type

# Nodes that have a signature but whose meaning is the node's own.
_OWN = frozenset(
    f"prim::{name}"
    for name in (
        "Constant ListConstruct TupleConstruct DictConstruct TupleUnpack ListUnpack TupleIndex If Loop "
        "Return Param GetAttr SetAttr CallMethod CallFunction PythonOp unchecked_cast isinstance "
        "Uninitialized"
    ).split()
)


def resolve(node: Node) -> None:
    """Give a node the signature that its kind and its inputs' types say, if there is one."""
    if node.schema is not None or node.kind in _OWN:
        return
    for found in schemas.named(node.kind):
        bound: dict[object, Type] = {}
        needed = found.parameters
        if len(needed) == len(node.inputs) and all(
            schemas.bind(p.type, v.type, bound) is not None for p, v in zip(needed, node.inputs, strict=True)
        ):
            node.schema = found
            return


def result_types(node: Node) -> list[Type]:
    """The types of what a node with a signature gives."""
    bound: dict[object, Type] = {}
    for p, v in zip(node.schema.parameters, node.inputs, strict=False):
        schemas.bind(p.type, v.type, bound)
    return [schemas.fill(t, bound) for t in node.schema.returns]
