"""A segment of a matched call as an fx graph: its ops as a program would write them."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from types import FunctionType
from typing import Any

from numpy import generic, ndarray

from rushlight import fx
from rushlight._C import _set_grad_enabled
from rushlight._dynamo.kinds import Said
from rushlight._engine.dispatch.dispatcher import function
from rushlight._engine.dispatch.overrides import public
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
        return public(row, call).__name__, tuple(given), rest
    known = {"torch", "nn.functional", "Tensor"}.intersection(row.where)
    return public(row, call) if known else private(row), tuple(given), rest


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
    """Writes nodes of a trace into a graph. made: the graph's nodes, by place; numbers: how many bodies of
    branches and loops there are, by name, of all graphs that belong together; enabled: whether grad mode is
    on where the graph begins.
    """

    def __init__(self, said: Said, numbers: Counter[str], enabled: bool | None) -> None:
        self.said, self.numbers, self.enabled, self._first = said, numbers, enabled, enabled
        self.root, self.graph = Module(), fx.Graph()
        self.made: dict[int, Any] = {}

    def seen(self, tree: Any) -> Any:
        """Arguments with the graph's nodes for places."""
        if isinstance(tree, Place):
            return self.made[tree.number]
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
        name = f"{name}_{self.numbers[name]}"
        self.numbers[name.rpartition("_")[0]] += 1
        self.root.add_module(name, module)
        return self.graph.get_attr(name)

    def write(self, nodes: Sequence[Node]) -> None:
        """The ops of a path."""
        for n in nodes:
            if getattr(n.said[1], "silent", False):
                continue
            self._mode(n.said[4])
            if n.said[0] is ROWS["_tensor_of"]:  # of an array of a row's own
                op, args, kwargs = written(*n.said[:4])
                self.said.call(n.said[0], op, args, kwargs)
                self.made[n.first] = self.seen(args[0])
                continue
            self._results(n, self._call(n))

    def _mode(self, enabled: bool | None) -> None:
        """What follows runs in this grad mode; None: in whatever it is."""
        if self.enabled is not None and enabled is not None and enabled is not self.enabled:
            self.enabled = enabled
            self.said.add(_set_grad_enabled, enabled)
            self.graph.call_function(_set_grad_enabled, (enabled,))

    def _call(self, n: Node) -> fx.Node:
        """The node of an op."""
        writes = getattr(n.said[1], "write", None)
        if writes is not None:
            self.said.call(None, n.said[1], n.said[2], {})
            found: fx.Node = writes(self, [self.seen(v) for v in n.said[2]])
            return found
        op, args, kwargs = written(*n.said[:4])
        self.said.call(n.said[0], op, args, kwargs)
        made_by = self.graph.call_method if op.__class__ is str else self.graph.call_function
        return made_by(op, self.seen(args), self.seen(kwargs))

    def _results(self, n: Node, found: fx.Node) -> None:
        step: Any = n.step
        for number, r in enumerate(step.results):
            several = step.many is not None
            made = self.graph.call_function(operator.getitem, (found, number)) if several else found
            self.made[n.first + number] = made
            if r.given >= 0:
                self.made[n.args[r.given]] = made

    def end(self, results: Any) -> fx.GraphModule:
        """The module of a graph that gives these."""
        if self._first is not None:
            self._mode(self._first)
        self.graph.output(results)
        return fx.GraphModule(self.root, self.graph)


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
    writer.write(nodes)
    said.add(*inputs, *wanted)
    return inputs, writer.end(tuple([writer.made[p] for p in wanted]))
