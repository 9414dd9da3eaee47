"""Parts of a program in another grad mode, or in autocast: calls of ops that take graphs of their own."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count, groupby, pairwise
from typing import Any

import rushlight as torch
from rushlight._engine.autograd import grad_mode
from rushlight._engine.dispatch import interpreters
from rushlight._higher_order_ops.wrap import wrap_with_autocast, wrap_with_set_grad_enabled
from rushlight.export.recording import strictness
from rushlight.export.recording.places import PACKAGE
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node

_FILES = ("_engine/autograd/grad_mode.py", "amp/autocast_mode.py")
_MODES = tuple(os.path.join(PACKAGE, *file.split("/")) for file in _FILES)


def _of_program() -> bool:
    """Whether a mode that begins or ends is the program's own, and not one that the framework computes in."""
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_MODES):
        own = frame.f_locals.get("function", frame.f_locals.get("func"))  # which was decorated
        code = getattr(own, "__code__", None)
        if code is not None and not code.co_filename.startswith(PACKAGE):
            return True
        frame = frame.f_back
    return frame is not None and not frame.f_code.co_filename.startswith(PACKAGE)


class Regions:
    """The part of a Listener that knows the modes which the program is in."""

    grad: bool
    region: tuple[Any, ...]
    decomposes: bool
    switches: int  # to the mode that it was in, each of which begins a part
    _numbers: Iterator[int]
    # Modes that have begun, which live as long as their ids are kept: what it was in before, and where it
    # stood among the interpreters.
    _before: dict[int, tuple[Any, bool, tuple[Any, ...]]]
    _places: dict[int, int]

    def _outside(self) -> None:
        """No mode has begun."""
        self.grad, self.region = torch.is_grad_enabled(), ()
        self._numbers, self._before, self._places, self.switches = count(), {}, {}, 0

    @contextmanager
    def within_grad(self, enabled: bool) -> Iterator[None]:
        """A context whose ops are noted to be in a grad mode."""
        before = self.grad, self.region
        self._grad_is(enabled)
        try:
            yield
        finally:
            self.grad, self.region = before

    @contextmanager
    def hearing_casts(self) -> Iterator[None]:
        """A context in which the listener stands behind autocast, and hears of what that casts."""
        place = self._behind()
        try:
            yield
        finally:
            self._back(place)

    def _behind(self) -> int:
        """Stand behind autocast; the place before."""
        modes = interpreters.STACK.modes
        place = modes.index(self)
        first = next((i for i, mode in enumerate(modes) if hasattr(mode, "casts")), place)
        modes.insert(min(first, place), modes.pop(place))
        return place

    def _back(self, place: int) -> None:
        """Stand at a place among the interpreters again."""
        interpreters.STACK.modes.remove(self)
        interpreters.STACK.modes.insert(place, self)

    def _enter(self, op: Any, given: tuple[Any, ...]) -> None:
        """What follows is in one more region."""
        self.region = (*self.region, (op, given, next(self._numbers)))

    @contextmanager
    def within_autocast(self, given: tuple[Any, ...]) -> Iterator[None]:
        """A context whose ops are noted to be in autocast."""
        before = self.region
        self._enter(wrap_with_autocast, given)
        try:
            yield
        finally:
            self.region = before

    def _grad_is(self, enabled: bool) -> None:
        """The mode is another: that outside of the innermost region, if this is one of the other mode."""
        if enabled == self.grad:
            return
        self.grad = enabled
        if self.region and self.region[-1][0] is wrap_with_set_grad_enabled:
            self.region = self.region[:-1]
        else:
            self._enter(wrap_with_set_grad_enabled, (enabled,))

    def begins(self, mode: Any) -> None:
        """A context of the program begins."""
        self._before.setdefault(id(mode), (mode, self.grad, self.region))
        if isinstance(mode, torch.autocast) and self.decomposes:
            self._places[id(mode)] = self._behind()
        elif isinstance(mode, torch.autocast):
            given = mode._given if strictness.is_on() else (mode.fast_dtype, False)
            self._enter(wrap_with_autocast, (mode.device, given[0], mode._enabled, given[1]))
        else:
            self._grad_is(bool(getattr(mode, "enabled", getattr(mode, "mode", True))))

    def ends(self, mode: Any) -> None:
        """It ends."""
        if id(mode) in self._places:
            self._back(self._places.pop(id(mode)))
        if id(mode) in self._before:
            _, self.grad, self.region = self._before.pop(id(mode))


@contextmanager
def noticed(listener: Any) -> Iterator[None]:
    """A context in which a listener hears of modes that the program begins and ends."""
    if not (listener.symbolic or listener.decomposes):
        yield
        return
    places = (
        (grad_mode._Switch, "__enter__", True),
        (grad_mode.set_grad_enabled, "__init__", True),
        (grad_mode._Mode, "__exit__", False),
        (torch.autocast, "__enter__", True),
        (torch.autocast, "__exit__", False),
    )
    own: list[Any] = [(cls, name, cls.__dict__[name]) for cls, name, _ in places]
    for cls, name, begins in places:
        setattr(cls, name, _telling(listener, cls.__dict__[name], begins))
    own.append((torch._C, "_set_grad_enabled", torch._C._set_grad_enabled))
    setattr(torch._C, "_set_grad_enabled", _switching(listener, torch._C._set_grad_enabled))
    try:
        yield
    finally:
        for cls, name, function in own:
            setattr(cls, name, function)


def _telling(listener: Any, run: Callable[..., Any], begins: bool) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = run(self, *args, **kwargs)
        if listener in interpreters.STACK.modes and _of_program():
            (listener.begins if begins else listener.ends)(self)
        return found

    return call


def _switching(listener: Any, run: Callable[[bool], None]) -> Callable[[bool], None]:
    def call(enabled: bool) -> None:
        run(enabled)
        if listener in interpreters.STACK.modes and _of_program():
            listener.switches += enabled == listener.grad
            listener._grad_is(enabled)

    return call


# --- graphs of their own ----------------------------------------------------------------------------


def in_modes(listener: Any, graph: Graph, root: Any, apart: bool) -> None:
    """Write the parts of a program that are in a mode as calls of ops; apart: leave them as they are."""
    now = {} if apart else wrapped(graph, root, bool(listener.region))
    unbacked = listener.numbers.unbacked
    unbacked.update({name: (now.get(node, node), dim) for name, (node, dim) in unbacked.items()})
    for called in listener.module_calls.values():
        for values in (called.inputs, called.outputs):
            values[:] = [now.get(v, v) if isinstance(v, Node) else v for v in values]
    for node in graph.nodes:
        node.meta.pop("region", None)
        node.meta.pop("switches", None)
        node.meta.pop("was", None)


def wrapped(graph: Graph, root: Any, to_the_end: bool = False) -> dict[Node, Node]:
    """Write each part of a graph that is in a mode as a call of an op; `root` gets the graphs. What the nodes
    of a part are now. to_the_end: whether the last mode does not end.

    Parts, between which are others, are counted, as in PyTorch; the nodes that hold their graphs go on from
    there.
    """
    if not any(node.meta.get("region") for node in graph.nodes):
        return {}
    _gather(graph)
    found: dict[Node, Node] = {}
    parts = [(key[0], [n for _, n in group]) for key, group in groupby(_parts(graph), lambda pair: pair[0])]
    if parts[0][0] is not None:
        parts.insert(0, (None, []))
    last = parts[-2][0] if [n.op for n in parts[-1][1]] == ["output"] else None
    ends_later = last is not None and (to_the_end or last[0] is wrap_with_autocast)
    between = [False] + [_both_grad(one[0], other[0]) for one, other in pairwise(parts)]
    names = count(len(parts) + sum(between) - ends_later)
    for i, (region, group) in enumerate(parts):
        if region is not None:
            found |= _call(graph, root, region, group, i + sum(between[: i + 1]), names)
    return found


def _parts(graph: Graph) -> Iterator[tuple[Any, Node]]:
    """Each node with the region that it is in, or else after how many switches that changed nothing."""
    switches = 0
    for node in list(graph.nodes):
        switches = node.meta.get("switches", switches)
        region = _outermost(node)
        yield (region, 0 if region else switches), node


def _both_grad(one: Any, other: Any) -> bool:
    """Whether two parts are in grad modes: between these is a part without ops."""
    return None not in (one, other) and one[0] is other[0] is wrap_with_set_grad_enabled


def _outermost(node: Node) -> Any:
    region = node.meta.get("region")
    return region[0] if region and node.op not in ("placeholder", "output") else None


def _gather(graph: Graph) -> None:
    """Numbers that were written between the ops of one part, behind it or within it."""
    nodes = list(graph.nodes)
    for i, node in enumerate(nodes):
        if not node.meta.get("sym") or node.meta.get("region"):
            continue
        before = next((n for n in reversed(nodes[:i]) if not n.meta.get("sym")), None)
        after = next((n for n in nodes[i:] if not n.meta.get("sym")), None)
        if before is not None and after is not None:
            regions = before.meta.get("region"), after.meta.get("region")
            if regions[0] and regions[0] == regions[1]:
                node.meta["region"] = regions[0]


def _call(
    graph: Graph, root: Any, region: Any, nodes: list[Node], part_nr: int, names: Iterator[int]
) -> dict[Node, Node]:
    inside = set(nodes)
    given = list(dict.fromkeys(n for node in nodes for n in node.all_input_nodes if n not in inside))
    later = [n for user in graph.nodes if user not in inside for n in user.all_input_nodes]
    gives = list(dict.fromkeys(n for n in later if n in inside))  # in the order in which they are used
    name = next(f"submod_{i}" for i in count(part_nr) if not hasattr(root, f"submod_{i}"))
    part = torch.nn.Module()
    made, values = Graph(), {}
    for node in given:
        was = node.meta.get("was")  # what it is called in the part that it is of, of the same sort
        values[node] = made.placeholder(was[1] if was and was[0] is region[0] else node.name)
        values[node].meta = {k: v for k, v in node.meta.items() if k in ("val", "nr")}
    for node in nodes:
        if node.op == "get_attr":
            setattr(part, str(node.target), getattr(root, str(node.target)))
        values[node] = made.node_copy(node, values.__getitem__)
        values[node].meta = {k: v for k, v in node.meta.items() if k not in ("region", "switches", "was")}
        if node.meta["region"][1:]:
            values[node].meta["region"] = node.meta["region"][1:]
    made.output(tuple(values[node] for node in gives))
    wrapped(made, part)
    setattr(root, name, GraphModule(part, made, name))
    op, mode, _ = region
    with graph.inserting_before(nodes[0]):
        held = graph.get_attr(name)
        own = {"name": "part"} if len(gives) == 1 else {}  # it will be called as that one
        call = graph.call_function(op, (*mode, held, *given), **own)
        items = {node: graph.call_function(operator.getitem, (call, i)) for i, node in enumerate(gives)}
    stack = _shared_stack(nodes)
    held.meta = {"nn_module_stack": stack}
    told = tuple(node.meta.get("val") for node in gives)
    call.meta = {"nn_module_stack": stack, "val": told, "results": len(gives)}
    for node, item in items.items():
        item.meta = {k: v for k, v in node.meta.items() if k not in ("region", "sym", "asserts", "switches")}
        item.meta |= {"nn_module_stack": stack, "was": (op, node.name)}
        node.replace_all_uses_with(item, lambda user: user not in inside)
    for node in reversed(nodes):
        graph.erase_node(node)
    held.name = f"submod_{next(names)}"
    for new, old in zip([call] if len(gives) == 1 else items.values(), gives, strict=False):
        new.name = old.name
    return {node: values[node] for node in nodes} | items


def _shared_stack(nodes: list[Node]) -> dict[str, Any]:
    """The modules that all nodes are in."""
    first, *others = [node.meta.get("nn_module_stack") or {} for node in nodes]
    return {k: v for k, v in first.items() if all(k in own for own in others)}
