"""A segment of a matched call as an fx graph: its ops as a program would write them."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from linecache import getline
from types import FunctionType
from typing import Any

from numpy import generic, ndarray

from rushlight import fx
from rushlight._C import _set_grad_enabled
from rushlight._dynamo.kinds import Said
from rushlight._engine.dispatch.dispatcher import function
from rushlight._engine.dispatch.overrides import unspelled
from rushlight._engine.dispatch.runners.indexing import _basic as _view_of
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.trace import Node, Place
from rushlight.nn import Module

# What programs write where an op has no public name: a method, with at most so many arguments.
_SPOKEN = {"_overwritten": ("copy_", 2), "_view": ("view", 99), "_to_dtype": ("to", 2)}


def _indexed(x: Any, basic: tuple[Any, ...], ones: tuple[int, ...], last: str) -> tuple[Any, Any, Any]:
    """x[...] as `written` tells it; ones: where dims of one element are put in."""
    if ones and (len(ones) > 1 or basic != (...,)):
        return _view_of, (x, basic, ones, last), {}
    if ones:
        return "unsqueeze", (x, ones[0]), {}
    index = basic[:-1] if basic[-1:] == (...,) and len(basic) > 1 else basic
    return operator.getitem, (x, index[0] if len(index) == 1 else index), {}


def written(row: Any, call: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
    """(function, or a method's name; arguments, keywords) of an op as a program would write it: without what
    is the default.
    """
    if call is _view_of:
        return _indexed(*args, **kwargs)
    if row is None:
        return getattr(call, "target", None) or _derived(call), tuple(args), kwargs
    params = list(row.params)[len(args) :]
    given, rest = list(args), {n: v for n, v in kwargs.items() if not (n == "out" and v is None)}
    for p in params:
        if p.keyword_only or p.varargs or p.name not in rest or rest[p.name] is p.default:
            break
        given.append(rest.pop(p.name))
    rest = {p.name: rest[p.name] for p in params if p.name in rest and rest[p.name] is not p.default}
    if row.name in _SPOKEN and not rest and len(given) <= _SPOKEN[row.name][1]:
        return _SPOKEN[row.name][0], tuple(given), rest
    if getattr(call, "writes", False) or set(row.where) == {"Tensor"}:
        return unspelled(row, call).__name__, tuple(given), rest
    known = {"torch", "nn.functional", "Tensor"}.intersection(row.where)
    return unspelled(row, call) if known else private(row), tuple(given), rest


def _as_program(how: Any, op: Any, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
    """The same with an operator, or as a method, if the program has it so."""
    kind, name = how or ("", "")
    if kind == "method" and args and isinstance(args[0], Place):
        return name, args, kwargs
    if kind == "operator" and len(args) == (1 if name in ("neg", "invert") else 2) and not kwargs:
        return getattr(operator, name), args, kwargs
    return op, args, kwargs


@cache
def private(row: Any) -> Callable[..., Any]:
    """A row that has no public name, as a function that a graph can name."""

    def run(*args: Any, **kwargs: Any) -> Any:
        return function(row)(*args, **kwargs)

    run.__name__ = run.__qualname__ = row.name
    run.__module__ = "rushlight._dynamo.backends"
    return run


def _derived(formula: Callable[..., Any]) -> Callable[..., Any]:
    """A derived gradient, which is an object, as a function that a graph can name."""
    if isinstance(formula, FunctionType):
        return formula

    def gradient(*args: Any, **kwargs: Any) -> Any:
        return formula(*args, **kwargs)

    gradient.__module__ = "derived"
    return gradient


class Writer:
    """Writes nodes of a trace into a graph. numbers: how many bodies of branches and loops there are, by
    name, of all graphs that belong together; enabled: whether grad mode is on where the graph begins; stack:
    of what calls of ops that take functions it is the body.
    """

    def __init__(
        self, said: Said, numbers: Counter[str], enabled: bool | None, stack: Sequence[tuple[str, Any]] = ()
    ) -> None:
        self.said, self.numbers, self.enabled, self._first = said, numbers, enabled, enabled
        self.root, self.graph, self.stack = Module(), fx.Graph(), list(stack)
        # The graph's nodes, by place; where else they may come from, and what came from there.
        self.made: dict[int, Any] = {}
        self.around: Writer | None = None
        self.lifted: list[fx.Node] = []
        # Places whose values are asked for by others than the nodes that are written.
        self.wanted: set[int] = set()

    def at(self, place: int) -> Any:
        """The node at a place."""
        if place not in self.made and self.around is not None:
            outer = self.around.at(place)
            with self.graph._behind_inputs():
                self.made[place] = self.graph.placeholder(outer.name)
            self.lifted.append(outer)
        return self.made[place]

    def seen(self, tree: Any) -> Any:
        """Arguments with the graph's nodes for places."""
        if isinstance(tree, Place):
            return self.at(tree.number)
        if tree.__class__ in (list, tuple):
            return tree.__class__([self.seen(v) for v in tree])
        if isinstance(tree, generic):
            return tree.item()  # the graph's text has no NumPy
        if isinstance(tree, ndarray):
            return self._constant(ROWS["_tensor_of"](tree))
        return {name: self.seen(v) for name, v in tree.items()} if tree.__class__ is dict else tree

    def _constant(self, value: Tensor) -> fx.Node:
        name = f"_tensor_constant{len(self.root._buffers)}"
        self.root.register_buffer(name, value)
        return self.graph.get_attr(name)

    def body(self, name: str, module: fx.GraphModule) -> fx.Node:
        """The node of a graph of its own, which the graph has by that name and a number."""
        number, self.numbers[name] = self.numbers[name], self.numbers[name] + 1
        self.root.add_module(f"{name}_{number}", module)
        return self.graph.get_attr(f"{name}_{number}")

    def write(self, nodes: Sequence[Node]) -> None:
        """The ops of a path."""
        i = 0
        while i < len(nodes):
            n = nodes[i]
            within = n.said[1] if n.said[1].__class__ is Opening else None
            end = i if within is None else _end(nodes, i)
            if within is not None and end > i and self._group(within, nodes, i, end):
                i = end
            elif not getattr(n.said[1], "silent", False):
                self._mode(n.said[4])
                self._op(n)
            i += 1

    def _group(self, of: Opening, nodes: Sequence[Node], begin: int, end: int) -> bool:
        """The ops between two marks as a graph of its own; whether that can be."""
        inner, last = nodes[begin + 1 : end], nodes[end]
        made = {n.first + k for n in inner for k in range(n.count - n.first)}
        if any(n.args[k] not in made for n in inner for k in _written(n.step)):
            return False
        later = self.wanted.union(*[n.args for n in nodes[end + 1 :]])
        outs = [*last.args, *sorted(made & later - {*last.args})]
        name = of.op.name()
        writer = Writer(self.said, self.numbers, self.enabled, [*self.stack, (name, of.op)])
        writer.around, writer.wanted = self, {*outs}
        self.said.add(of.op, len(outs))
        writer.write(inner)
        results = tuple([writer.at(p) for p in outs])
        body = self.body(of.body, writer.end(results))
        found = self.graph.call_function(of.op, (body, *writer.lifted), dict(of.kwargs))
        self._tell(body, nodes[begin])
        self._tell(found, nodes[begin])
        for number, place in enumerate(outs):
            self.made[place] = self.graph.call_function(operator.getitem, (found, number))
            self._tell(self.made[place], nodes[begin])
        return True

    def _mode(self, enabled: bool | None) -> None:
        """What follows runs in this grad mode; None: in whatever it is."""
        if self.enabled is not None and enabled is not None and enabled is not self.enabled:
            self.enabled = enabled
            self.said.add(_set_grad_enabled, enabled)
            self.graph.call_function(_set_grad_enabled, (enabled,))

    def _op(self, n: Node) -> None:
        """An op, and its results."""
        self.said.places.append(n.said[5][-1:])
        if hasattr(n.said[1], "write"):
            self.said.call(None, n.said[1], n.said[2], {})
            found: fx.Node = n.said[1].write(self, [self.seen(v) for v in n.said[2]])
            op = found.target
            for a in found.args:
                if isinstance(a, fx.Node) and a.op == "get_attr":
                    self._tell(a, n)
        else:
            op, args, kwargs = _as_program(n.said[6], *written(*n.said[:4]))
            self.said.call(n.said[0], op, args, kwargs)
            if n.said[0] is ROWS["_tensor_of"]:  # of an array of a row's own
                self.made[n.first] = self.seen(args[0])
                return
            made_by = self.graph.call_method if op.__class__ is str else self.graph.call_function
            found = made_by(op, self.seen(args), self.seen(kwargs))
        self._tell(found, n)
        found.meta["source_fn_stack"] = [*self.stack, (found.name, op)]
        step: Any = n.step
        for number, r in enumerate(step.results):
            several = step.many is not None
            made = self.graph.call_function(operator.getitem, (found, number)) if several else found
            self._tell(made, n)
            self.made[n.first + number] = made
            if r.given >= 0:
                self.made[n.args[r.given]] = made

    def _tell(self, node: fx.Node, n: Node) -> None:
        """Where the program does this."""
        lines = [
            f'  File "{file}", line {line}, in {name}\n    {getline(file, line).strip()}\n'
            for file, line, name in n.said[5]
        ]
        node.stack_trace = "".join(lines) or None

    def end(self, results: Any) -> fx.GraphModule:
        """The module of a graph that gives these."""
        if self._first is not None:
            self._mode(self._first)
        self.graph.output(results)
        return fx.GraphModule(self.root, self.graph)


class Opening:
    """A mark in a trace: a call of an op of a function begins, whose ops a graph holds as a graph of its own.

    body: what that is called.
    """

    silent = acts = True

    def __init__(self, op: Any, body: str, kwargs: dict[str, Any]) -> None:
        self.op, self.body, self.kwargs = op, body, kwargs
        self.name = str(op)

    def __call__(self) -> tuple[()]:
        """Nothing."""
        return ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opening) and self.op is other.op and self.kwargs == other.kwargs

    def __hash__(self) -> int:
        return hash(self.op)


class Closing:
    """A mark: the call ends, and gives these tensors."""

    silent = acts = True
    name = "closing"

    def __call__(self, *tensors: Tensor) -> tuple[()]:
        """Nothing."""
        return ()


CLOSING = Closing()


def _written(step: Any) -> list[int]:
    """Operands that a step writes to, or that are another tensor after it."""
    return [*step.writes, *[r.given for r in step.results if r.given >= 0]]


def _end(nodes: Sequence[Node], begin: int) -> int:
    """Where a call ends that begins there; there, if it does not."""
    depth = 0
    for i, n in enumerate(nodes[begin:], begin):
        depth += (n.said[1].__class__ is Opening) - (n.said[1] is CLOSING)
        if not depth:
            return i
    return begin


def graph_of(
    nodes: Sequence[Node], wanted: Sequence[int], said: Said, enabled: bool | None = None
) -> tuple[list[int], fx.GraphModule]:
    """(the places that come in, a module of the ops on their tensors, which gives those that are wanted);
    `said` is told what the ops are. enabled: whether grad mode is on where they begin; None: it is not told.
    """
    writer = Writer(said, Counter(), enabled)
    inputs = [entry[0] for n in nodes for entry in n.entered]
    for number, place in enumerate(inputs):
        writer.made[place] = writer.graph.placeholder(f"arg{number}_1")
    writer.wanted = {*wanted}
    writer.write(nodes)
    said.add(*inputs, *wanted)
    return inputs, writer.end(tuple([writer.made[p] for p in wanted]))
