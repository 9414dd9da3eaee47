"""CapabilityBasedPartitioner: the parts of a graph that a backend supports, as large as they can be."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from rushlight.fx.graph_module import GraphModule
from rushlight.fx.names import qualified
from rushlight.fx.node import Node
from rushlight.fx.passes.operator_support import OperatorSupportBase
from rushlight.fx.passes.utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]


class Partition:
    """A set of nodes: `nodes` is {node: its place, counted from the graph's end, or None}, `id` a number."""

    def __init__(
        self,
        id: int | None = None,
        nodes: Iterable[Node] | None = None,
        node_orders: Iterable[int] | None = None,
    ) -> None:
        self.id = id
        given = list(nodes or ())
        places: list[int | None] = [None] * len(given) if node_orders is None else list(node_orders)
        if len(given) != len(places):
            raise AssertionError("nodes and node_orders must have the same length")
        self.nodes: dict[Node, int | None] = dict(zip(given, places, strict=True))

    def __repr__(self) -> str:
        return str(self.nodes)

    def add_node(self, node: Node, node_order: int | None = None) -> None:
        """Take a node in."""
        self.nodes[node] = node_order

    def remove_node(self, node: Node) -> None:
        """Take a node out."""
        del self.nodes[node]

    def size(self) -> int:
        """How many nodes it has."""
        return len(self.nodes)


class _Merging:
    """Partitions of a graph as they grow, none of which is reached from itself through other nodes."""

    def __init__(self, nodes: list[Node]) -> None:
        self.parts: dict[int, Partition] = {}
        self.of: dict[Node, int] = {}
        # By node: all nodes that depend on it.
        self.after: dict[Node, set[Node]] = {}
        for node in reversed(nodes):
            self.after[node] = set(node.users).union(*(self.after[user] for user in node.users))

    def reached(self, part: Iterable[Node]) -> tuple[set[Node], set[int]]:
        """Nodes and partitions that depend on a set of nodes, through nodes and partitions outside it."""
        inside = set(part)
        left = [user for node in inside for user in node.users if user not in inside]
        nodes: set[Node] = set()
        parts: set[int] = set()
        while left:
            user = left.pop()
            for node in (user, *self.after[user]):
                if node in nodes:
                    continue
                nodes.add(node)
                number = self.of.get(node)
                if number is not None and number not in parts:
                    parts.add(number)
                    # Once a partition is a single node, all its results depend on all that it reads.
                    left += [each for each in self.parts[number].nodes if each not in nodes]
        return nodes, parts

    def merge(self, a: int, b: int) -> int:
        """Make one of two partitions, if that leaves no circle; the number of the new one, or the first."""
        both = {**self.parts[a].nodes, **self.parts[b].nodes}
        outside = {n: self.of.pop(n) for n in both}
        nodes, _ = self.reached(both)
        self.of.update(outside)
        if not nodes.isdisjoint(both):
            return a
        kept, gone = (b, a) if len(self.parts[a].nodes) < len(self.parts[b].nodes) else (a, b)
        self.parts[kept].nodes.update(self.parts.pop(gone).nodes)
        self.of.update(dict.fromkeys(both, kept))
        return kept


class CapabilityBasedPartitioner:
    """Finds the parts of `graph_module` that `operator_support` supports, and makes modules of them.

    allows_single_node_partition: whether a part may have a single node that computes, default False;
    non_compute_ops: names of functions (torch.ops.aten.view) that do not count as computing, beside view and
    getitem; allowed_single_node_partition_ops: names of functions that may be alone.
    skip_horizontal_fusion: join only parts where one reads the other's results, default False.
    """

    def __init__(
        self,
        graph_module: GraphModule,
        operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False,
        non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
        skip_horizontal_fusion: bool = False,
    ) -> None:
        self.graph_module, self.operator_support = graph_module, operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = non_compute_ops or []
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or []
        self.skip_horizontal_fusion = skip_horizontal_fusion

    def propose_partitions(self) -> list[Partition]:
        """The parts, each with its nodes in the graph's order."""
        nodes = list(self.graph_module.graph.nodes)
        modules = dict(self.graph_module.named_modules())
        merging = _Merging(nodes)
        numbers, first = itertools.count(), dict[int, int]()
        for place, node in enumerate(reversed(nodes)):
            made = self.operator_support.is_node_supported(modules, node)
            candidates: list[int] = []
            if made:
                number = next(numbers)
                merging.parts[number] = Partition(number, [node], [place])
                merging.of[node] = first[number] = number
                candidates.append(number)
            if not self.skip_horizontal_fusion:
                candidates += sorted(merging.parts, key=first.__getitem__)
            elif made:
                candidates += [merging.of[user] for user in node.users if user in merging.of]
            self._join(merging, list(dict.fromkeys(candidates)), first)
        for part in merging.parts.values():
            part.nodes = dict(sorted(part.nodes.items(), key=lambda item: item[1] or 0, reverse=True))
        self._give_items(merging, nodes)
        parts = list(merging.parts.values())
        if not self.allows_single_node_partition:
            parts = [part for part in parts if self._computes(part) > 1]
        return [part for part in parts if part.size()]

    def _join(self, merging: _Merging, candidates: list[int], first: dict[int, int]) -> None:
        for other in candidates[1:]:
            before = candidates[0]
            candidates[0] = merging.merge(before, other)
            if before not in merging.parts or other not in merging.parts:
                first[candidates[0]] = min(first[before], first[other])

    def _give_items(self, merging: _Merging, nodes: list[Node]) -> None:
        """Move the nodes that take items of a result to where the result is made."""
        while True:
            moved = {
                user: merging.of.get(node)
                for node in nodes
                if all(_name(user) == "_operator.getitem" for user in node.users)
                for user in node.users
                if merging.of.get(user) != merging.of.get(node)
            }
            if not moved:
                return
            for node, number in moved.items():
                if node in merging.of:
                    merging.parts[merging.of.pop(node)].remove_node(node)
                if number is not None:
                    merging.of[node] = number
                    merging.parts[number].add_node(node)

    def _computes(self, part: Partition) -> int:
        plain = {"torch.ops.aten.view", "_operator.getitem", *self.non_compute_ops}
        called = [_name(node) for node in part.nodes if node.op == "call_function"]
        alone = [name for name in called if name in self.allowed_single_node_partition_ops]
        return sum(name not in plain for name in called) + len(alone)

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """The module, with a submodule `prefix` and number in the place of each part."""
        return fuse_by_partitions(self.graph_module, [part.nodes for part in partitions], prefix=prefix)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """fuse_partitions() of propose_partitions()."""
        return self.fuse_partitions(self.propose_partitions(), prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Take nodes of non_compute_ops out of the parts in which they come first or last."""
        for part in partitions:
            plain = [node for node in part.nodes if _name(node) in self.non_compute_ops]
            first: set[Node] = set()
            for node in plain:
                if all(read not in part.nodes or read in first for read in node.all_input_nodes):
                    first.add(node)
            last: set[Node] = set()
            for node in reversed(plain):
                if all(user not in part.nodes or user in last for user in node.users):
                    last.add(node)
            for node in first | last:
                part.remove_node(node)


def _name(node: Node) -> str | None:
    """The dotted name of the function that a node calls, as PyTorch spells it; None where it calls none."""
    if node.op != "call_function":
        return None
    return qualified(node.target)
