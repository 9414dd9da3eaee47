"""What a traced program's values are called, and what is known of the tuples in it."""

from __future__ import annotations

import sys
from typing import Any

from rushlight.jit.program.ir import Block, Example, Value, walk


def name_of(found: Any, package: str) -> str:
    """The variable that holds an object where the program is that calls an op now; "" where there is none."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((package, "<")):
        frame = frame.f_back
    for name, value in frame.f_locals.items():
        if value is found:
            return "" if name == "self" or not name.isidentifier() else name
    return ""


def know_tuples(block: Block) -> None:
    """Note what the tensors in a traced program's tuples were."""
    for node in walk(block):
        if node.kind == "prim::TupleConstruct":
            _know(node.output, node.inputs)
        elif node.kind == "prim::TupleUnpack":
            _know(node.inputs[0], node.outputs)


def _know(whole: Value, parts: list[Value]) -> None:
    if whole.type.cls is None and len(parts) == len(whole.type.args) and parts:
        whole.example = Example(parts=tuple(v.example for v in parts))
