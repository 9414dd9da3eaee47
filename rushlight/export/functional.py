"""Programs without writes: an op that writes into a tensor becomes one that gives a new tensor.

That takes the tensor's place, and that of all its views, from there on. What a program writes into its inputs
and its state becomes results.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from rushlight.export import overloads
from rushlight.export.numbers.symbolic import SIZES
from rushlight.export.overloads import Overload
from rushlight.export.signature import (
    ExportGraphSignature,
    InputKind,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node, map_arg


class Unsupported(Exception):
    """A write into a view of which there is no functional form; `node` is the write."""

    node: Any = None


class _View(NamedTuple):
    """A view of a tensor: the op, its arguments but for the tensor, what is known of the tensor and of it."""

    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    tensor: Any
    view: Any


class _Alias(NamedTuple):
    """The node whose memory a node's tensor lies in, and the views that lead from it to the tensor."""

    base: Node
    views: tuple[_View, ...]


def _call(graph: Graph, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Node:
    return graph.call_function(target, args, kwargs or {}, name=overloads.plain(target))


def _whole(sizes: Any) -> list[int]:
    if sizes is None or any(isinstance(n, SIZES) for n in sizes):
        raise Unsupported("a view of a tensor whose sizes may change")
    return list(sizes)


def _reshaped(graph: Graph, view: _View, before: Node, value: Node) -> Node:
    if view.target._schema.overload == "dtype":
        return _call(graph, view.target, (value, view.tensor.dtype))
    return _call(
        graph, overloads.anyone("view.default"), (value, _whole(getattr(view.tensor, "shape", None)))
    )


def _scattered(name: str) -> Callable[[Graph, _View, Node, Node], Node]:
    def scatter(graph: Graph, view: _View, before: Node, value: Node) -> Node:
        target = overloads.anyone(f"{name}.default")
        return _call(graph, target, (before, value, *view.args), dict(view.kwargs))

    return scatter


def _again(graph: Graph, view: _View, before: Node, value: Node) -> Node:
    return _call(graph, view.target, (value, *view.args), dict(view.kwargs))


def _permuted(graph: Graph, view: _View, before: Node, value: Node) -> Node:
    dims = [d % len(view.args[0]) for d in view.args[0]]
    back = sorted(range(len(dims)), key=dims.__getitem__)
    return _call(graph, view.target, (value, back))


def _same(graph: Graph, view: _View, before: Node, value: Node) -> Node:
    return value


def _moved(graph: Graph, view: _View, before: Node, value: Node) -> Node:
    source, destination = view.args
    return _call(graph, view.target, (value, destination, source))


def _narrowed(graph: Graph, view: _View, before: Node, value: Node) -> Node:
    dim, start, length = view.args
    sizes = _whole(getattr(view.tensor, "shape", None))
    if isinstance(start, Node):
        raise Unsupported("a view of places that may change")
    start = start % sizes[dim] if start < 0 else start
    scatter = overloads.anyone("slice_scatter.default")
    return _call(graph, scatter, (before, value, dim, start, start + length))


def _piece(graph: Graph, view: _View, before: Node, value: Node) -> Node:
    """The tensor that was cut into pieces, with one of them anew; `before` is the list of them."""
    target: Any = before.target
    whole = before.args[0]
    dim = target.bound(before.args, before.kwargs).get("dim")
    if dim is None:
        raise Unsupported(f"nothing undoes {target}")
    place = view.args[0] % len(view.tensor)
    if target._schema.op_name == "unbind":
        scatter = overloads.anyone("select_scatter.default")
        return _call(graph, scatter, (whole, value, dim % (len(view.view.shape) + 1), place))
    dim %= len(view.view.shape)
    sizes = _whole([piece.shape[dim] for piece in view.tensor[: place + 1]])
    scatter = overloads.anyone("slice_scatter.default")
    return _call(graph, scatter, (whole, value, dim, sum(sizes[:-1]), sum(sizes)))


def _turned_back(name: str) -> Callable[[Graph, _View, Node, Node], Node]:
    def turned(graph: Graph, view: _View, before: Node, value: Node) -> Node:
        return _call(graph, overloads.anyone(f"{name}.default"), (value,))

    return turned


# What a tensor is after one of its views has become `value`.
_BACK: dict[str, Callable[[Graph, _View, Node, Node], Node]] = {
    **dict.fromkeys(
        "view reshape _unsafe_view flatten unflatten ravel unsqueeze squeeze view_as".split(), _reshaped
    ),
    # Nothing writes into those of more elements than there are.
    **dict.fromkeys("expand expand_as broadcast_to".split(), _reshaped),
    **dict.fromkeys("transpose t swapaxes swapdims".split(), _again),
    "view_as_real": _turned_back("view_as_complex"),
    "view_as_complex": _turned_back("view_as_real"),
    **dict.fromkeys("detach alias detach_ lift_fresh".split(), _same),
    **dict.fromkeys("to type_as contiguous positive resolve_conj resolve_neg".split(), _same),
    **dict.fromkeys("split split_with_sizes chunk tensor_split unbind".split(), _same),
    **dict.fromkeys("movedim moveaxis".split(), _moved),
    "getitem": _piece,
    "narrow": _narrowed,
    "permute": _permuted,
    "as_strided": _scattered("as_strided_scatter"),
    "select": _scattered("select_scatter"),
    "slice": _scattered("slice_scatter"),
    "diagonal": _scattered("diagonal_scatter"),
}


# Functional forms that are not named as the op without its mark, with arguments that have no default there.
FORMS: dict[tuple[str, str], tuple[Any, ...]] = {
    ("normal_", "default"): ("normal_functional", "default"),
    ("bernoulli_", "float"): ("bernoulli", "p", 0.5),
}


def _is_view(target: Overload) -> bool:
    return target.is_view or (target._row is not None and target._row.kind == "view")


def _apart(tensor: Node, view: Node) -> bool:
    """Whether what may be a view is known to be a copy, as a reshape() may be."""
    memories = [node.meta.get("memory") for node in (tensor, view)]
    return None not in memories and memories[0] != memories[1]


class Functional:
    """A graph, rewritten in place; `written` are its inputs that it wrote into, with their last values."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.aliases: dict[Node, _Alias] = {}
        self.versions: dict[Node, int] = {}
        self.seen: dict[Node, int] = {}
        self.current: dict[Node, Node] = {}
        self.made: dict[tuple[Node, int], Node] = {}
        for node in list(graph.nodes):
            try:
                with graph.inserting_before(node):
                    self._node(node)
            except Unsupported as error:
                error.node = error.node or node
                raise
        self.written = {n: v for n, v in self.current.items() if n.op == "placeholder" and v is not n}

    def _node(self, node: Node) -> None:
        node.args, node.kwargs = map_arg((node.args, node.kwargs), self._now)
        target: Any = node.target
        first: Any = node.args[0] if node.args else node.kwargs.get("input")
        known = isinstance(target, Overload) and isinstance(first, Node)
        if known and target._schema.op_name == "detach_":
            self._view(node, first)
        elif known and target._schema.writes and target._schema.op_name.endswith("_"):
            self._write(node, first)
        elif (known and _is_view(target) and not _apart(first, node)) or (
            target is operator.getitem and self._of_view(first)
        ):
            self._view(node, first)
        else:
            self.aliases[node], self.current[node] = _Alias(node, ()), node
            self.versions[node] = self.seen[node] = 0

    def _of_view(self, node: Any) -> bool:
        """Whether a node is a list of views."""
        return isinstance(node, Node) and bool(self.aliases[node].views)

    def _now(self, node: Node) -> Node:
        """The node that has the present value of what a node was."""
        alias = self.aliases.get(node)
        if alias is None or self.seen[node] == self.versions[alias.base]:
            return node
        version = self.versions[alias.base]
        if (node, version) not in self.made:
            found = self.made[node, version] = self._of(alias.base, alias.views, node)
            self.aliases[found], self.seen[found] = alias, version
        return self.made[node, version]

    def _of(self, base: Node, views: tuple[_View, ...], like: Node | None = None) -> Node:
        found = self.current[base]
        for view in views:
            found = _call(self.graph, view.target, (found, *view.args), dict(view.kwargs))
            found.meta["val"] = view.view
            if isinstance(view.view, (tuple, list)):
                found.meta["results"] = len(view.view)
        if like is not None and views:
            found.meta.update(like.meta)
        return found

    def _view(self, node: Node, first: Node) -> None:
        alias = self.aliases[first]
        told = first.meta.get("val"), node.meta.get("val")
        rest = {k: v for k, v in node.kwargs.items() if node.args or k != "input"}
        own = _View(node.target, node.args[1:], rest, *told)
        self.aliases[node] = _Alias(alias.base, (*alias.views, own))
        self.seen[node] = self.versions[alias.base]

    def _write(self, node: Node, first: Node) -> None:
        """A node of the functional form, and the values of what the tensor is a view of."""
        schema = node.target._schema
        own = schema.op_name[:-1], schema.overload
        name, overload, *missing = FORMS.get((schema.op_name, schema.overload), own)
        form = overloads.recorded(name).get(overload)
        if form is None or form._schema.writes:
            raise Unsupported(f"{node.target} has no functional form")
        given = (*node.args, *missing[len(node.args) - 1 :])
        value = _call(self.graph, form, given, dict(node.kwargs))
        value.meta.update(node.meta)
        alias = self.aliases[first]
        whole = value
        for place in range(len(alias.views) - 1, -1, -1):
            view = alias.views[place]
            back = _BACK.get(overloads.plain(view.target))
            if back is None:
                raise Unsupported(f"nothing undoes {view.target}")
            whole = back(self.graph, view, self._of(alias.base, alias.views[:place]), whole)
            whole.meta.update({k: v for k, v in node.meta.items() if k != "nr"}, val=view.tensor)
        self.current[alias.base] = whole
        self.versions[alias.base] += 1
        version = self.versions[alias.base]
        node.replace_all_uses_with(value)
        self.graph.erase_node(node)
        for same in (first, value):
            self.made[same, version] = value
        self.aliases[value], self.seen[value] = alias, version


def writes(graph: Graph) -> bool:
    """Whether a program writes into tensors."""
    return any(isinstance(n.target, Overload) and n.target._schema.writes for n in graph.nodes)


_CHANGED = {
    InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
    InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
    InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
}


def without_writes(program: Any) -> Any:
    """The program without writes: what it wrote into its state and inputs are its first results. The program
    itself where there is a write that has no other form.

    RuntimeError for a write into a tensor that is neither a parameter, a buffer nor an input.
    """
    if not writes(program.graph):
        return program
    graph = _copied(program)
    try:
        written = Functional(graph).written
    except Unsupported:
        return program
    holders = [n for n in graph.nodes if n.op == "placeholder"]
    first, specs = [], []
    for node, spec in zip(holders, program.graph_signature.input_specs, strict=True):
        if node not in written:
            continue
        if spec.kind not in _CHANGED:
            raise RuntimeError(
                f"Constant {spec.target} is mutated in the forward method. Please register it as buffer, or "
                "clone it before it is written to."
            )
        first.append(written[node])
        specs.append(
            OutputSpec(_CHANGED[spec.kind], TensorArgument(written[node].name), spec.target or node.name)
        )
    return _with(program, graph, first, specs)


def _copied(program: Any) -> Graph:
    """A program's graph, anew."""
    graph = Graph()
    values: dict[Node, Node] = {}
    results = graph.graph_copy(program.graph, values)
    graph.output(results)
    for old, new in values.items():
        if old.op == "placeholder":  # a copy's name is not a builtin's; the signature tells of this one
            new._name = old.name
    return graph


def _with(program: Any, graph: Graph, first: list[Node], specs: list[OutputSpec]) -> Any:
    """The program of another graph, with results before its own, and what these are."""
    end = graph.output_node()
    later = list(end.args[0])
    end.args = ((*first, *later),)
    graph.eliminate_dead_code(lambda node: node.is_impure())
    signature = program.graph_signature
    users = []
    for spec, value in zip(
        [s for s in signature.output_specs if s.kind not in _CHANGED.values()], later, strict=False
    ):
        arg = TensorArgument(value.name) if isinstance(spec.arg, TensorArgument) else spec.arg
        users.append(OutputSpec(spec.kind, arg, spec.target))
    made = GraphModule(program.graph_module, graph, "GraphModule")
    return program._update(made, ExportGraphSignature(list(signature.input_specs), [*specs, *users]))


def values_alone(program: Any) -> Any:
    """The program with new tensors in the place of all that it writes into; what it writes into its own
    inputs and state is no result. Unsupported for a write that has no other form.
    """
    if not writes(program.graph):
        return program
    graph = _copied(program)
    Functional(graph)
    return _with(program, graph, [], [])


def copied_back(program: Any, made: Graph, results: Any, values: Any) -> tuple[Any, ...]:
    """Write the first results of a program into the inputs whose new values they are, in a graph in which
    values(name) is an input; the results for the caller, among which these inputs are themselves.
    """
    written: dict[Any, Any] = {}
    changed = [s for s in program.graph_signature.output_specs if s.kind in _CHANGED.values()]
    for spec, value in zip(changed, results, strict=False):
        target = overloads.named("torch.ops.aten.copy_.default")
        copied = made.call_function(target, (values(spec.target), value), name="copy__default")
        written[value] = copied
    return tuple(written.get(v, v) if isinstance(v, Node) else v for v in results[len(changed) :])
