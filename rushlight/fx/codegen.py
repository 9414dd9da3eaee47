"""The source text of a graph."""

from __future__ import annotations

import math
import re
import typing
from enum import Enum
from types import UnionType
from typing import TYPE_CHECKING, Any, NamedTuple, Union, get_args, get_origin

import rushlight as torch
from rushlight.fx import _pytree, conventions, names
from rushlight.fx.node import Node
from rushlight.fx.tensor_type import Dyn, TensorType
from rushlight.utils._dtype_abbrs import dtype_abbrs

if TYPE_CHECKING:  # it imports this file
    from rushlight.fx.graph import Graph


class PythonCode(NamedTuple):
    """A function's source text, and what its names mean."""

    src: str
    globals: dict[str, Any]


class _Text(str):
    """Text that stands for itself where a container is shown."""

    def __repr__(self) -> str:
        return str(self)


class _Writer:
    """Writes a graph's nodes as statements."""

    def __init__(self, graph: Graph, root: str, verbose: bool) -> None:
        self.graph, self.root, self.verbose = graph, root, verbose
        self.space = names.Namespace()
        self.globals: dict[str, Any] = {}
        for name, known in (
            ("inf", math.inf),
            ("nan", math.nan),
            ("NoneType", type(None)),
            ("torch", torch),
            ("device", torch.device),
            ("fx_pytree", _pytree),
            ("pytree", _pytree),
        ):
            self.space.used.add(name)
            self.globals[name] = known
        self.names = {node: self.space.create_name(node.name, node) for node in graph.nodes}
        self.inputs: list[str] = []
        self.wrapped: dict[str, None] = {}
        self.place = ""

    def known(self, value: Any, hint: str) -> str:
        """The name of something that is no part of the graph."""
        if hint.startswith("torch.") or self.globals.get(hint) is value:
            return hint
        name = self.space.create_name(hint, value)
        self.globals[name] = value
        return name

    def text(self, arg: Any) -> str:
        """An argument."""
        if isinstance(arg, Node):
            return self.names[arg]
        if isinstance(arg, tuple):
            inner = f"({', '.join(map(self.text, arg))}{',' * (len(arg) == 1)})"
            named = hasattr(arg, "_fields")
            return self.known(type(arg), names.typename(type(arg))) + inner if named else inner
        if isinstance(arg, list):
            return f"[{', '.join(map(self.text, arg))}]"
        if isinstance(arg, slice):
            return f"slice({self.text(arg.start)}, {self.text(arg.stop)}, {self.text(arg.step)})"
        if isinstance(arg, Enum):
            return f"{self.known(type(arg), type(arg).__name__)}.{arg.name}"
        if (
            hasattr(arg, "_schema")
            or isinstance(arg, type)
            or (callable(arg) and hasattr(arg, "__qualname__"))
        ):
            return self.known(arg, names.qualified(arg))
        return repr(arg)

    def arguments(self, args: Any, kwargs: Any) -> str:
        """A call's arguments."""
        return ", ".join([*map(self.text, args), *(f"{k} = {self.text(v)}" for k, v in kwargs.items())])

    def type(self, of: Any) -> str:
        """A type of an annotation, the parts of `List[Tensor]` each by its name."""
        if of is Ellipsis:
            return self.known(of, "_")
        if isinstance(of, type(Dyn)):
            return "torch.fx.tensor_type._DynType"
        if isinstance(of, TensorType):
            sizes = f"[{','.join(map(self.type, of.dims))}]" if of.dims else ""
            return f"torch.fx.tensor_type.TensorType{sizes}"
        origin, parts = get_origin(of), get_args(of)
        if origin is None or not parts:
            return self.known(of, names.typename(of))
        named = getattr(typing, getattr(of, "_name", None) or "", origin)
        outer = Union if origin in (Union, UnionType) else named
        return f"{self.known(outer, names.typename(outer))}[{','.join(map(self.type, parts))}]"

    def annotation(self, node: Node) -> str:
        """`: "f32[2, 3]"`, as far as it is known and wanted."""
        typed = "" if node.type is None else f" : {self.type(node.type)}"
        meta: Any = _described(node) if self.verbose else None
        if hasattr(meta, "dtype") and hasattr(meta, "shape"):
            dtype = dtype_abbrs.get(meta.dtype) or str(meta.dtype).removeprefix("torch.")
            return f': "{dtype}[{", ".join(map(str, meta.shape))}]"'
        return f': "Sym({meta})"' if hasattr(meta, "expression") else typed

    def statement(self, node: Node) -> str:
        """A node, but for inputs and the output."""
        args, target = node.args, node.target
        typed = self.names[node] + self.annotation(node)
        if node.op == "call_function":
            name = names.name_of(target)
            ours = getattr(target, "__module__", "") == "_operator"
            if ours and name in names.INPLACE:
                done = names.INPLACE[name].format(*map(self.text, args))
                return f"{done};  {typed} = {self.text(args[0])}"
            if ours and name in names.MAGIC:
                return f"{typed} = {names.MAGIC[name].format(*map(self.text, args))}"
            if target is getattr and len(args) == 2 and str(args[1]).isidentifier():
                return f"{typed} = {self.text(args[0])}.{args[1]}"
            called = self.known(target, names.qualified(target))
            if node.meta.get("is_wrapped"):
                self.wrapped[f'torch.fx._symbolic_trace.wrap("{called}")'] = None
            return f"{typed} = {called}({self.arguments(args, node.kwargs)})"
        owner, rest = (self.text(args[0]), args[1:]) if node.op == "call_method" else (self.root, args)
        found = _reached(owner, target)
        return f"{typed} = {found}" + f"({self.arguments(rest, node.kwargs)})" * (node.op != "get_attr")

    def lines(self) -> list[str]:
        """The body of the function."""
        last: dict[Node, list[Node]] = {}
        seen: set[Node] = set()
        for node in reversed(self.graph.nodes):
            for used in node.all_input_nodes:
                if used not in seen:
                    seen.add(used)
                    last.setdefault(node, []).append(used)
        body: list[str] = []
        for node in self.graph.nodes:
            if node.op == "placeholder":
                default = f" = {self.text(node.args[0])}" if node.args else ""
                self.inputs.append(f"{node.target}{self.annotation(node)}{default}")
                raw = node.target.lstrip("*")
                body += [f"{self.names[node]} = {raw}"] if raw != self.names[node] else []
                continue
            if node.op == "output":
                body.append(self.returned(node.args[0]))
                continue
            body += self.where(node)
            dead = " = ".join(self.names[n] for n in (*last.get(node, ()), *[node] * (not node.users)))
            body.append(self.statement(node) + (f";  {dead} = None" if dead else ""))
        return body or ["pass"]

    def returned(self, value: Any) -> str:
        """The statement that returns."""
        return str(conventions.called(self.graph._codegen.generate_output, self.spelled(value), repr_fn=repr))

    def spelled(self, value: Any) -> Any:
        """The result, whose parts show their text."""
        if isinstance(value, dict):
            return {key: self.spelled(item) for key, item in value.items()}
        if isinstance(value, list) or (isinstance(value, tuple) and not hasattr(value, "_fields")):
            return (list if isinstance(value, list) else tuple)(map(self.spelled, value))
        return _Text(self.text(value))

    def where(self, node: Node) -> list[str]:
        """A comment that says where the program does this, when that changes."""
        if not self.verbose:
            return []
        place = " No stacktrace found for following nodes"
        found = re.findall(r'File "(.*?)", line (\d+), in (.*)\n *(.*)', node.stack_trace or "")
        if found:
            file, line, function, code = found[-1]
            place = f" File: {file}:{line} in {function}, code: {code}"
        changed, self.place = place != self.place, place
        return ["", f"#{place}"] if changed else []


def _described(node: Node) -> Any:
    """What a node's tensors are like, as far as somebody has noted that."""
    return next((node.meta[n] for n in ("val", "tensor_meta", "example_value") if n in node.meta), None)


def _reached(owner: str, target: str) -> str:
    for part in target.split("."):
        owner = f"{owner}.{part}" if part.isidentifier() else f'getattr({owner}, "{part}")'
    return owner


def python_code(graph: Graph, root_module: str, verbose: bool) -> PythonCode:
    """A graph as the source text of a method, and the globals of that."""
    writer = _Writer(graph, root_module, verbose)
    body = writer.lines()
    returned = graph.output_node().type if graph.find_nodes(op="output") else None
    arrow = "" if returned is None else f" -> {writer.type(returned)}"
    codegen = graph._codegen
    for name, known in codegen.additional_globals():
        writer.known(known, name)
    while body and not body[0]:
        body.pop(0)
    if codegen._body_transformer is not None:
        body = codegen._body_transformer(body)
    text = "\n".join(f"    {line}" for line in [*body, ""])
    wrapped = "\n".join(writer.wrapped)
    opening = codegen.gen_fn_def(writer.inputs, arrow)
    return PythonCode(f"\n{wrapped}\n\n{opening}\n{text}", writer.globals)
