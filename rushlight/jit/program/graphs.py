"""A program's graph as PyTorch's C++ class shows it: it is read, printed, built and changed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import rushlight as torch
from rushlight.jit.program import ir, schema as schemas
from rushlight.jit.program.graphnodes import Block, Node, Use, Value
from rushlight.jit.program.graphtext import GraphWriter
from rushlight.jit.program.graphtypes import TYPES, Type, typed
from rushlight.jit.program.resolve import resolve, result_types
from rushlight.jit.program.types import TENSOR, Type as Plain, of_value

if TYPE_CHECKING:  # it shows its programs as graphs
    from rushlight.jit.tracing.tracer import Tracer


class _Shown(threading.local):
    """What graphs tell when they are printed, in each thread: the lines that nodes come from."""

    ranges = True


SHOWN = _Shown()


class Graph(Block):
    """A program's graph, to be read and printed."""

    _text: str  # once it is written

    def __init__(self, function: ir.Function | None = None, inlined: bool = False) -> None:
        function = ir.Function("__torch__.graph", [], None) if function is None else function
        self._function = ir.inlined(function) if inlined else function
        self._point: tuple[ir.Block, ir.Node | None] | None = None  # where insertNode puts nodes
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
        spelled = self._written().spelled
        if value not in spelled:
            raise RuntimeError("This value has been invalidated: it is no longer in the graph")
        return spelled[value][1:]

    def _order(self, value: ir.Value) -> int:
        return list(self._written().spelled).index(value)

    def changed(self, function: ir.Function) -> None:
        """The program is this one from now on, for all who call it."""
        self._function.block, self._function.run = function.block, None
        self._of, self._writer = function.block, None

    def edited(self) -> None:
        """The program has changed in place."""
        self._function.run, self._writer = None, None

    def alias_db(self, isFrozen: bool = False, descend_function_calls: bool = False) -> Any:
        """What its values may share, and what is written to."""
        # What few programs need; it imports nothing of this file.
        from rushlight.jit.passes.aliases import AliasDb

        return AliasDb(self._of, isFrozen, descend_function_calls)

    # --- building it ----------------------------------------------------------------------------

    def addInput(self, name: str = "") -> Value:
        """One more argument."""
        return self.addInputToBlock(name)

    def eraseInput(self, i: int) -> None:
        """Take an argument away that nobody reads."""
        del self._of.params[i]
        self.edited()

    def permuteInputs(self, order: Sequence[int]) -> None:
        """Bring the arguments into another order."""
        self._of.params[:] = [self._of.params[i] for i in order]
        self.edited()

    def create(self, kind: str, *given: Any) -> Node:
        """A node that is not in the graph yet; given: its inputs, how many results (1)."""
        inputs = next((list(one) for one in given if not isinstance(one, int)), [])
        if not all(isinstance(one, Value) for one in inputs):
            raise ValueError("inputs of a node are values of a graph")
        count = next((one for one in given if isinstance(one, int)), 1)
        made = ir.Node(kind, [])
        for value in inputs:
            ir.read(made, value._of)
        resolve(made)
        kinds = result_types(made) if made.schema is not None else []
        made.outputs = [ir.Value(kinds[i] if i < len(kinds) else TENSOR, made) for i in range(count)]
        return Node(self, made)

    def createClone(self, node: Node, value: Callable[[Value], Value], copy_blocks: bool = True) -> Node:
        """A copy of a node that is not in the graph yet; value: what its inputs are here."""
        of = node._of
        made = self.create(of.kind, [value(v) for v in node.inputs()], len(of.outputs))
        made._of.attrs, made._of.schema, made._of.place = dict(of.attrs), of.schema, of.place
        for new, old in zip(made._of.outputs, of.outputs, strict=True):
            new.type, new.example, new.hint = old.type, old.example, old.hint
        return made

    def setInsertPoint(self, place: Node | Block) -> None:
        """Let insertNode put nodes before a node, or at the end of a block."""
        if isinstance(place, Node):
            self._point = (place.owningBlock()._of, place._of)
        else:
            self._point = (place._of, None)

    def insertPoint(self) -> Node:
        """The node before which insertNode puts nodes."""
        block, node = self._point or (self._of, None)
        return Node(self, node or block.ending)

    @contextmanager
    def insert_point_guard(self, place: Node | Block) -> Iterator[None]:
        """Let insertNode put nodes there for as long as this lasts."""
        before = self._point
        self.setInsertPoint(place)
        try:
            yield
        finally:
            self._point = before

    def insertNode(self, node: Node) -> Node:
        """Put a node where setInsertPoint said, at first at the end; the node."""
        block, before = self._point or (self._of, None)
        known = before is not None and before in block.nodes
        block.nodes.insert(block.nodes.index(before) if known else len(block.nodes), node._of)  # type: ignore
        node._of.block = block
        resolve(node._of)
        self.edited()
        return node

    def appendNode(self, node: Node) -> Node:
        """Put a node at the end; the node."""
        self._of.nodes.append(node._of)
        node._of.block = self._of
        self.edited()
        return node

    def prependNode(self, node: Node) -> Node:
        """Put a node at the beginning; the node."""
        self._of.nodes.insert(0, node._of)
        node._of.block = self._of
        self.edited()
        return node

    def insertConstant(self, value: Any) -> Value:
        """Put a constant where insertNode would; its value."""
        made = ir.Node("prim::Constant", [], attrs={"value": value})
        kind = TENSOR if isinstance(value, torch.Tensor) else of_value(value)
        made.outputs = [ir.Value(kind, made)]
        self.insertNode(Node(self, made))
        return Value(self, made.output)

    def insert(self, kind: str, args: Sequence[Any], kwargs: Any = None) -> Value:
        """Put an op on values and constants where insertNode would; its result."""
        inputs = [one if isinstance(one, Value) else self.insertConstant(one) for one in args]
        defaults = [p.default for p in _fitting(kind, [v._of.type for v in inputs])[len(inputs) :]]
        inputs += [self.insertConstant(one) for one in defaults]
        return self.insertNode(self.create(kind, inputs)).output()

    def insertGraph(self, callee: Graph, inputs: Sequence[Value]) -> list[Value]:
        """Put what another graph does where insertNode would; its results."""
        made = ir.Block()
        other = callee._of
        known = dict(zip(other.params, (v._of for v in inputs), strict=True))
        ir._copy_nodes(made, other, known, False)
        for node in made.nodes:
            self.insertNode(Node(self, node))
        return [Value(self, known[v]) for v in other.ending.inputs]

    def makeMultiOutputIntoTuple(self) -> None:
        """Let it give one tuple of what it gives."""
        given = list(self._of.ending.inputs)
        while self._of.ending.inputs:
            ir.unread(self._of.ending, len(self._of.ending.inputs) - 1)
        kind = Plain("Tuple", tuple(v.type for v in given))
        self._of.finish([self._of.add("prim::TupleConstruct", given, [kind]).output])
        self.edited()

    def lint(self) -> None:
        """Raise where a node reads what is not there yet."""
        self._written()

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
        return self._text if SHOWN.ranges else self.str(False)

    __repr__ = __str__

    def str(self, print_source_ranges: bool = True) -> str:
        """The text, with or without the lines that nodes come from."""
        self._written()
        lines = self._text.split("\n")
        return "\n".join(line if print_source_ranges else line.partition(" # ")[0] for line in lines)


def _fitting(kind: str, types: list[Plain]) -> list[schemas.Parameter]:
    """The parameters of the first signature that takes values of these types, the rest being defaults."""
    for found in schemas.named(kind):
        bound: dict[Any, Plain] = {}
        fits = len(found.parameters) >= len(types) and all(
            schemas.bind(p.type, t, bound) is not None for p, t in zip(found.parameters, types, strict=False)
        )
        if fits and all(p.default is not schemas.REQUIRED for p in found.parameters[len(types) :]):
            return found.parameters
    raise RuntimeError(f"Unknown builtin op or arguments that it does not take: {kind}")


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

__all__ = ["CLASSES", "TYPES", "Block", "Graph", "Node", "Type", "Use", "Value", "graph_of", "typed"]
