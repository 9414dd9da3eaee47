"""CSEPass: what is computed twice of the same, is computed once."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.fx.passes.infra.pass_base import PassBase, PassResult

__all__ = ["CSEPass", "get_CSE_banned_ops"]

_RANDOM = (
    "dropout _fused_dropout _standard_gamma bernoulli multinomial native_dropout normal poisson binomial "
    "rrelu rand_like rand randint randn randperm"
)
_WRITING = "add_ sub_ mul_ div_ pow_ lerp_ relu_ sigmoid_ tanh_"


def get_CSE_banned_ops() -> set[Any]:
    """Random ops, and ops that write to what they are given, which are no two times the same."""
    aten: Any = torch.ops.aten
    return {getattr(aten, name) for name in (_RANDOM + " " + _WRITING).split()}


def draws(node: Node) -> bool:
    """Whether a node's op draws random numbers, and so gives something else each time."""
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


class CSEPass(PassBase):
    """Gives a copy of a graph of functions without effects, in which no two nodes compute the same.

    banned_ops: ops (torch.ops.aten.rand) that are left as they are.
    """

    def __init__(self, banned_ops: set[Any] | None = None) -> None:
        self.banned_ops = banned_ops or set()
        self._names = {str(op) for op in self.banned_ops}

    def call(self, graph_module: GraphModule) -> PassResult:
        """The copy; the module itself where there is nothing to save."""
        made = self.of_graph(graph_module.graph)
        if len(made.nodes) == len(graph_module.graph.nodes):
            return PassResult(graph_module, False)
        return PassResult(GraphModule(graph_module, made), True)

    def of_graph(self, graph: Graph) -> Graph:
        """The copy of a graph."""
        made, values = Graph(), dict[Node, Node]()
        known: dict[Any, Node] = {}
        for node in graph.nodes:
            key = None if self._stays(node) else _key(node, values)
            if key is not None and key in known:
                values[node] = known[key]
                continue
            values[node] = made.node_copy(node, values.__getitem__)
            if key is not None:
                known[key] = values[node]
        return made

    def _stays(self, node: Node) -> bool:
        target: Any = getattr(node.target, "overloadpacket", node.target)
        return node.op in ("placeholder", "output", "get_attr") or str(target) in self._names or draws(node)


def _key(node: Node, values: dict[Node, Node]) -> Any:
    """What two nodes share that compute the same; None where that cannot be told."""
    leaves, spec = flatten((node.args, dict(node.kwargs)))
    told = tuple(values[leaf] if isinstance(leaf, Node) else (type(leaf), leaf) for leaf in leaves)
    try:
        hash(told)
    except TypeError:
        return None
    return node.op, node.target, told, str(spec)
