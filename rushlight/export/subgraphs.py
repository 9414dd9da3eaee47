"""Functions that an exported program hands to branches and loops, as graphs of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import Tree, flatten
from rushlight._engine.core.recording import TAPE
from rushlight._engine.dispatch import interpreters
from rushlight.export.numbers.nodes import SizeNodes
from rushlight.export.numbers.symbolic import SYMBOLIC
from rushlight.export.recording.asked import sizes_of
from rushlight.export.recording.points import resized
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node


class Frame:
    """A graph that is being written: what is known in it, and what it takes from outside."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.known: dict[int, Node] = {}
        self.memory: dict[int, list[Any]] = {}
        # What is recorded of tensors, in order, which is the same in all records.
        self.order: list[Node] = []
        # Nodes outside that are used in here: their placeholder here, and their value.
        self.captured: dict[Node, tuple[Node, Any]] = {}
        # Graphs of functions, by the names of the attributes that hold them.
        self.modules: dict[str, GraphModule] = {}


class Function:
    """A recorded function: its frame, the placeholders of its arguments, and its results."""

    def __init__(self, frame: Frame, inputs: list[Node], values: list[Any], spec: Tree) -> None:
        self.frame, self.inputs, self.values, self.spec = frame, inputs, values, spec

    def module(self, order: Sequence[Node], name: str) -> GraphModule:
        """The function as a module, which takes its arguments and what `order` names of outside."""
        made = Graph()
        values: dict[Node, Node] = {}
        captured = self.frame.captured
        own = [*self.inputs, *(captured[n][0] if n in captured else n for n in order)]
        for node in own:
            values[node] = made.placeholder(node.name)
            values[node].meta = dict(node.meta)
        for node in self.frame.graph.nodes:
            if node.op == "output":
                made.output(_replaced(node.args[0], values))
            elif node not in values:
                values[node] = made.node_copy(node, values.__getitem__)
        made.eliminate_dead_code(lambda node: node.is_impure())
        root = torch.nn.Module()
        for held, module in self.frame.modules.items():
            setattr(root, held, module)
        return GraphModule(root, made, name)


def _replaced(value: Any, values: dict[Node, Node]) -> Any:
    return tuple(values[v] if isinstance(v, Node) else v for v in value)


class Subgraphs:
    """The part of a Listener that records functions."""

    frame: Frame
    frames: list[Frame]

    @contextmanager
    def inside(self: Any, frame: Frame) -> Iterator[None]:
        """Write into a frame."""
        before, self.frame = self.frame, frame
        graph, self.numbers.graph = self.numbers.graph, frame.graph
        try:
            yield
        finally:
            self.frame, self.numbers.graph = before, graph

    @contextmanager
    def paused(self: Any) -> Iterator[None]:
        """Record nothing."""
        tape = next(t for t in TAPE if getattr(t, "to", None) is self)
        place, heard = TAPE.index(tape), self in interpreters.STACK.modes
        TAPE.remove(tape)
        if heard:  # not while an op runs
            interpreters.pop(self)
        try:
            yield
        finally:
            if heard:
                interpreters.push(self)
            TAPE.insert(place, tape)

    def capture(self: Any, value: Any) -> Node:
        """The placeholder of what lies outside the function that is being recorded."""
        frames = self.frames
        inner = frames.pop()
        try:
            with self.inside(frames[-1] if frames else self.top):
                outer = self.argument(value)
        finally:
            frames.append(inner)
        if outer not in inner.captured:
            with inner.graph._behind_inputs():
                own = inner.graph.placeholder(outer.name)
            own.meta = {"val": outer.meta.get("val"), "nr": -1}
            inner.captured[outer] = own, value
        found: Node = inner.captured[outer][0]
        if isinstance(value, torch.Tensor):
            inner.known[id(value)] = found
            self.kept.append(value)
        return found

    def function(self: Any, f: Callable[..., Any], given: Sequence[Any], named: Any = None) -> Function:
        """f(*given), recorded as a graph. named: what the arguments are called after, where not `given`."""
        outer = [self.argument(v) for v in (named or given)]
        frame = Frame(Graph())
        inputs, values = [], []
        for value, node in zip(given, outer, strict=True):
            name = node.name if isinstance(node, Node) else "arg"
            own = frame.graph.placeholder(name)
            own.meta["nr"] = -1
            inputs.append(own)
            if isinstance(value, torch.Tensor):
                with self.paused():
                    shown = value.view_as(value) if id(value) in frame.known else value
                frame.known[id(shown)] = own
                self.kept.append(shown)
                own.meta["val"] = type(self).described(shown)
                value = shown
                if named is None:
                    own.meta["val"] = node.meta.get("val", own.meta["val"])
            elif isinstance(value, SYMBOLIC):
                own.meta["val"] = value
            values.append(value)
        self.frames.append(frame)
        try:
            with self.inside(frame):
                leaves, spec = flatten(f(*values))
                SizeNodes(frame.graph, [], self.numbers).assertions(inner=True)
                frame.graph.output(tuple(self.argument(v) for v in leaves))
        finally:
            self.frames.pop()
        return Function(frame, inputs, leaves, spec)

    def called(
        self: Any,
        op: Any,
        before: tuple[Any, ...],
        functions: list[Function],
        names: Sequence[str],
        operands: Sequence[Any],
        result: Function,
        split: Any = None,
        lists: bool = False,
        flat: dict[str, Any] | None = None,
    ) -> Any:
        """A node of an op that takes functions, and the results, which are those of `result`.

        split: how many operands come in the first group, or in the first groups; lists: whether these are
        lists. flat: of an op that takes its operands one by one, what else it takes.
        """
        order: dict[Node, Any] = {}
        for function in functions:
            order |= {n: value for n, (_, value) in function.frame.captured.items()}
        order = {n: order[n] for n in sorted(order, key=str)}
        held = []
        for function, name in zip(functions, names, strict=True):
            own = next(n for n in (f"{name}_{i}" for i in count()) if n not in self.frame.modules)
            self.frame.modules[own] = function.module(list(order), own)
            node = self.graph.get_attr(own)
            node.meta.update(self.place())
            node.meta["nr"] = len(self.order)
            self.order.append(node)
            held.append(node)
        several = (split,) if isinstance(split, int) else split or ()
        groups, left = [], list(operands)
        for length in several:
            groups.append(left[:length])
            left = left[length:]
        groups.append([*left, *order.values()])
        kind: Any = list if lists else tuple
        made = [*map(kind, groups[:-1]), (kind if len(groups) == 2 and lists else tuple)(groups[-1])]
        values = self._apart(result.values)
        given = made if flat is None else [v for group in made for v in group]
        self.record(op, (*before, *held, *given), flat or {}, tuple(values))
        return result.spec.unflatten(values)

    def loop(
        self: Any,
        op: Any,
        bodies: dict[str, Callable[..., Any]],
        given: Sequence[Any],
        run: Callable[[], Any],
        named: Sequence[Any] | None = None,
        split: Any = None,
        lists: bool = False,
    ) -> Any:
        """A node of an op that calls functions again and again, each recorded once of `given`; run() gives
        the results. bodies: the functions by what their graphs are called; named, split, lists: see
        `function` and `called`.
        """
        made = [self.function(f, given, named) for f in bodies.values()]
        last = made[-1]
        with self.paused():
            last.values, last.spec = flatten(run())
        return self.called(op, (), made, list(bodies), named or given, last, split, lists)

    def as_many(self: Any, run: Callable[[], Sequence[Any]]) -> list[Any]:
        """run(), of as many along the first dim as this record assigns to the next size that data decide."""
        assigned = self.numbers.values.get(f"u{self.numbers.count('u')}")
        return [t if assigned is None else resized(t, 0, assigned) for t in run()]

    def many(self: Any, values: Sequence[Any]) -> None:
        """The tensors are all as long as data say: a symbol for that."""
        if not values or self.frames:
            return
        expr = self.numbers.fresh("u", int(values[0].shape[0]), self.known[id(values[0])], 0)
        (own,) = expr.free()
        self.numbers.known.ranges.setdefault(own, (0, math.inf))
        self.numbers.backed.discard(own)
        for t in values:
            self.exprs[id(t)] = {0: expr}
            self.node(t).meta["told"] = sizes_of(self, t)

    def _apart(self: Any, values: Sequence[Any]) -> list[Any]:
        """Results, each a tensor of its own."""
        seen: set[int] = set()
        found = []
        with self.paused():
            for v in values:
                known = isinstance(v, torch.Tensor) and (id(v) in seen or id(v) in self.frame.known)
                found.append(v.detach().clone() if known else v)
                seen.add(id(v))
        return found


__all__ = ["Frame", "Function", "Subgraphs"]
