"""A program's graph as PyTorch's C++ classes show it: nodes, values, blocks, types, to be read.

Objects here are made when they are asked for, over the program's own representation (ir.py); two of the same
node or value are equal. What reads graphs (counters of operations, exporters, visualizers) is written for
these.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import rushlight as torch
from rushlight.jit.program import ir
from rushlight.jit.program.graphtext import SCALARS, GraphWriter, constants_of, node_text
from rushlight.jit.program.types import TENSOR, Type as Plain, subtype

if TYPE_CHECKING:  # it shows its programs as graphs
    from rushlight.jit.tracing.tracer import Tracer


class Type:
    """A type; `example` says what a traced tensor was: its dtype, sizes, strides, device."""

    _plain: Plain | None = None

    def __init__(self, plain: Plain | None = None, example: ir.Example | None = None) -> None:
        self._type = plain or self._plain or TENSOR
        self._example = example

    @classmethod
    def get(cls) -> Type:
        """The type itself, where it has no parts."""
        return cls()

    getInferred = get

    def kind(self) -> str:
        """TensorType, ListType, ..."""
        return _kind(self._type)

    def str(self) -> str:
        """As graphs write it."""
        return self._type.short()

    @property
    def annotation_str(self) -> Any:
        """As code writes it."""
        return str(self._type)

    def __str__(self) -> Any:
        return str(self._type)

    def __repr__(self) -> Any:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and self._type == other._type

    def __hash__(self) -> int:
        return hash(self._type)

    def isSubtypeOf(self, other: Type) -> bool:
        """Whether a value of this type may stand for the other's."""
        return subtype(self._type, other._type)

    def containedTypes(self) -> list[Type]:
        """The types of the parts."""
        return [typed(part) for part in self._type.args]

    def getElementType(self) -> Type:
        """The type of a list's elements, or an optional's value."""
        return typed(self._type.args[0])

    def elements(self) -> list[Type]:
        """The types of a tuple's parts."""
        return self.containedTypes()

    def getKeyType(self) -> Type:
        """Of a dict."""
        return typed(self._type.args[0])

    def getValueType(self) -> Type:
        """Of a dict."""
        return typed(self._type.args[1])

    def qualified_name(self) -> Any:
        """A class's full name."""
        return str(self._type)

    def name(self) -> Any:
        """A class's name."""
        return str(self._type).rpartition(".")[2]

    def _tensor(self, name: builtins.str) -> Any:
        if self._type != TENSOR:
            raise AttributeError(f"'{_kind(self._type)}' object has no attribute '{name}'")
        return self._example

    def sizes(self) -> list[int] | None:
        """The sizes of a traced tensor; None where they are not known."""
        example = self._tensor("sizes")
        return None if example is None else list(example.sizes)

    varyingSizes = symbolic_sizes = sizes

    def strides(self) -> list[int] | None:
        """The strides of a traced tensor."""
        example = self._tensor("strides")
        return None if example is None else list(example.strides)

    def dim(self) -> int | None:
        """The number of dims."""
        example = self._tensor("dim")
        return None if example is None else len(example.sizes)

    def dtype(self) -> Any:
        """The dtype."""
        example = self._tensor("dtype")
        return None if example is None else example.dtype

    def scalarType(self) -> Any:
        """The dtype's name: Float, Long, ..."""
        example = self._tensor("scalarType")
        return None if example is None else SCALARS.get(example.dtype)

    def device(self) -> Any:
        """The device."""
        example = self._tensor("device")
        return None if example is None else example.device

    def requires_grad(self) -> bool:
        """Whether a gradient was recorded."""
        example = self._tensor("requires_grad")
        return True if example is None else example.requires_grad

    def undefined(self) -> bool:
        """False: there is always a tensor."""
        return False


def _kind(plain: Plain) -> str:
    named = {"number": "NumberType", "str": "StringType", "Device": "DeviceObjType", "NoneType": "NoneType"}
    return named.get(plain.kind) or f"{plain.kind[0].upper()}{plain.kind[1:]}Type"


_PLAIN = "Tensor int float bool complex str NoneType Any number Device Generator".split()
TYPES: dict[str, type[Type]] = {
    _kind(Plain(name)): type(_kind(Plain(name)), (Type,), {"_plain": Plain(name), "__module__": "torch"})
    for name in _PLAIN
}


class ListType(Type):
    """The type of a list."""

    def __init__(self, element: Type | Plain) -> None:
        super().__init__(element if isinstance(element, Plain) else Plain("List", (element._type,)))

    @staticmethod
    def ofInts() -> ListType:
        """int[]"""
        return ListType(TYPES["IntType"]())

    @staticmethod
    def ofTensors() -> ListType:
        """Tensor[]"""
        return ListType(TYPES["TensorType"]())

    @staticmethod
    def ofFloats() -> ListType:
        """float[]"""
        return ListType(TYPES["FloatType"]())

    @staticmethod
    def ofBools() -> ListType:
        """bool[]"""
        return ListType(TYPES["BoolType"]())


class OptionalType(Type):
    """The type of what may be None."""

    def __init__(self, element: Type | Plain) -> None:
        super().__init__(element if isinstance(element, Plain) else Plain("Optional", (element._type,)))

    @staticmethod
    def ofTensor() -> OptionalType:
        """Tensor?"""
        return OptionalType(TYPES["TensorType"]())


class TupleType(Type):
    """The type of a tuple."""

    def __init__(self, elements: Any) -> None:
        plain = elements if isinstance(elements, Plain) else Plain("Tuple", tuple(e._type for e in elements))
        super().__init__(plain)


class DictType(Type):
    """The type of a dict."""

    def __init__(self, key: Type | Plain, value: Any = None) -> None:
        super().__init__(key if isinstance(key, Plain) else Plain("Dict", (key._type, value._type)))


class ClassType(Type):
    """The type of a scripted class or module."""


for _own in (ListType, OptionalType, TupleType, DictType, ClassType):
    _own.__module__ = "torch"
    TYPES[_own.__name__] = _own


def typed(plain: Plain, example: ir.Example | None = None) -> Type:
    """The object of a type."""
    cls = TYPES.get(_kind(plain), Type)
    made = Type.__new__(cls)
    Type.__init__(made, plain, example)
    return made


_Of = TypeVar("_Of")


class _View(Generic[_Of]):
    """Stands for an object of the program in one graph."""

    def __init__(self, graph: Graph, of: _Of) -> None:
        self._graph, self._of = graph, of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _View) and self._of is other._of

    def __hash__(self) -> int:
        return hash(self._of)


class Value(_View[ir.Value]):
    """What a node gives or a graph takes."""

    def debugName(self) -> str:
        """Its name in the graph's text."""
        return self._graph._name(self._of)

    def unique(self) -> int:
        """A number of its own."""
        return self._graph._order(self._of)

    def type(self) -> Type:
        """Its type."""
        return typed(self._of.type, self._of.example)

    def node(self) -> Node:
        """The node that gives it; of what the graph takes, the node of its parameters."""
        node = self._of.node
        return self._graph.param_node() if node is None else Node(self._graph, node)

    def offset(self) -> int:
        """Which of its node's results it is."""
        node = self._of.node
        return (self._graph._of.params if node is None else node.outputs).index(self._of)

    def uses(self) -> list[Use]:
        """Who reads it."""
        return [Use(Node(self._graph, user), place) for user, place in self._of.uses]

    def toIValue(self) -> Any:
        """The Python value of a constant; None where it is computed."""
        node = self._of.node
        return node.attrs["value"] if node is not None and node.kind == "prim::Constant" else None

    def isCompleteTensor(self) -> bool:
        """Whether dtype, sizes and strides are known."""
        return self._of.example is not None

    def requires_grad(self) -> bool:
        """Whether a gradient was recorded."""
        return self._of.example is not None and self._of.example.requires_grad

    def __repr__(self) -> str:
        return f"{self.debugName()} defined in ({self.node()!s})"


class Use:
    """A reader of a value: the node, and which of its inputs."""

    def __init__(self, user: Node, offset: int) -> None:
        self.user, self.offset = user, offset

    def isAfter(self, other: Use) -> bool:
        """Whether it comes later in the program; in one node, whether it is a later input."""
        order = _order(self.user._graph._of, {})
        places = [(order[use.user._of], use.offset) for use in (self, other)]
        return places[0] > places[1]


def _order(block: ir.Block, found: dict[ir.Node, int]) -> dict[ir.Node, int]:
    """The places of all nodes in a text: of blocks, those in them come first, then what they give."""
    for node in block.nodes:
        found[node] = len(found)
        for inner in node.blocks:
            _order(inner, found)
    found[block.ending] = len(found)
    return found


class Node(_View[ir.Node]):
    """One operation."""

    def kind(self) -> str:
        """aten::add, prim::Constant, ..."""
        return self._of.kind

    def inputs(self) -> Iterator[Value]:
        """What it reads."""
        return (Value(self._graph, v) for v in self._of.inputs)

    def outputs(self) -> Iterator[Value]:
        """What it gives."""
        found = self._graph._of.params if self._of.kind == "prim::Param" else self._of.outputs
        return (Value(self._graph, v) for v in found)

    def inputsAt(self, i: int) -> Value:
        """One of its inputs."""
        return Value(self._graph, self._of.inputs[i])

    def outputsAt(self, i: int) -> Value:
        """One of its results."""
        return list(self.outputs())[i]

    def inputsSize(self) -> int:
        """How many inputs."""
        return len(self._of.inputs)

    def outputsSize(self) -> int:
        """How many results."""
        return len(list(self.outputs()))

    def input(self) -> Value:
        """The only input."""
        (found,) = self.inputs()
        return found

    def output(self) -> Value:
        """The only result."""
        (found,) = self.outputs()
        return found

    def hasMultipleOutputs(self) -> bool:
        """Whether it gives more than one."""
        return self.outputsSize() > 1

    def scopeName(self) -> str:
        """The modules that ran, from the outermost, with slashes between."""
        return self._of.scope

    def blocks(self) -> Iterator[Block]:
        """The blocks of an if or a loop."""
        return (Block(self._graph, b) for b in self._of.blocks)

    def owningBlock(self) -> Block:
        """The block that it is in."""
        return Block(self._graph, self._of.block or self._graph._of)

    def schema(self) -> str:
        """The signature of the op; "(no schema)" where it has none."""
        # What it needs, jit.tracing.trace, imports this file.
        from rushlight.jit.program.schema import _lines

        found = self._of.schema
        if found is None:
            return "(no schema)"
        name = found.kind.removeprefix("aten::") + (f".{found.overload}" if found.overload else "")
        lines = _lines().get(found.kind, ())
        return next((f"aten::{line}" for line in lines if line.startswith(f"{name}(")), "(no schema)")

    def namedInput(self, name: str) -> Value:
        """The input of an argument's name."""
        names = [p.name for p in self._of.schema.parameters] if self._of.schema else []
        return self.inputsAt(names.index(name))

    def sourceRange(self) -> str:
        """The line of the program that it comes from."""
        return self._of.place

    def mustBeNone(self) -> bool:
        """Whether it is the constant None."""
        return self._of.kind == "prim::Constant" and self._of.attrs["value"] is None

    # --- attributes -----------------------------------------------------------------------------

    def _attributes(self) -> dict[str, Any]:
        kept = {"prim::Constant": "value", "prim::GetAttr": "name", "prim::SetAttr": "name"}
        name = kept.get(self._of.kind, "name" if self._of.kind == "prim::CallMethod" else None)
        value = None if name is None else self._of.attrs.get(name)
        return {} if name is None or value is None else {name: value}

    def attributeNames(self) -> list[str]:
        """The names of its attributes."""
        return list(self._attributes())

    def hasAttributes(self) -> bool:
        """Whether it has some."""
        return bool(self._attributes())

    def hasAttribute(self, name: str) -> bool:
        """Whether it has one."""
        return name in self._attributes()

    def kindOf(self, name: str) -> str:
        """What an attribute is: i, f, s, c, t, or ival; the method of this name reads it."""
        value = self._attributes()[name]
        kinds = ((bool, "i"), (int, "i"), (float, "f"), (str, "s"), (complex, "c"), (torch.Tensor, "t"))
        return next((kind for cls, kind in kinds if isinstance(value, cls)), "ival")

    def _attribute(self, name: str) -> Any:
        found = self._attributes()
        if name not in found:
            raise RuntimeError(f"required keyword attribute '{name}' is undefined")
        return int(found[name]) if isinstance(found[name], bool) else found[name]

    i = f = s = c = t = ival = _attribute

    # --- of a call of Python --------------------------------------------------------------------

    def pyname(self) -> str:
        """The name of the Python function, or of the autograd.Function."""
        return str(self._python().__name__)

    def pyobj(self) -> Any:
        """The Python function, or an autograd.Function's `apply`."""
        called = self._python()
        return getattr(called, "apply", called)

    def scalar_args(self) -> list[Any]:
        """The arguments that are no values of the graph."""
        return constants_of(self._python())

    def _python(self) -> Any:
        if self._of.kind != "prim::PythonOp":
            raise RuntimeError(f"expected a node of kind prim::PythonOp, got {self._of.kind}")
        return self._of.attrs["python"]

    # --- beside ---------------------------------------------------------------------------------

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node of a kind in its blocks."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """All nodes of a kind in its blocks."""
        return [n for block in self.blocks() for n in _found(block, kind, recurse)]

    def __repr__(self) -> str:
        return node_text(self._of, self._graph._names())


class Block(_View[ir.Block]):
    """A sequence of nodes."""

    def nodes(self) -> Iterator[Node]:
        """Its nodes in order."""
        return (Node(self._graph, n) for n in self._of.nodes)

    def inputs(self) -> Iterator[Value]:
        """Its parameters."""
        return (Value(self._graph, v) for v in self._of.params)

    def outputs(self) -> Iterator[Value]:
        """What it gives."""
        return (Value(self._graph, v) for v in self._of.ending.inputs)

    def returnNode(self) -> Node:
        """The node that reads what it gives."""
        return Node(self._graph, self._of.ending)

    def paramNode(self) -> Node:
        """The node that gives its parameters."""
        return Node(self._graph, ir.Node("prim::Param", [], outputs=self._of.params, block=self._of))

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node of a kind."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """All nodes of a kind."""
        return list(_found(self, kind, recurse))


def _found(block: Block, kind: str, recurse: bool) -> Iterator[Node]:
    for node in block.nodes():
        if node.kind() == kind:
            yield node
        for inner in node.blocks() if recurse else ():
            yield from _found(inner, kind, recurse)


class Graph(Block):
    """A program's graph, to be read and printed."""

    _text: str  # once it is written

    def __init__(self, function: ir.Function, inlined: bool = False) -> None:
        self._function = ir.inlined(function) if inlined else function
        super().__init__(self, self._function.block)
        self._writer: GraphWriter | None = None

    def _written(self) -> GraphWriter:
        if self._writer is None:
            self._writer = GraphWriter()
            self._text = self._writer.write(self._function)
        return self._writer

    def _names(self) -> Callable[[ir.Value], str]:
        return self._written().spelled.__getitem__

    def _name(self, value: ir.Value) -> str:
        return self._written().spelled[value][1:]

    def _order(self, value: ir.Value) -> int:
        return list(self._written().spelled).index(value)

    def changed(self, function: ir.Function) -> None:
        """The program is this one from now on, for all who call it."""
        self._function.block, self._function.run = function.block, None
        self._of, self._writer = function.block, None

    def block(self) -> Block:
        """Itself, as a block."""
        return self

    def return_node(self) -> Node:
        """The node that reads what it gives."""
        return self.returnNode()

    def param_node(self) -> Node:
        """The node that gives its parameters."""
        return self.paramNode()

    def copy(self) -> Graph:
        """Another graph of the same program."""
        return Graph(ir.inlined(self._function, calls=False))

    def __str__(self) -> str:
        self._written()
        return self._text

    __repr__ = __str__

    def str(self, print_source_ranges: bool = True) -> str:
        """The text, with or without the lines that nodes come from."""
        lines = str(self).split("\n")
        return "\n".join(line if print_source_ranges else line.partition(" # ")[0] for line in lines)


def graph_of(function: ir.Function) -> Graph:
    """The graph of a program: the same object each time, so that passes over it change the program."""
    if function.graph is None:
        function.graph = Graph(function)
    found: Graph = function.graph
    return found


class TracingState:
    """What torch.jit.trace knows while it records."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def push_scope(self, name: str) -> None:
        """Nodes that follow belong to this scope, within those before it."""
        self._tracer.scopes.append(name)
        self._enter()

    def pop_scope(self) -> None:
        """Back to the scope before."""
        self._tracer.scopes.pop()
        self._enter()

    def current_scope(self) -> str:
        """The scope of nodes that follow."""
        return self._tracer.compiler.block.scope

    def _enter(self) -> None:
        self._tracer.compiler.block.scope = "/".join(self._tracer.scopes)


CLASSES: dict[str, type] = {c.__name__: c for c in (Graph, Node, Value, Block, Use, Type, TracingState)}
for _shown in CLASSES.values():
    _shown.__module__ = "torch"
CLASSES["JitType"] = Type
