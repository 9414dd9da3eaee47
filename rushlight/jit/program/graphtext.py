"""A program as PyTorch prints graphs: %3 : Tensor = aten::add(%1, %2, %4) # file:line:column."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import rushlight as torch
from rushlight.jit.program.ir import Block, Example, Function, Names, Node, Value, walk
from rushlight.jit.program.managers import SAVED
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
        self.last: dict[str, Value] = {}  # of each name what the last if or loop that gives it gives
        self.said: set[str] = set()  # names that values were given
        self.taken: set[str] = set()  # names that are in the text

    def name(self, value: Value) -> str:
        """A new name for a value."""
        if value.name and value.name not in self.taken:
            self.spelled[value] = f"%{value.name}"
        elif value.hint == "self":
            self.spelled[value] = "%self"
        elif self.alone(value):
            self.spelled[value] = f"%{value.hint}"
        elif value.hint:
            self.spelled[value] = f"%{self.counted(value.hint)}"
        else:
            self.spelled[value] = f"%{self.numbered()}"
        self.taken.add(self.spelled[value][1:])
        return f"{self.spelled[value]} : {type_text(value)}"

    def numbered(self) -> int:
        """The next number that is no value's name."""
        self.number += 1
        while str(self.number) in self.said:
            self.number += 1
        return self.number

    def counted(self, hint: str) -> str:
        """A name with a number behind it."""
        self.counts[hint] = self.counts.get(hint, 0) + 1
        name = f"{hint}.{self.counts[hint]}"
        return self.counted(hint) if name in self.said else name

    def alone(self, value: Value) -> bool:
        """Whether a name has no number: of a constant that was an attribute, an unused argument, what the
        last if or loop of that name gives.
        """
        if self.last.get(value.hint) is value or value.hint.startswith("self."):
            return value.hint not in self.taken
        param = value.node is not None and value.node.kind == "prim::Param"
        return bool(value.hint) and param and not value.uses

    def write(self, function: Function) -> str:
        """The whole text."""
        self.said = {v.name for v in function.block.params}
        self.said |= {v.name for node in walk(function.block) for v in _values_of(node)}
        self.last = _last_given(function.block)
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
        if node.kind == "prim::With":
            self.within(node, inputs, depth)
            return
        if node.kind == "prim::CallFunction":
            self.numbered()
            self.lines.append(
                f'{pad}%{self.number} : Function = prim::Constant[name="{node.attrs["function"].name}"]()'
            )
            inputs.insert(0, f"%{self.number}")
        going = self.loop(node, inputs, pad) if node.kind == "prim::Loop" else []
        outputs = ", ".join(map(self.name, node.outputs))
        place, head = f" # {node.place}" if node.place else "", _head(node)
        if node.kind == "prim::fork":
            head = f"prim::fork_{len(self.forked)}"
            self.forked.append(node.attrs["function"])
        self.lines.append(f"{pad}{outputs} = {head}({', '.join(inputs)}){place}")
        for i, block in enumerate(node.blocks):
            params = list(map(self.name, block.params))
            if node.kind == "prim::Loop" and node.attrs.get("while"):
                params.insert(0, f"%{self.numbered()} : int")
            self.lines.append(f"{pad}  block{i}({', '.join(params)}):")
            self.block(block, depth + 2)
            results = [*going, *(self.spelled[v] for v in block.ending.inputs)]
            self.lines.append(f"{pad}    -> ({', '.join(results)})")

    def within(self, node: Node, inputs: list[str], depth: int) -> None:
        """`with`: its nodes stand between prim::Enter and prim::Exit of an object, which is made before."""
        pad, place = "  " * depth, f" # {node.place}" if node.place else ""
        held = inputs[0] if inputs else ""
        if "manager" in node.attrs:
            path = SAVED[node.attrs["manager"]][0] if node.attrs["manager"] in SAVED else node.attrs["named"]
            held = f"%{self.numbered()}"
            self.lines.append(f"{pad}{held} : {path} = prim::CreateObject(){place}")
            given = f'prim::CallMethod[name="__init__"]({", ".join([held, *inputs])}){place}'
            self.lines.append(f"{pad}%{self.numbered()} : NoneType = {given}")
        names = [self.name(v) for v in node.outputs] or [f"%{self.numbered()} : NoneType"]
        self.lines.append(f"{pad}{names[0]} = prim::Enter({held}){place}")
        self.block(node.blocks[0], depth)
        self.lines.append(f"{pad}%{self.numbered()} : NoneType = prim::Exit({held}){place}")

    def loop(self, node: Node, inputs: list[str], pad: str) -> list[str]:
        """In the text a loop counts and asks a condition: write the constant that one of them is; the
        condition of its next round where it only counts.
        """
        number = f"%{self.numbered()}"
        if node.attrs.get("while"):
            self.lines.append(f"{pad}{number} : int = prim::Constant[value={_FOREVER}]()")
            inputs.insert(0, number)
            return []
        self.lines.append(f"{pad}{number} : bool = prim::Constant[value=1]()")
        inputs.insert(1, number)
        return [number]


_FOREVER = 2**63 - 1  # rounds of a loop that asks a condition


def _last_given(block: Block) -> dict[str, Value]:
    """What ifs and loops give, those in others first; of each name the last."""
    found: dict[str, Value] = {}
    for node in block.nodes:
        for inner in node.blocks:
            found |= _last_given(inner)
        if node.kind in ("prim::If", "prim::Loop"):
            found |= {v.hint: v for v in node.outputs if v.hint}
    return found


def _values_of(node: Node) -> list[Value]:
    """What a node gives, and what its blocks take."""
    return [*node.outputs, *(v for inner in node.blocks for v in inner.params)]


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
    given = node.attrs.get("given")
    if given:
        parts = (f"{name}={_given(value)}" for name, (_, value) in sorted(given.items()))
        return f"[{', '.join(parts)}]"
    if node.kind == "prim::Constant":
        return _constant(node)
    if node.kind == "prim::isinstance":
        return f"[types=[{', '.join(t.short() for t in node.attrs['types'])}]]"
    named = node.kind in ("prim::GetAttr", "prim::SetAttr", "prim::CallMethod")
    return f'[name="{node.attrs["name"]}"]' if named else ""


def _given(value: Any) -> str:
    """The value of an attribute."""
    if isinstance(value, torch.Tensor):
        return f"{{{value.item()}}}" if value.numel() == 1 else "<Tensor>"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_given, value))}]"
    return spell(value) if isinstance(value, (int, float, str, complex)) else "<Graph>"


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
    """A value's type as graphs write it; of a tensor also what is known of it."""
    return _known_text(value.type, value.example)


def _known_text(t: Type, known: Example | None) -> str:
    if known is not None and known.parts and t.kind == "Tuple":
        return f"({', '.join(map(_known_text, t.args, known.parts))})"
    return shown(t) if known is None or t.kind != "Tensor" else tensor_text(known)


def tensor_text(known: Example) -> str:
    """What is known of a tensor: Float(2, *, strides=[3, 1], requires_grad=0, device=cpu)."""
    if known.dtype is not None and known.dtype not in SCALARS:
        return "Tensor"
    name = SCALARS.get(known.dtype, "Tensor")
    if known.dtype is not None and known.sizes is None:
        name += "Tensor"
    parts = ["*" if n < 0 else str(n) for n in known.sizes or ()]
    if parts and known.strides is not None:
        parts.append(f"strides=[{', '.join(map(str, known.strides))}]")
    if known.requires_grad is not None:
        parts.append(f"requires_grad={int(known.requires_grad)}")
    if known.device is not None:
        parts.append(f"device={known.device}")
    return name if known.sizes is None and not parts else f"{name}({', '.join(parts)})"


def node_text(node: Node, name: Callable[[Value], str]) -> str:
    """One node's line; `name` says what values are called."""
    outputs = ", ".join(f"{name(v)} : {type_text(v)}" for v in node.outputs)
    place = f" # {node.place}" if node.place else ""
    inputs = ", ".join(map(name, node.inputs))
    return f"{outputs}{' = ' if outputs else ''}{_head(node)}({inputs}){place}\n"


__all__ = ["GraphWriter", "Names", "node_text", "tensor_text", "type_text"]
