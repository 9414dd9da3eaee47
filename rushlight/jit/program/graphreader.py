"""The text of a graph back into a graph: torch._C.parse_ir."""

from __future__ import annotations

import ast
import re
from typing import Any

import rushlight as torch
from rushlight.jit.program.folding import constant_of, is_constant
from rushlight.jit.program.graphs import Graph
from rushlight.jit.program.graphtext import SCALARS
from rushlight.jit.program.graphtypes import new_symbol
from rushlight.jit.program.ir import Block, Example, Function, Node, Value, read, unread
from rushlight.jit.program.resolve import resolve, result_types
from rushlight.jit.program.schema import _type as type_of_schema
from rushlight.jit.program.types import STR, TENSOR, Type, of_value

_TOKEN = re.compile(r"\s*(?:#[^\n]*\n\s*)*([%\w.:^$/]+|->|\"(?:[^\"\\]|\\.)*\"|-?\d[\w.+-]*|.)", re.DOTALL)
_DTYPES = {name: dtype for dtype, name in SCALARS.items()}
_NAMED = re.compile(rf"({'|'.join(_DTYPES)}|Tensor)(Tensor)?(?:\((.*)\))?", re.DOTALL)


class _Reader:
    """Reads one text from left to right."""

    def __init__(self, text: str, tensors: bool) -> None:
        self.text, self.at, self.tensors = text, 0, tensors
        self.values: dict[str, Value] = {}

    def peek(self) -> str:
        """The next word."""
        found = _TOKEN.match(self.text, self.at)
        return found[1] if found else ""

    def take(self, wanted: str | None = None) -> str:
        """The next word, which is passed; RuntimeError where it is another one than this."""
        found = _TOKEN.match(self.text, self.at)
        word = found[1] if found else ""
        if (wanted is not None and word != wanted) or not found:
            line = self.text.count("\n", 0, self.at) + 1
            raise RuntimeError(f"expected {wanted!r} but found {word!r} in line {line} of the graph")
        self.at = found.end()
        return word

    def until(self, ends: str) -> str:
        """The text up to the first of these signs that stands in no brackets."""
        begin, depth = self.at, 0
        while self.at < len(self.text):
            sign = self.text[self.at]
            if depth == 0 and sign in ends:
                break
            depth += (sign in "([{<") - (sign in ")]}>")
            if sign == '"':
                self.at = _TOKEN.match(self.text, self.at).end() - 1  # type: ignore[union-attr]
            self.at += 1
        return self.text[begin : self.at].strip()

    # --- values and types -----------------------------------------------------------------------

    def value(self, made: Value, ends: str) -> None:
        """%name, or %name : Type, of what a node gives."""
        name = self.take()
        self.values[name] = made
        made.name = name[1:]
        if self.peek() == ":":
            self.take(":")
            said = self.until(ends)
            made.type, made.example = type_of(said)

    def names(self) -> list[Value]:
        """(%a, %b)"""
        found = []
        self.take("(")
        while self.peek() != ")":
            name = self.take()
            if name not in self.values:
                raise RuntimeError(f"Cannot find a variable with name '{name[1:]}'")
            found.append(self.values[name])
            if self.peek() == ",":
                self.take()
        self.take(")")
        return found

    def params(self, block: Block) -> None:
        """(%a : Type, %b)"""
        self.take("(")
        while self.peek() != ")":
            self.value(block.param(TENSOR), ",)")
            if self.peek() == ",":
                self.take()
        self.take(")")

    # --- nodes ----------------------------------------------------------------------------------

    def nodes(self, block: Block) -> None:
        """The nodes of a block, up to what it gives."""
        while self.peek() not in ("return", "->"):
            self.node(block)
        self.take()
        block.finish(self.names())

    def node(self, block: Block) -> None:
        """%a : Type, %b : Type = kind[attributes](%inputs), and its blocks."""
        node = Node("", [], block=block)
        while self.peek().startswith("%"):
            node.outputs.append(Value(TENSOR, node))
            self.value(node.outputs[-1], ",=")
            if self.peek() == ",":
                self.take()
        if self.peek() == "=":
            self.take()
        node.kind = self.take()
        if self.peek() == "[":
            self.attributes(node)
        for value in self.names():
            read(node, value)
        block.nodes.append(node)
        while self.peek().startswith("block"):
            self.take()
            inner = Block()
            node.blocks.append(inner)
            self.params(inner)
            self.take(":")
            self.nodes(inner)
        self.finish(node)

    def finish(self, node: Node) -> None:
        """What follows from a node's kind: of a loop, how it counts; of an op, its signature."""
        if node.kind == "prim::Loop":
            node.attrs["while"] = False
            _as_ours(node)
        if node.kind == "prim::Constant" and "value" not in node.attrs:
            node.attrs["value"] = None
        resolve(node)
        if node.schema is not None:
            for value, kind in zip(node.outputs, result_types(node), strict=False):
                value.type = kind if value.type == TENSOR and value.example is None else value.type

    def attributes(self, node: Node) -> None:
        """[name=value, ...]"""
        self.take("[")
        while self.peek() != "]":
            name = self.take()
            self.take("=")
            said = self.until(",]")
            value = self.attribute(said, node, name)
            if node.kind == "prim::Constant" and name == "value":
                node.attrs["value"] = value
            elif node.kind in ("prim::GetAttr", "prim::SetAttr", "prim::CallMethod"):
                node.attrs["name"] = value
            else:
                node.attrs.setdefault("given", {})[name] = (_letter(value), value)
            if self.peek() == ",":
                self.take()
        self.take("]")

    def attribute(self, said: str, node: Node, name: str) -> Any:
        """The value of an attribute."""
        out = node.outputs[0] if node.outputs else None
        if said == "<Tensor>":
            if not self.tensors or out is None or out.example is None or not out.example.complete:
                raise RuntimeError("Tensor constant encountered but `parse_tensor_constants` set to false")
            known = out.example
            sizes, strides = known.sizes or (), known.strides or ()
            return torch.empty_strided(sizes, strides, dtype=known.dtype, device=known.device)
        if said.startswith("{"):
            dtype = out.example.dtype if out is not None and out.example is not None else None
            sizes = (out.example.sizes or ()) if out is not None and out.example is not None else ()
            return torch.tensor(ast.literal_eval(said[1:-1].strip()), dtype=dtype).reshape(sizes)
        annotated = re.fullmatch(r"annotate\(.*, (\[.*\])\)", said, re.DOTALL)
        found = ast.literal_eval(annotated[1] if annotated else said)
        if out is None or name != "value" or node.kind != "prim::Constant":
            return found
        if out.type.kind == "bool":
            return bool(found)
        if out.type.kind == "Device":
            return torch.device(found)
        if out.type == TENSOR and out.example is None and not isinstance(found, (list, tuple)):
            out.type = of_value(found)
        return float(found) if out.type.kind == "float" else found


def _as_ours(node: Node) -> None:
    """A loop as ir.py has it: it counts, or it asks a condition; in a graph's text it does both."""
    (inner,) = node.blocks
    if all(map(_always, (node.inputs[1], inner.ending.inputs[0]))):
        unread(node, 1)
        unread(inner.ending, 0)
    elif is_constant(node.inputs[0]) and not inner.params[0].uses:
        node.attrs["while"] = True
        unread(node, 0)
        del inner.params[0]
    else:
        raise RuntimeError("a loop that counts and asks a condition is not supported")


def _always(value: Value) -> bool:
    return is_constant(value) and bool(constant_of(value))


def _letter(value: Any) -> str:
    kinds = ((bool, "i"), (int, "i"), (float, "f"), (str, "s"), (complex, "c"))
    for cls, letter in kinds:
        if isinstance(value, cls):
            return letter
        if isinstance(value, list) and value and isinstance(value[0], cls):
            return letter + "s"
    return "t" if isinstance(value, torch.Tensor) else "ival"


def type_of(said: str) -> tuple[Type, Example | None]:
    """The type of a text, and what it says of a tensor."""
    found = _NAMED.fullmatch(said)
    if found is not None:
        return TENSOR, _example(found[1], found[3])
    named = {"str": STR, "Tuple()": Type("Tuple"), "None": Type("NoneType")}
    if said in named:
        return named[said], None
    for name in ("Dict", "Future", "Await"):
        if said.startswith(f"{name}(") and said.endswith(")"):
            parts = _parts(said[len(name) + 1 : -1])
            return Type(name, tuple(type_of(part)[0] for part in parts)), None
    if said.startswith("Future[") and said.endswith("]"):
        return Type("Future", (type_of(said[7:-1])[0],)), None
    for end, kind in (("[]", "List"), ("?", "Optional")):
        if said.endswith(end):
            return Type(kind, (type_of(said[: -len(end)])[0],)), None
    if said.startswith("(") and said.endswith(")"):
        return Type("Tuple", tuple(type_of(part)[0] for part in _parts(said[1:-1]))), None
    return type_of_schema(said), None


def _parts(text: str) -> list[str]:
    """The parts of a list in brackets."""
    reader, found = _Reader(text, False), []
    while reader.at < len(text):
        found.append(reader.until(","))
        reader.at += 1
    return found


def _example(name: str, inside: str | None) -> Example | None:
    """Float(2, *, strides=[3, 1], requires_grad=0, device=cpu)"""
    dtype = _DTYPES.get(name)
    if inside is None:
        return None if dtype is None else Example(dtype)
    sizes: list[int] = []
    known: dict[str, Any] = {}
    for part in _parts(inside):
        key, equals, value = part.partition("=")
        if equals:
            known[key] = value
        elif part:
            symbol = re.fullmatch(r"SS\((-\d+)\)", part)
            sizes.append(int(symbol[1]) if symbol else new_symbol() if part == "*" else int(part))
    strides = ast.literal_eval(known["strides"]) if "strides" in known else None
    device = torch.device(known["device"]) if "device" in known else None
    grad = bool(int(known["requires_grad"])) if "requires_grad" in known else None
    return Example(dtype, tuple(sizes), strides and tuple(strides), device, grad)


def parse_ir(text: str, parse_tensor_constants: bool = False) -> Graph:
    """The graph that a text describes; RuntimeError where it describes none."""
    reader = _Reader(text, parse_tensor_constants)
    reader.take("graph")
    made = Function("__torch__.graph", [], None)
    reader.params(made.block)
    reader.take(":")
    reader.nodes(made.block)
    return Graph(made)
