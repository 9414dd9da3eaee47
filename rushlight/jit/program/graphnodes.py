"""What a graph is made of, as PyTorch's C++ classes show it: nodes, values, blocks.

Objects here are made when they are asked for, over the program's own representation (ir.py); two of the same
node or value are equal. What reads and changes graphs (counters of operations, exporters, passes) is written
for these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import rushlight as torch
from rushlight.jit.program import ir
from rushlight.jit.program.folding import random, reread as _reread
from rushlight.jit.program.graphtext import constants_of, node_text
from rushlight.jit.program.graphtypes import TYPES, Type, typed
from rushlight.jit.program.memory import remove
from rushlight.jit.program.resolve import resolve
from rushlight.jit.program.types import FUNCTION, TENSOR

if TYPE_CHECKING:  # it is made of these
    from rushlight.jit.program.graphs import Graph

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
        return self._of.example is not None and self._of.example.complete

    def requires_grad(self) -> bool:
        """Whether a gradient was recorded."""
        return self._of.example is not None and bool(self._of.example.requires_grad)

    requiresGrad = requires_grad

    def setType(self, type: Type) -> Value:
        """Say of what type it is; itself."""
        self._of.type, self._of.example = type._type, type._example
        self._graph.edited()
        return self

    def setTypeAs(self, other: Value) -> Value:
        """Say that it is of another value's type; itself."""
        return self.setType(other.type())

    def inferTypeFrom(self, tensor: Any) -> None:
        """Say that it is a tensor like this one."""
        self.setType(TYPES["TensorType"].create_from_tensor(tensor))

    def setDebugName(self, name: str) -> Value:
        """Say what it is called in the graph's text; itself."""
        self._of.name = name
        self._graph.edited()
        return self

    def copyMetadata(self, other: Value) -> Value:
        """Take over another value's name and type; itself."""
        self._of.hint = other._of.hint
        return self.setType(other.type())

    def replaceAllUsesWith(self, other: Value) -> None:
        """Let all who read it read another value."""
        ir.replace(self._of, other._of)
        self._graph.edited()

    def replaceAllUsesAfterNodeWith(self, node: Node, other: Value) -> None:
        """Let all who read it behind a node read another value."""
        order = _order(self._graph._of, {})
        for user, place in list(self._of.uses):
            if order[user] > order[node._of]:
                _reread(user, place, other._of)
        self._graph.edited()

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
        """What it reads; of a call, first the function."""
        called = self._of.attrs.get("function") if self._of.kind == "prim::CallFunction" else None
        if called is not None:
            constant = ir.Node("prim::Constant", [], attrs={"value": called})
            yield Value(self._graph, ir.Value(FUNCTION, constant))
        for value in self._of.inputs:
            yield Value(self._graph, value)

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
        if "given" in self._of.attrs:
            return {name: value for name, (_, value) in self._of.attrs["given"].items()}
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
        if "given" in self._of.attrs:
            return str(self._of.attrs["given"][name][0])
        value = self._attributes()[name]
        kinds = ((bool, "i"), (int, "i"), (float, "f"), (str, "s"), (complex, "c"), (torch.Tensor, "t"))
        return next((kind for cls, kind in kinds if isinstance(value, cls)), "ival")

    def _attribute(self, name: str) -> Any:
        found = self._attributes()
        if name not in found:
            raise RuntimeError(f"required keyword attribute '{name}' is undefined")
        return int(found[name]) if isinstance(found[name], bool) else found[name]

    i = f = s = c = t = g = ty = ival = fs = ss = ts = gs = tys = _attribute
    z = zs = _attribute

    def is_(self, name: str, values: list[int]) -> Node:
        """Set an attribute that is a list of integers; itself."""
        return self._give("is", name, values)

    def _give(self, kind: str, name: str, value: Any) -> Node:
        if self._of.kind == "prim::Constant" and name == "value":
            self._of.attrs["value"] = value
        else:
            self._of.attrs.setdefault("given", {})[name] = (kind, value)
        self._graph.edited()
        return self

    def removeAttribute(self, name: str) -> Node:
        """Take an attribute away; itself."""
        self._of.attrs.get("given", {}).pop(name, None)
        self._graph.edited()
        return self

    def copyAttributes(self, other: Node) -> Node:
        """Take over another node's attributes; itself."""
        self._of.attrs = dict(other._of.attrs)
        self._graph.edited()
        return self

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

    # --- changing it ----------------------------------------------------------------------------

    def addInput(self, value: Value) -> Value:
        """Let it read one more value."""
        ir.read(self._of, value._of)
        self._graph.edited()
        return value

    def addOutput(self) -> Value:
        """One more result."""
        self._of.outputs.append(ir.Value(TENSOR, self._of))
        self._graph.edited()
        return Value(self._graph, self._of.outputs[-1])

    def eraseOutput(self, i: int) -> None:
        """Take a result away that nobody reads."""
        del self._of.outputs[i]
        self._graph.edited()

    def addBlock(self) -> Block:
        """A block in it."""
        self._of.blocks.append(ir.Block())
        self._graph.edited()
        return Block(self._graph, self._of.blocks[-1])

    def replaceInput(self, i: int, value: Value) -> Value:
        """Let one input be another value; what it was."""
        old = self._of.inputs[i]
        _reread(self._of, i, value._of)
        self._graph.edited()
        return Value(self._graph, old)

    def replaceInputWith(self, old: Value, new: Value) -> None:
        """Let each input that is one value be another."""
        for i, value in enumerate(self._of.inputs):
            if value is old._of:
                _reread(self._of, i, new._of)
        self._graph.edited()

    def removeInput(self, i: int) -> None:
        """Take an input away."""
        ir.unread(self._of, i)
        self._graph.edited()

    def removeAllInputs(self) -> None:
        """Take all inputs away."""
        while self._of.inputs:
            self.removeInput(len(self._of.inputs) - 1)

    def replaceAllUsesWith(self, other: Node) -> None:
        """Let all who read its results read those of another node."""
        for old, new in zip(self._of.outputs, other._of.outputs, strict=True):
            ir.replace(old, new)
        self._graph.edited()

    def destroy(self) -> None:
        """Take it out of the graph."""
        remove(self._of)
        self._graph.edited()

    def _place(self, other: Node, behind: int) -> Node:
        if self._of.block is not None and self._of in self._of.block.nodes:
            self._of.block.nodes.remove(self._of)
        block: Any = other._of.block
        at = len(block.nodes) if other._of is block.ending else block.nodes.index(other._of) + behind
        block.nodes.insert(at, self._of)
        self._of.block = block
        resolve(self._of)
        self._graph.edited()
        return self

    def insertBefore(self, other: Node) -> Node:
        """Put it before another node; itself."""
        return self._place(other, 0)

    def insertAfter(self, other: Node) -> Node:
        """Put it behind another node; itself."""
        return self._place(other, 1)

    moveBefore, moveAfter = insertBefore, insertAfter

    def isBefore(self, other: Node) -> bool:
        """Whether it comes earlier in the program."""
        order = _order(self._graph._of, {})
        return order[self._of] < order[other._of]

    def isAfter(self, other: Node) -> bool:
        """Whether it comes later in the program."""
        return other.isBefore(self)

    def prev(self) -> Node:
        """The node before it."""
        nodes = self.owningBlock()._of.nodes
        return Node(self._graph, nodes[nodes.index(self._of) - 1])

    def copyMetadata(self, other: Node) -> Node:
        """Take over the place in the source and the scope of another node; itself."""
        self._of.place, self._of.scope = other._of.place, other._of.scope
        return self

    # --- beside ---------------------------------------------------------------------------------

    def hasUses(self) -> bool:
        """Whether anybody reads a result."""
        return any(v.uses for v in self._of.outputs)

    def isNondeterministic(self) -> bool:
        """Whether two runs may give different results."""
        return random(self._of)

    def matches(self, line: str) -> bool:
        """Whether it is the op of this signature."""
        return _plain(self.schema()) == _plain(line)

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node of a kind in its blocks."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """All nodes of a kind in its blocks."""
        return [n for block in self.blocks() for n in _found(block, kind, recurse)]

    def __repr__(self) -> str:
        block = self._of.block
        structural = block is not None and self._of.kind in ("prim::Return", "prim::Param")
        if not structural and (block is None or self._of not in block.nodes):
            raise RuntimeError("This node has been invalidated: it is no longer in the graph")
        return node_text(self._of, self._graph._names())


def _plain(line: str) -> str:
    """A signature without the name of its overload."""
    name, bracket, rest = line.partition("(")
    return (name.partition(".")[0] + bracket + rest).replace(" ", "")


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

    def addNode(self, kind: str, inputs: Sequence[Value]) -> Node:
        """A new node at the end."""
        made = self._graph.create(kind, inputs, 0)
        self._of.nodes.append(made._of)
        made._of.block = self._of
        return made

    def registerOutput(self, value: Value) -> int:
        """Let it give one more value; which one that is."""
        self._of.ending.block = self._of
        ir.read(self._of.ending, value._of)
        self._graph.edited()
        return len(self._of.ending.inputs) - 1

    def eraseOutput(self, i: int) -> None:
        """Let it give one value less."""
        ir.unread(self._of.ending, i)
        self._graph.edited()

    def addInputToBlock(self, name: str = "") -> Value:
        """One more parameter."""
        made = self._of.param(TENSOR)
        made.name = name
        self._graph.edited()
        return Value(self._graph, made)


def _found(block: Block, kind: str, recurse: bool) -> Iterator[Node]:
    for node in block.nodes():
        if node.kind() == kind:
            yield node
        for inner in node.blocks() if recurse else ():
            yield from _found(inner, kind, recurse)


def _setters() -> None:
    """Node.i_, Node.f_, ...: each sets an attribute of its kind."""

    def setter(kind: str) -> Callable[..., Node]:
        def give(self: Node, name: str, value: Any) -> Node:
            return self._give(kind, name, value)

        give.__name__, give.__doc__ = f"{kind}_", "Set an attribute of this kind; itself."
        return give

    for kind in "i f s c t g ty ival fs ss ts gs tys z zs".split():
        setattr(Node, f"{kind}_", setter(kind))
    setattr(Node, "is", Node._attribute)


_setters()
