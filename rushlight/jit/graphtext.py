"""A program as PyTorch prints graphs: %3 : Tensor = aten::add(%1, %2, %4) # file:line:column."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.jit.ir import Block, Function, Names, Node, Value
from rushlight.jit.schema import spell


class GraphWriter:
    """Writes one graph; with `inlined`, what is called is written in the place of the call."""

    def __init__(self, inlined: bool) -> None:
        self.inlined = inlined
        self.lines: list[str] = []
        self.spelled: dict[Value, str] = {}
        self.counts: dict[str, int] = {}
        self.number = 0

    def name(self, value: Value) -> str:
        """A new name for a value."""
        if value.hint == "self":
            self.spelled[value] = "%self"
        elif value.hint:
            count = self.counts[value.hint] = self.counts.get(value.hint, 0) + 1
            self.spelled[value] = f"%{value.hint}.{count}"
        else:
            self.number += 1
            self.spelled[value] = f"%{self.number}"
        return f"{self.spelled[value]} : {value.type.short()}"

    def write(self, function: Function) -> str:
        """The whole text."""
        params = (",\n" + " " * 6).join(map(self.name, function.block.params))
        self.block(function.block, 1)
        results = ", ".join(self.spelled[v] for v in function.block.ending.inputs)
        return "\n".join([f"graph({params}):", *self.lines, f"  return ({results})"]) + "\n"

    def block(self, block: Block, depth: int) -> None:
        """The nodes of a block."""
        for node in block.nodes:
            callee = node.attrs.get("function")
            if self.inlined and callee is not None and node.kind != "prim::fork":
                self.spelled.update(
                    zip(callee.block.params, (self.spelled[v] for v in node.inputs), strict=True)
                )
                self.block(callee.block, depth)
                self.spelled[node.output] = self.spelled[callee.block.ending.inputs[0]]
            else:
                self.node(node, depth)

    def node(self, node: Node, depth: int) -> None:
        """One node and its blocks."""
        pad, inputs = "  " * depth, [self.spelled[v] for v in node.inputs]
        attrs = ""
        if node.kind == "prim::Constant":
            attrs = _constant(node)
        elif node.kind in ("prim::GetAttr", "prim::SetAttr", "prim::CallMethod"):
            attrs = f'[name="{node.attrs["name"]}"]'
        elif node.kind == "prim::CallFunction":
            self.number += 1
            self.lines.append(
                f'{pad}%{self.number} : Function = prim::Constant[name="{node.attrs["function"].name}"]()'
            )
            inputs.insert(0, f"%{self.number}")
        outputs = ", ".join(map(self.name, node.outputs))
        place = f" # {node.place}" if node.place else ""
        self.lines.append(f"{pad}{outputs} = {node.kind}{attrs}({', '.join(inputs)}){place}")
        for i, block in enumerate(node.blocks):
            self.lines.append(f"{pad}  block{i}({', '.join(map(self.name, block.params))}):")
            self.block(block, depth + 2)
            self.lines.append(f"{pad}    -> ({', '.join(self.spelled[v] for v in block.ending.inputs)})")


def _constant(node: Node) -> str:
    value: Any = node.attrs["value"]
    if value is None:
        return ""
    if isinstance(value, Function):
        return f'[name="{value.name}"]'
    if isinstance(value, bool):
        return f"[value={int(value)}]"
    shown = str(value) if isinstance(value, torch.device) else value
    return f"[value={spell(shown) if isinstance(shown, (int, float, str, complex)) else '<Tensor>'}]"


def graph_text(function: Function, inlined: bool = False) -> str:
    """The text of a graph."""
    return GraphWriter(inlined).write(function)


__all__ = ["Names", "graph_text"]
