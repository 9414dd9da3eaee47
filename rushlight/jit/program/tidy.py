"""What is taken out of a program before it is written: values that nobody reads, constants that are there
already.
"""

from __future__ import annotations

from rushlight.jit.program.ir import Block, Node, Value
from rushlight.jit.program.schema import spell

_PURE = frozenset(
    (
        "prim::Constant",
        "prim::GetAttr",
        "prim::ListConstruct",
        "prim::TupleConstruct",
        "prim::TupleIndex",
        "prim::DictConstruct",
        "prim::Uninitialized",
        "prim::unchecked_cast",
        "prim::TupleUnpack",
        "aten::size",
        "aten::dim",
        "aten::__is__",
        "aten::__isnot__",
        "prim::dtype",
        "prim::device",
        "prim::NumToTensor",
    )
)
_PLAIN = (int, float, bool, str, type(None))


def tidy(
    block: Block, top: list[Node] | None = None, known: dict[tuple[type, str], Value] | None = None
) -> None:
    """Prune a function's block, and gather its constants at the top."""
    whole = top is None
    top, known = [] if top is None else top, {} if known is None else known
    if whole:
        prune(block)
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
            tidy(inner, top, known)
    if whole:
        block.nodes[:0] = top


def replace(old: Value, new: Value) -> None:
    """Let all who read one value read another."""
    for user, place in old.uses:
        user.inputs[place] = new
    new.uses += old.uses
    old.uses = []


def prune(block: Block, traced: bool = False, given: frozenset[Value] = frozenset()) -> None:
    """Take out what has no effect and no reader, the last first. `traced`: also ops that write to nothing.

    A trace holds ops whose results went to Python only (`if x.sum() > 0:`); a script's ops stay as written.
    `given`: what modules that ran gave, which stays.
    """
    for node in reversed(list(block.nodes)):
        if node.kind == "prim::If":
            _outputs(node)
        for inner in node.blocks:
            prune(inner, traced, given | frozenset(node.attrs.get("results", ())))
        free = node.kind in _PURE or (traced and _only_reads(node))
        if free and not any(v.uses or v in given for v in node.outputs):
            block.nodes.remove(node)
            for value in set(node.inputs):
                value.uses = [use for use in value.uses if use[0] is not node]


def _only_reads(node: Node) -> bool:
    """Whether it is an op of PyTorch's own that writes to none of its arguments."""
    kind, overload = node.kind, node.schema.overload if node.schema is not None else ""
    return kind.startswith("aten::") and not kind.endswith("_") and "out" not in overload.split("_")


def _outputs(node: Node) -> None:
    """Take out the results of an if that nobody reads."""
    keep = [i for i, v in enumerate(node.outputs) if v.uses]
    if len(keep) == len(node.outputs):
        return
    node.outputs = [node.outputs[i] for i in keep]
    for block in node.blocks:
        kept = [block.ending.inputs[i] for i in keep]
        for value in set(block.ending.inputs):
            value.uses = [use for use in value.uses if use[0] is not block.ending]
        block.ending.inputs = []
        block.finish(kept)
