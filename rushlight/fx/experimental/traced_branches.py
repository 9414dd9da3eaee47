"""Branches and loops over tensors, as make_fx records them: a node, and graphs of its functions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten
from rushlight._higher_order_ops.operators import Function, Told, apart
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.utils._python_dispatch import _disable_current_modes


def place_of(t: Any) -> tuple[Any, ...]:
    """What tells a tensor's memory, and how it lies there, apart."""
    return t.data_ptr(), t.dtype, tuple(t.shape), t.stride()


class _Body:
    """A traced function: its tracer, the outer nodes that it sees, each with its placeholder and the tensor,
    the nodes of its results, and their structure.
    """

    def __init__(self, tracer: Any, inputs: list[Node], form: Any) -> None:
        self.tracer, self.inputs, self.form = tracer, inputs, form
        self.seen: dict[Node, tuple[Node, Any]] = {}
        self.results: list[Node] = []
        self.spec: Any = None

    def module(self, whole: dict[Node, int], order: Sequence[Node], name: str) -> GraphModule:
        """A module that takes the function's arguments, and what `order` names of outside. whole: which of
        the arguments outer nodes are.
        """
        made, values = Graph(), dict[Node, Node]()
        own = [made.placeholder(f"arg{i}_1") for i in range(len(self.inputs) + len(order))]
        for node, placeholder in zip([*self.inputs, *order], own, strict=True):
            values[node] = placeholder
            placeholder.meta = dict(node.meta)
        for outer, (node, _) in self.seen.items():
            values[node] = own[whole[outer]] if outer in whole else values[outer]
        for node in self.tracer.graph.nodes:
            if node not in values:
                values[node] = made.node_copy(node, values.__getitem__)
        found = [values[n] for n in self.results]
        made.output(found[0] if self.form is None else self.form(found))
        made.eliminate_dead_code()
        return GraphModule(self.tracer.root, made, name)


class Branches:
    """The part of a mode that traces functions. Of the mode: who writes the graph, its nodes by tensor and by
    place.
    """

    tracer: Any
    nodes: dict[int, Node]
    places: dict[tuple[Any, ...], Node]

    # The functions that are being traced, and what is known around each.
    _bodies: list[tuple[_Body, Any]] | None = None

    def branching(self: Any, told: Told) -> Any:
        """The tensors that an op gives, of which the graph gets a node, and their structure; NotImplemented
        where a gradient may go through it.
        """
        if torch.is_grad_enabled() and any(t.requires_grad for t in told.operands):
            return NotImplemented
        given = told.operands[len(told.operands) - len(told.sliced) :]
        bodies = [self._body(f, given, told.sliced) for f in told.functions]
        operands = [*map(self.node, told.operands)]
        first = len(operands) - len(given)
        whole = {operands[first + i]: i for i, s in enumerate(told.sliced) if not s}
        order: dict[Node, Any] = {}
        for b in bodies:
            order |= {n: t for n, (_, t) in b.seen.items() if n not in whole}
        modules, held = [], []
        for b, f in zip(bodies, told.functions, strict=True):
            name = next(n for n in (f"{f.traced}_{i}" for i in count()) if not hasattr(self.tracer.root, n))
            modules.append(b.module(whole, list(order), name))
            setattr(self.tracer.root, name, modules[-1])
            held.append(self.tracer.graph.get_attr(name))
        node = self.tracer.graph.call_function(told.op, told.arguments(held, operands, list(order)))
        seen = list(order.values())
        with _disable_current_modes():
            found = told.op._run(*told.arguments(modules, list(told.operands), seen))
            results = [apart(t, [*told.operands, *seen]) for t in found]
        self.record(tuple(results), node)
        return results, bodies[-1].spec

    def _body(self: Any, f: Function, given: Sequence[Any], sliced: Sequence[bool]) -> _Body:
        with _disable_current_modes():
            own = [(t[0] if s else t).detach().clone() for t, s in zip(given, sliced, strict=True)]
        tracer = self.tracer.within()
        body = _Body(tracer, [tracer.graph.placeholder(f"arg{i}_1") for i in range(len(own))], f.form)
        around = self.tracer, self.nodes, self.places
        self._bodies = [*(self._bodies or ()), (body, around)]
        self.tracer, self.nodes, self.places = tracer, {}, {}
        try:
            for t, node in zip(own, body.inputs, strict=True):
                self.knows(t, node)
            leaves, body.spec = flatten(f.call(*own))
            body.results = [self.node(t) for t in leaves]
        finally:
            self._bodies.pop()
            self.tracer, self.nodes, self.places = around
        return body

    def _from_around(self: Any, t: Any) -> Node | None:
        """A placeholder for what is known around the function that is being traced."""
        known = [a for _, a in self._bodies or () if id(t) in a[1] or place_of(t) in a[2]]
        if not known:
            return None
        inner = self.tracer, self.nodes, self.places
        body, around = self._bodies.pop()
        self.tracer, self.nodes, self.places = around
        try:
            outer = self.node(t)
        finally:
            self._bodies.append((body, around))
            self.tracer, self.nodes, self.places = inner
        if outer not in body.seen:
            graph = self.tracer.graph
            with graph._behind_inputs():
                body.seen[outer] = graph.placeholder(outer.name), t
            self.knows(t, body.seen[outer][0])
        found: Node = body.seen[outer][0]
        return found
