"""Backward passes that a region (matching.py) takes at once.

A pass through a graph is one call whose operand is the graph: which nodes there are, in which order they
were made, how they lead to each other, what they saved, and the leaves. If all of it is as it was when the
pass was matched node by node, what the rules, the engine and the leaves did then is known: the matcher makes
the leaves' gradients, and lets go of what the nodes saved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight._engine.autograd import hooks
from rushlight._engine.autograd.node import AccumulateGrad, Hooks, Node
from rushlight._engine.core.profiling_ranges import SPANS
from rushlight._engine.dispatch.nodes.formula_nodes import keeps_tensors, release as released
from rushlight._engine.dispatch.nodes.saved_arguments import Saved, Versioned, VersionedList
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.learning import MOST_MATCHERS
from rushlight._engine.trace.matchers import Unknown, Writer

# Of more nodes a matcher would take long to compile.
MOST_NODES = 1000


class Graph:
    """A graph before a pass goes through it: its nodes in the order of their turns, what they saved, and its
    leaves in the order of theirs.
    """

    def __init__(self, root: Node) -> None:
        found, stack = {root}, [root]
        while stack:
            for e in stack.pop().next:
                if e is not None and e[0] not in found:
                    found.add(e[0])
                    stack.append(e[0])
        order = sorted(found, key=_turn)
        self.nodes = [n for n in order if n.__class__ is not AccumulateGrad]
        self.leaves: list[Any] = [n for n in order if n.__class__ is AccumulateGrad]
        self.saved = [n.saved for n in self.nodes]


def _turn(node: Node) -> int:
    return -node.seq


def heard() -> bool:
    """Whether somebody hears of each node of a pass."""
    return bool(hooks.GUARD is not None or hooks.LISTENING or SPANS)


def walk(region: Any, function: Callable[..., None], roots: Any, keep: bool, how: tuple[Any, ...]) -> None:
    """The pass that function(roots, keep, *how) is; keep: whether the nodes keep what they saved."""
    root, number, grad = roots[0]
    key = Keeping if keep else Releasing
    take = region.known.get(key)
    if take is not None and take(region, (root, number, grad)) is not NotImplemented:
        return
    region.ones.clear()
    mark = region.mark(key)
    start, _, trail = mark
    graph = None if trail is None else Graph(root)
    function(roots, keep, *how)
    if graph is None:
        return
    given = [event[3] for event in trail if event[1] == "leaf"]
    region.learnt(key, mark, (graph, number, grad), given, key)
    if key not in start.known:
        start.tries[key] = MOST_MATCHERS  # else its nodes would never be learnt


class Releasing(Writer):
    """The matcher of a pass. Its values are (a Graph, which result of the root, the gradient), and what it
    found are the leaves' gradients.
    """

    keeps, lasting = False, True

    def __init__(self, region: Any, nodes: list[Any], trail: list[Any]) -> None:
        super().__init__(region, nodes, [event for event in trail if event[1] != "leaf"])
        self.leaves = [event[2] for event in trail if event[1] == "leaf"]
        # What the graph's nodes are called.
        self.called: dict[Any, str] = {}
        self.released: list[str] = []

    def _compare(self, value: Any, name: str) -> None:
        if value.__class__ is Graph:
            self._graph(value, name)
        else:
            super()._compare(value, name)

    def _graph(self, graph: Graph, name: str) -> None:
        if len(graph.nodes) > MOST_NODES or self.become is not None:
            raise Unknown
        self.called[graph.nodes[0]] = name
        places = {node: place for place, node in self.region.made.items()}
        for node, saved in zip(graph.nodes, graph.saved, strict=True):
            place = places.get(node)
            if place is None or not self._trusted(node, saved, self.called[node], place):
                self._visited(node, saved, self.called[node])
        order = [self.called[n] for n in (*graph.nodes, *graph.leaves)]
        if len(order) > 1:
            self.conditions.append(f"falling({', '.join(order)})")
        made = f"{self.constant(Hooks)}.made"  # by which the leaves' turns are known
        self.conditions.append(made if Hooks.made else f"not {made}")
        for node in graph.leaves:
            self._leaf(node, self.called[node])
        if not self.keeps:
            self.released = [*map(self._released, graph.nodes, graph.saved)]

    def _released(self, node: Any, saved: Any) -> str:
        """Code that lets go of what a node saved."""
        name, release = self.called[node], node.__class__.release
        if saved.__class__ is Saved:
            known = release in (Node.release, released) and saved.tensors()
        else:
            known = release is released and keeps_tensors(saved)
        return f"{name}.saved = None" if known or release is Node.let_go else f"{name}.release()"

    def _trusted(self, node: Any, saved: Any, name: str, place: int) -> bool:
        """A node that a step of this segment made at this place: what it is and what it saved is as that
        says, unless somebody has hooked it, or has written to what came in from outside.

        False, with nothing said, where that is not all.
        """
        kept = _kept_by(node, saved, f"{name}.saved")
        known = [(t, self.region.place_of(t), code, version) for t, code, version in kept or ()]
        if (
            kept is None
            or any(p is None or p in self.entered for _, p, _, _ in known)
            or node.hooks is not None
        ):
            return False
        classes = f"{self.constant(node.__class__)}, {self.constant(saved.__class__)}"
        edges = self._fresh("v")
        self.conditions.append(f"({edges} := edges({name}, region.made.get({place}), {classes})) is not None")
        for i, e in enumerate(node.next):
            if e is not None:
                self._edge(e[0], f"{edges}[{i}][0]")
        for t, p, code, version in known:
            self.names.setdefault(p, code)
            self.given.setdefault(id(t), code)
            holder = code.removesuffix(".tensor")
            if p in self.region.arrays and holder != code:
                self.conditions.append(f"lasts({holder})")
            elif p in self.region.arrays:
                of = self._let(f"{code}._storage")
                self.conditions.append(f"{version} == (0 if {of} is None else {of}.version)")
        return True

    def _edge(self, node: Any, code: str) -> None:
        """A node that another leads to."""
        known = self.called.get(node)
        if known is None:
            self.called[node] = self._let(code)
        else:
            self.conditions.append(f"{code} is {known}")

    def _visited(self, node: Any, saved: Any, name: str) -> None:
        """A node on the way: its class, where it leads to, what it saved."""
        conditions = self.conditions
        if node.hooks is not None:
            raise Unknown
        conditions.append(f"{name}.__class__ is {self.constant(node.__class__)} and {name}.hooks is None")
        if node.multi:
            conditions.append(f"{name}.results() == {node.results()}")
        edges = self._let(f"{name}.next")
        conditions.append(f"len({edges}) == {len(node.next)}")
        for i, e in enumerate(node.next):
            if e is None:
                conditions.append(f"{edges}[{i}] is None")
                continue
            self._edge(e[0], f"{edges}[{i}][0]")
            conditions.append(f"{edges}[{i}][1] == {e[1]}")
        self._saved_by(node, saved, name)

    def _leaf(self, node: Any, name: str) -> None:
        leaf = node.variable
        if node.hooks is not None or leaf is None or node not in self.leaves:
            raise Unknown
        place = self.region.place_of(leaf)
        if place in self.region.arrays and place not in self.entered:
            of = self.called[node] = self._fresh("v")
            cls = self.constant(leaf.__class__)
            self.conditions.append(f"({of} := leaf({name}, region.inputs[{place}][0], {cls})) is not None")
            self.given.setdefault(id(leaf), of)
            self.names.setdefault(place, of)
            return
        self.conditions.append(f"{name}.__class__ is AccumulateGrad and {name}.hooks is None")
        of = self._let(f"{name}._leaf()")
        self._tensor(leaf, of)
        self.conditions.append(f"getattr({of}, '_grad', None) is None")
        self.called[node] = of

    def _result(self, found: Any) -> str:
        if found.__class__ is not list:
            return super()._result(found)
        for node, grad in zip(self.leaves, found, strict=True):
            if not isinstance(grad, Tensor):
                raise Unknown
            self.lines.append(f"{self.called[node]}._grad = {super()._result(grad)}")
        self.lines += self.released
        return "None"


def _kept_by(node: Any, saved: Any, code: str) -> list[tuple[Any, str, str]] | None:
    """The tensors among what a node saved, with code for them and their versions; None if it is not known."""
    if saved.__class__ is Saved:
        kept = []
        items = [(v, f"{code}._values[{key!r}]") for key, v in saved._values.items()]
        if saved._results is not None:
            items += [(v, f"{code}._results[1][{i}]") for i, v in enumerate(saved._results[1])]
        for v, at in items:
            if v.__class__ is VersionedList:
                kept += [
                    (w.tensor, f"{at}.items[{i}].tensor", f"{at}.items[{i}].version")
                    for i, w in enumerate(v.items)
                ]
            elif v.__class__ is Versioned:
                kept.append((v.tensor, f"{at}.tensor", f"{at}.version"))
            elif isinstance(v, Tensor):
                return None
        return kept
    if hasattr(node.__class__, "formula") and len(saved) == 3:
        return [
            (t, f"{code}[1][{i}][0]", f"{code}[1][{i}][1]")
            for i, (t, version) in enumerate(saved[1])
            if version >= 0
        ]
    return None


class Keeping(Releasing):
    """The same of a pass after which the nodes keep what they saved."""

    keeps = True
