"""reinplace: ops of a functional graph that give new tensors, as ops that write, where that is safe.

What is asked of a graph's nodes: in whose memory their results lie, and who reads that memory afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import rushlight as torch
from rushlight._engine.core.layout import overlaps_itself
from rushlight._engine.core.pytree import flatten
from rushlight._subclasses.fake_tensor import FakeTensorMode
from rushlight.export import overloads
from rushlight.export.overloads import Overload
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.fx.passes.fake_tensor_prop import FakeTensorProp

__all__ = ["reinplace"]
# Ops that give a tensor with one of its views overwritten, and these views.
_SCATTERS = {
    "slice_scatter": "slice.Tensor",
    "select_scatter": "select.int",
    "diagonal_scatter": "diagonal.default",
    "as_strided_scatter": "as_strided.default",
}


def reinplace(gm: GraphModule, *sample_args: Any) -> GraphModule:
    """The graph, rewritten: `add(x, y)` becomes `add_(x, y)` where x lies in memory that the graph made
    itself and nobody reads afterwards; `select_scatter(x, y, ...)` a copy into the view.

    sample_args: what the graph takes, for shapes and dtypes.
    """
    FakeTensorProp(gm, FakeTensorMode(allow_non_fake_inputs=True)).propagate(*sample_args)
    work = _Reinplacing(gm.graph)
    for node in list(gm.graph.nodes):
        work.visit(node)
    gm.graph.lint()
    gm.recompile()
    return gm


class _Reinplacing:
    """`memory`: the storages in which a node's result lies; `given`: those that the graph did not make;
    `same`: which node's tensor a node's result is itself.
    """

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.places = {node: i for i, node in enumerate(graph.nodes)}
        # Of what was propagated, not by the ops: some that say that they make a tensor may give a view.
        self.memory = {node: _storages(node.meta.get("val")) for node in graph.nodes}
        outside = [self.memory[node] for node in graph.nodes if node.op in ("placeholder", "get_attr")]
        self.given = frozenset[int]().union(*outside)
        self.same: dict[Node, Node] = {}
        # What nobody reads, such as views that were made again after a write.
        self.dead = set[Node]()
        for node in reversed(graph.nodes):
            if not node.is_impure() and self.dead.issuperset(node.users):
                self.dead.add(node)

    def visit(self, node: Node) -> None:
        """Have a node write, if it may."""
        target: Any = node.target
        if not isinstance(target, Overload) or target._schema.writes or target.is_view:
            return
        if not node.args or not isinstance(node.args[0], Node) or not self.free(node, node.args[0]):
            return
        if target._schema.op_name in _SCATTERS:
            self.scattered(node, node.args[0])
            return
        form = _writing(target)
        if form is not None and _alike(node.meta.get("val"), node.args[0].meta.get("val")):
            node.target = form
            self.lies_in(node, node.args[0])

    def lies_in(self, node: Node, target: Node) -> None:
        """A node's result is another's from here on."""
        made, memory = self.memory[node], self.memory[target]
        for other, found in self.memory.items():
            if found & made:
                self.memory[other] = (found - made) | memory
        self.same[node] = self.same.get(target, target)

    def free(self, node: Node, target: Node) -> bool:
        """Whether nobody reads the memory of a node's first argument from the node on, but by its result."""
        memory, value = self.memory[target], target.meta.get("val")
        if not memory or memory & self.given or not isinstance(value, torch.Tensor):
            return False
        if overlaps_itself(value.shape, value.stride()):
            return False
        if [a for a in flatten((node.args, node.kwargs))[0] if a is target] != [target]:
            return False
        later = [
            other for other in self.aliases(memory) if other is not node and self.read_later(other, node)
        ]
        source = node.args[1] if len(node.args) > 1 else None
        others = [a for a in node.all_input_nodes if a is not target and self.memory[a] & memory]
        return not later and (
            not others or (_scatters(node) and others == [source] and self.is_seen(node, source))
        )

    def aliases(self, memory: frozenset[int]) -> Iterator[Node]:
        """All nodes whose results lie in some memory."""
        return (node for node, found in self.memory.items() if found & memory)

    def read_later(self, node: Node, place: Node) -> bool:
        """Whether a result is an argument behind a place."""
        return any(
            self.places[user] > self.places[place] and user not in self.dead and not self.undone(user, place)
            for user in node.users
        )

    def undone(self, user: Node, place: Node) -> bool:
        """Whether a result is put back where its first argument was seen: nothing, if it is written there."""
        source = user.args[1] if len(user.args) > 1 else None
        return source is place and _scatters(user) and self.is_seen(user, place.args[0])

    def is_seen(self, node: Node, source: Any) -> bool:
        """Whether what a scatter writes is that very view of its tensor, which was written to already."""
        view = self.same.get(source, source)
        name = _SCATTERS[getattr(node.target, "_schema").op_name]
        return (
            isinstance(view, Node)
            and isinstance(view.target, Overload)
            and view.target is overloads.anyone(name)
            and view.args == (node.args[0], *node.args[2:])
            and view.kwargs == node.kwargs
        )

    def scattered(self, node: Node, base: Node) -> None:
        """A view of the tensor, overwritten; nothing where it was written to in place."""
        source: Any = node.args[1]
        if not self.is_seen(node, source):
            name = _SCATTERS[getattr(node.target, "_schema").op_name]
            with self.graph.inserting_before(node):
                view = self.graph.call_function(
                    overloads.anyone(name), (base, *node.args[2:]), dict(node.kwargs)
                )
                copied = self.graph.call_function(overloads.anyone("copy_.default"), (view, source))
            for made in (view, copied):
                self.memory[made], self.places[made] = self.memory[base], self.places[node]
        self.lies_in(node, base)
        node.replace_all_uses_with(base)
        self.graph.erase_node(node)
        del self.memory[node]


def _storages(value: Any) -> frozenset[int]:
    """The storages of a node's result, or results."""
    return frozenset(v.untyped_storage()._cdata for v in flatten(value)[0] if isinstance(v, torch.Tensor))


def _scatters(node: Node) -> bool:
    return isinstance(node.target, Overload) and node.target._schema.op_name in _SCATTERS


def _writing(op: Overload) -> Overload | None:
    """The overload that does the same in place, if there is one."""
    params = [p.name for p in op._schema.arguments]
    for form in overloads.recorded(f"{op._schema.op_name}_").values():
        same = [p.name for p in form._schema.arguments] == params
        if same and form._schema.writes and "inplace_view" not in form._facts[2] and not form.is_composite:
            return form
    return None


def _alike(result: Any, target: Any) -> bool:
    """Whether a result fits a tensor as it is."""
    return (
        isinstance(result, torch.Tensor)
        and isinstance(target, torch.Tensor)
        and result.shape == target.shape
        and result.dtype is target.dtype
    )
