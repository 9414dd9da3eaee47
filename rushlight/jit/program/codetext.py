"""A program as TorchScript code, the language of `.code` and of the archive."""

from __future__ import annotations

import keyword
from collections.abc import Callable
from enum import Enum
from typing import Any

import rushlight as torch
from rushlight.jit.program.graphtext import python_call
from rushlight.jit.program.ir import Function, Node, Value
from rushlight.jit.program.managers import SAVED
from rushlight.jit.program.runtime import code
from rushlight.jit.program.schema import REQUIRED, Parameter, spell
from rushlight.jit.program.types import NONE, TENSOR, Type
from rushlight.jit.program.writing import Writer

_PLAIN = (int, float, bool, str, complex, type(None))


def _literal(value: Any, t: Type, tensor: Callable[[Any], str]) -> str | None:
    """A list or dict of numbers and text as code that says its type, a tuple by its parts; None for anything
    else. tensor: gives the text of parts that have no spelling.
    """
    if t.kind == "Tuple" and t.cls is None and isinstance(value, tuple) and len(value) == len(t.args):
        return _tuple(value, t, tensor)
    if t.kind not in ("List", "Dict") or not isinstance(value, (list, dict)):
        return None
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    if any(isinstance(part, (torch.Tensor, Enum)) for part in parts) or not t.args:
        return None

    def part_text(part: Any) -> str:
        return spell(part) if isinstance(part, _PLAIN) else _literal(part, t.args[-1], tensor) or tensor(part)

    if isinstance(value, dict):
        inside = ", ".join(f"{part_text(k)}: {part_text(v)}" for k, v in value.items())
        return f"annotate({t}, {{{inside}}})"
    return f"annotate({t}, [{', '.join(map(part_text, value))}])"


def _tuple(value: tuple[Any, ...], t: Type, tensor: Callable[[Any], str]) -> str | None:
    """A tuple by its parts; None for an empty one."""
    texts = [
        spell(v) if isinstance(v, _PLAIN) else _literal(v, a, tensor) or tensor(v)
        for v, a in zip(value, t.args, strict=True)
    ]
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})" if texts else None


class CodeWriter(Writer):
    """Writes code; `tensor(value)` gives the text of a constant tensor."""

    reserved = (
        *keyword.kwlist,
        "int",
        "float",
        "bool",
        "str",
        "print",
        "range",
        "len",
        "getattr",
        "isinstance",
        "torch",
        "ops",
        "self",
        "CONSTANTS",
        "inf",
        "nan",
        "infj",
        "nanj",
        "annotate",
        "uninitialized",
        "unchecked_cast",
        "fork",
        "awaitable",
        "awaitable_wait",
        "awaitable_nowait",
        "device",
    )

    def __init__(self, function: Function, tensor: Callable[[Any], str] | None = None) -> None:
        super().__init__(function)
        self.tensor = tensor or self.numbered
        self.constants: list[Any] = []  # those that have no spelling
        if function.owner is not None and function.block.params:
            self.spelled[function.block.params[0]] = "self"

    def numbered(self, value: Any) -> str:
        """The name of a constant that has no spelling."""
        if not any(known is value for known in self.constants):
            self.constants.append(value)
        return f"CONSTANTS.c{next(i for i, known in enumerate(self.constants) if known is value)}"

    def name(self, value: Any) -> str:
        """The name of a value; `self` stays."""
        return "self" if self.spelled.get(value) == "self" else super().name(value)

    def constant(self, node: Node) -> str:
        """A constant's text: a literal, an enum's or function's name, or a constant of the archive."""
        value = node.attrs["value"]
        if isinstance(value, Function):
            return value.qualname
        if isinstance(value, Enum):
            return f"{node.output.type}.{value.name}"
        if isinstance(value, _PLAIN):
            return spell(value)
        if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
            return str(code(value))
        literal = _literal(value, node.output.type, self.tensor)
        if literal is not None:
            return literal
        return f'torch.device("{value}")' if node.output.type.kind == "Device" else self.tensor(value)

    def do_With(self, node: Node) -> None:
        """with, around a block: torch's own managers are objects of classes that the file has."""
        manager = node.attrs.get("manager")
        if manager not in SAVED:
            super().do_With(node)
            return
        path, _, count = SAVED[manager]
        held, done = self.names.new("_"), self.names.new("_")
        args = list(map(self.ref, node.inputs))
        args += ["None"] * (count - len(args))
        self.line(f"{held} = {path}.__new__({path})")
        self.line(f"{done} = ({held}).__init__({''.join(f'{a}, ' for a in args)})")
        self.line(f"with {held}:")
        self.inner(node.blocks[0])

    def op(self, node: Node) -> str:
        """An op as PyTorch writes it: `torch.add(a, b, alpha=1)`, others as `ops.space.name(...)`."""
        space, name = node.kind.split("::")
        shown, schema = [self.ref(v) for v in node.inputs], node.schema
        if schema is not None:
            formal = schema.parameters
            shown = [
                f"{formal[i].name}={text}" if i < len(formal) and formal[i].keyword_only else text
                for i, text in enumerate(shown)
            ]
            for i in range(min(len(shown), len(formal)) - 1, -1, -1):
                if _is_default(node.inputs[i], formal[i]):
                    if formal[i].keyword_only or i == len(shown) - 1:
                        shown.pop(i)
                elif not formal[i].keyword_only:
                    break
        if name == "__getitem__" and schema is not None:
            return f"{shown[0]}[{shown[1]}]"
        cast = {
            "aten::Bool": "bool",
            "aten::Int": "int",
            "aten::Float": "float",
            "aten::str": "str",
            "aten::IntImplicit": "int",
            "aten::FloatImplicit": "float",
        }.get(node.kind)
        if cast is not None:
            return f"{cast}({shown[0]})"
        if node.kind == "aten::ScalarImplicit":
            return f"torch.item({shown[0]})"
        home = "torch.autograd" if node.kind in ("aten::grad", "aten::backward") else "torch"
        return f"{home if space == 'aten' else f'ops.{space}'}.{name}({', '.join(shown)})"

    def handed(self, name: str, output: Value, given: Value) -> str:
        """`name : type`, where what is assigned does not say the type."""
        return name if output.type == given.type else f"{name} : {output.type}"

    def hand_on(self, names: list[str], values: list[str]) -> None:
        """names = values; with types one by one."""
        if any(" : " in name for name in names):
            for name, value in zip(names, values, strict=True):
                super().hand_on([name], [value])
        else:
            super().hand_on(names, values)

    def at_CallMethod(self, node: Node) -> str:
        """`(object).method(args)`."""
        return f"({self.ref(node.inputs[0])}).{node.attrs['name']}({self.args(node.inputs[1:])})"

    def at_CallFunction(self, node: Node) -> str:
        """`qualified.name(args)`."""
        return f"{node.attrs['function'].qualname}({self.args(node.inputs)})"

    def at_PythonOp(self, node: Node) -> str:
        """A call of a Python function."""
        return f"{python_call(node)}({', '.join(map(self.ref, node.inputs))})"

    def at_CreateObject(self, node: Node) -> str:
        """`Class.__new__(Class)`."""
        return f"{node.output.type}.__new__({node.output.type})"

    def at_ListConstruct(self, node: Node) -> str:
        """`[a, b]`, with its type where the elements do not say it."""
        text = super().at_ListConstruct(node)
        inner = node.output.type.args[0]
        exact = node.inputs and all(v.type == inner for v in node.inputs)
        plain = exact or (text == "[]" and str(inner) == "Tensor")
        return text if plain else f"annotate({node.output.type}, {text})"

    def at_DictConstruct(self, node: Node) -> str:
        """`{a: b}`, with its type where the values do not say it."""
        text = super().at_DictConstruct(node)
        exact = node.inputs and all(v.type == node.output.type.args[1] for v in node.inputs[1::2])
        return text if exact else f"annotate({node.output.type}, {text})"

    def at_TupleConstruct(self, node: Node) -> str:
        """`(a, b)`, or a named tuple's constructor."""
        t = node.output.type
        return f"{t}({', '.join(map(self.ref, node.inputs))})" if t.cls else super().at_TupleConstruct(node)

    def at_tolist(self, node: Node) -> str:
        """`annotate(type, tensor.tolist())`."""
        t = node.output.type
        return f"annotate({t}, {self.ref(node.inputs[0])}.tolist())"

    def at_unchecked_cast(self, node: Node) -> str:
        """`unchecked_cast(type, value)`, or annotate for what may be None."""
        source, t = node.inputs[0], node.output.type
        word = "annotate" if source.type == NONE or t.kind == "Optional" else "unchecked_cast"
        return f"{word}({t}, {self.ref(source)})"

    def at_Uninitialized(self, node: Node) -> str:
        """`uninitialized(type)`."""
        return f"uninitialized({node.output.type})"

    def at_isinstance(self, node: Node) -> str:
        """`isinstance(value, types)`."""
        kinds = node.attrs["types"]
        bare = [t.kind in ("List", "Tuple") and not t.args for t in kinds]  # any list, any tuple
        types = ", ".join(t.kind.lower() if any_of else str(t) for t, any_of in zip(kinds, bare, strict=True))
        types = types if len(kinds) == 1 else f"({types})"
        return f"isinstance({self.ref(node.inputs[0])}, {types})"

    def at_fork(self, node: Node) -> str:
        """`fork(function, args)`."""
        method = node.attrs.get("name")
        called = f"({self.ref(node.inputs[0])}).{method}" if method else node.attrs["function"].qualname
        return f"{node.kind[6:]}({', '.join([called, *map(self.ref, node.inputs[bool(method) :])])})"

    at_awaitable = at_fork

    def do_ModuleContainerIndex(self, node: Node) -> None:
        """A module by a key that is not known: what it is said to be decides how it is called."""
        container, index = map(self.ref, node.inputs)
        self.line(f"{self.name(node.output)} : {node.output.type} = ({container})[{index}]")

    def at_awaitable_wait(self, node: Node) -> str:
        """awaitable_wait(x), awaitable_nowait(x)."""
        return f"{node.kind[6:]}({self.ref(node.inputs[0])})"

    at_awaitable_nowait = at_awaitable_wait


def _is_default(value: Value, p: Parameter) -> bool:
    """Whether an argument is what a signature says anyway."""
    if p.default is REQUIRED or value.node is None:
        return False
    if value.node.kind == "prim::ListConstruct":
        inner = [
            v.node.attrs.get("value") if v.node and v.node.kind == "prim::Constant" else REQUIRED
            for v in value.node.inputs
        ]
        return bool(inner == p.default)
    known = value.node.attrs.get("value", REQUIRED) if value.node.kind == "prim::Constant" else REQUIRED
    return type(known) is type(p.default) and known == p.default


def function_text(function: Function, tensor: Callable[[Any], str] | None = None) -> str:
    """def name(...): ..., as `.code` shows it."""
    return "".join(f"{line}\n" for line in function_lines(function, tensor)[0])


def function_lines(
    function: Function, tensor: Callable[[Any], str] | None = None, indent: str = "", full: bool = False
) -> tuple[list[str], list[str]]:
    """The lines of a function, and where each comes from; full: with the type of self, as in an archive."""
    writer = CodeWriter(function, tensor)
    arguments = []
    for i, (name, t, default) in enumerate(function.arguments):
        value = function.block.params[i]
        spelled = writer.name(value)
        own = i == 0 and function.owner is not None
        shown = spelled if own and not full else f"{spelled}: {t}"
        if default is not REQUIRED:
            told = writer.tensor(default) if t == TENSOR else spell(_written(default, t))
            shown = f"{shown}={told}"
        arguments.append(shown)
        del name
    body = writer.body()
    head = f"def {function.name}({(',' + chr(10) + '    ').join(arguments)}) -> {function.returns}:\n"
    lines = [indent + line for line in (head + body).split("\n")[:-1]]
    return lines, [""] * (len(lines) - len(writer.places)) + writer.places


def declaration_text(function: Function) -> str:
    """A method of an interface, as an archive has it."""
    shown = ",\n      ".join(f"{name}: {t}" for name, t, _ in function.arguments)
    return f"  def {function.name}({shown}) -> {function.returns}:\n    pass"


def _written(default: Any, t: Type) -> Any:
    inner = t.args[0] if t.kind == "Optional" else t
    if inner.kind == "List" and isinstance(default, tuple):
        return list(default)
    if inner.kind == "int" and default is not None and not isinstance(default, int):
        return code(default)
    return float(default) if inner.kind == "float" and isinstance(default, int) else default


__all__ = ["CodeWriter", "declaration_text", "function_lines", "function_text"]
