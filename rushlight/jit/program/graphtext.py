"""A program as PyTorch prints graphs: %3 : Tensor = aten::add(%1, %2, %4) # file:line:column."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import rushlight as torch
from rushlight.jit.program.ir import Block, Function, Names, Node, Value
from rushlight.jit.program.schema import spell
from rushlight.jit.program.types import Type, qualified

# PyTorch's names of dtypes, where graphs tell a traced tensor's.
SCALARS = {
    torch.float32: "Float",
    torch.float64: "Double",
    torch.float16: "Half",
    torch.bfloat16: "BFloat16",
    torch.int64: "Long",
    torch.int32: "Int",
    torch.int16: "Short",
    torch.int8: "Char",
    torch.uint8: "Byte",
    torch.bool: "Bool",
    torch.complex64: "ComplexFloat",
    torch.complex128: "ComplexDouble",
}


class GraphWriter:
    """Writes one graph."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.spelled: dict[Value, str] = {}
        self.counts: dict[str, int] = {}
        self.number = 0
        self.forked: list[Function] = []

    def name(self, value: Value) -> str:
        """A new name for a value."""
        if value.hint == "self":
            self.spelled[value] = "%self"
        elif self.alone(value):
            self.spelled[value] = f"%{value.hint}"
        elif value.hint:
            count = self.counts[value.hint] = self.counts.get(value.hint, 0) + 1
            self.spelled[value] = f"%{value.hint}.{count}"
        else:
            self.number += 1
            self.spelled[value] = f"%{self.number}"
        return f"{self.spelled[value]} : {type_text(value)}"

    def alone(self, value: Value) -> bool:
        """Whether a name has no number: of a constant that was an attribute, an unused argument."""
        if value.hint.startswith("self."):
            return f"%{value.hint}" not in self.spelled.values()
        param = value.node is not None and value.node.kind == "prim::Param"
        return bool(value.hint) and param and not value.uses

    def write(self, function: Function) -> str:
        """The whole text."""
        params = (",\n" + " " * 6).join(map(self.name, function.block.params))
        self.block(function.block, 1)
        results = ", ".join(self.spelled[v] for v in function.block.ending.inputs)
        text = "\n".join([f"graph({params}):", *self.lines, f"  return ({results})"]) + "\n"
        for i, other in enumerate(self.forked):
            text += f"with prim::fork_{i} = {GraphWriter().write(other)}"
        return text

    def block(self, block: Block, depth: int) -> None:
        """The nodes of a block."""
        for node in block.nodes:
            self.node(node, depth)

    def node(self, node: Node, depth: int) -> None:
        """One node and its blocks."""
        pad, inputs = "  " * depth, [self.spelled[v] for v in node.inputs]
        if node.kind == "prim::CallFunction":
            self.number += 1
            self.lines.append(
                f'{pad}%{self.number} : Function = prim::Constant[name="{node.attrs["function"].name}"]()'
            )
            inputs.insert(0, f"%{self.number}")
        outputs = ", ".join(map(self.name, node.outputs))
        place, head = f" # {node.place}" if node.place else "", _head(node)
        if node.kind == "prim::fork":
            head = f"prim::fork_{len(self.forked)}"
            self.forked.append(node.attrs["function"])
        self.lines.append(f"{pad}{outputs} = {head}({', '.join(inputs)}){place}")
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
    if isinstance(value, Enum):
        return f"[value={qualified(type(value))}.{value.name}]"
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, Enum) for v in value):
        return f"[value=[{', '.join(f'{qualified(type(v))}.{v.name}' for v in value)}]]"
    if isinstance(value, torch.Tensor) and value.numel() == 1 and value.layout is torch.strided:
        return f"[value={{{value.item()}}}]"
    shown = str(value) if isinstance(value, torch.device) else value
    if isinstance(value, (list, tuple)) and not any(isinstance(v, torch.Tensor) for v in value):
        return f"[value={spell(value)}]"
    return f"[value={spell(shown) if isinstance(shown, (int, float, str, complex)) else '<Tensor>'}]"


def python_call(node: Node) -> str:
    """A call of a Python function, as graphs and code write it: its name, and what is constant."""
    called = node.attrs["python"]
    name = getattr(called, "__name__", None)
    return f"^{'<python_value>' if name is None else name}({', '.join(map(str, constants_of(called)))})"


def constants_of(called: Any) -> list[Any]:
    """The arguments of a Python function that are no values of the program."""
    return list(getattr(called, "constants", ()))


def _head(node: Node) -> str:
    """What stands before a node's arguments."""
    return python_call(node) if node.kind == "prim::PythonOp" else f"{node.kind}{_attributes(node)}"


def _attributes(node: Node) -> str:
    if node.kind == "prim::Constant":
        return _constant(node)
    if node.kind == "prim::isinstance":
        return f"[types=[{', '.join(t.short() for t in node.attrs['types'])}]]"
    named = node.kind in ("prim::GetAttr", "prim::SetAttr", "prim::CallMethod")
    return f'[name="{node.attrs["name"]}"]' if named else ""


def shown(t: Type) -> str:
    """A type as graphs write it: as signatures do, but for futures and named tuples."""
    parts = [shown(part) for part in t.args]
    if t.kind in ("Future", "Await"):
        return f"{t.kind}[{', '.join(parts)}]"
    if t.kind == "Tuple" and t.cls is not None:
        defaults = getattr(t.cls, "_field_defaults", {})
        fields = [
            f"{name} : {part}" + (f" = {_default(defaults[name])}" if name in defaults else "")
            for name, part in zip(t.cls._fields, parts, strict=True)
        ]
        return f"NamedTuple({', '.join(fields)})"
    if t.kind in ("List", "Optional") and t.args[0].kind not in ("Union",):
        return parts[0] + ("[]" if t.kind == "List" else "?")
    if t.kind == "Tuple" and t.args:
        return f"({', '.join(parts)})"
    return t.short()


def _default(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_default(k)}: {_default(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_default, value))}]"
    return str(value)


def type_text(value: Value) -> str:
    """A value's type as graphs write it; of a traced tensor also what it was."""
    known = value.example
    if known is None or known.dtype not in SCALARS:
        return shown(value.type)
    sizes = [str(n) for n in known.sizes]
    strides = [f"strides=[{', '.join(map(str, known.strides))}]"] if sizes else []
    rest = [*sizes, *strides, f"requires_grad={int(known.requires_grad)}", f"device={known.device}"]
    return f"{SCALARS[known.dtype]}({', '.join(rest)})"


def node_text(node: Node, name: Callable[[Value], str]) -> str:
    """One node's line; `name` says what values are called."""
    outputs = ", ".join(f"{name(v)} : {type_text(v)}" for v in node.outputs)
    place = f" # {node.place}" if node.place else ""
    inputs = ", ".join(map(name, node.inputs))
    return f"{outputs}{' = ' if outputs else ''}{_head(node)}({inputs}){place}\n"


__all__ = ["GraphWriter", "Names", "node_text", "type_text"]
