"""Nodes of the autograd graph: what an op leaves behind so that gradients can flow through it.

`next` holds one edge (node, output number) per differentiable input, None where no gradient is wanted. `seq`
grows with time, so a node's number is higher than those of all nodes it leads to: the engine's order. `saved`
is what the rule needs, None once freed. What it is depends on the class of the node:

    rows with declared gradients       Saved (dispatch/nodes/saved_arguments.py), by the arguments' names
    formulas                           a SavedByFormula as a plain tuple (dispatch/nodes/formula_nodes.py)
    brackets with index tensors        (shape of the base, Kept indices) (dispatch/nodes/indexing_nodes.py)
    brackets of ints and slices        (shape of the base, (), index, new dims): no tensors
    CopySlices                         (the views between base and what was written, strides of the base)
    any of these with saved-tensor hooks   Packed (saved_tensor_hooks.py)
"""

from __future__ import annotations

import itertools
import re
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Edge = tuple["Node", int]
next_seq = itertools.count(1).__next__
new = object.__new__


class Hooks:
    """A node's hooks: on one result's gradient, before, after, and after accumulation (hooks.py)."""

    __slots__ = ("tensor", "pre", "post", "accumulated", "retained")
    made = False  # whether there was ever a hook

    def __init__(self) -> None:
        # By the result's number: the table that its tensor has as `_backward_hooks`.
        self.tensor: dict[int, dict[int, Callable[..., Any]]] = {}
        self.pre: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.post: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.accumulated: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.retained: dict[int, Any] = {}

    def of_tensors(self) -> int:
        """How many hooks there are on results' gradients."""
        return sum([len(table) for table in self.tensor.values()])


def freed() -> RuntimeError:
    """The error of a second pass through a graph whose saved values are gone."""
    return RuntimeError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they "
        "have already been freed). Saved intermediate values of the graph are freed when you call "
        ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
        "graph a second time or if you need to access saved tensors after calling backward."
    )


def keep_constants(node: Node | None, since: int) -> None:
    """Let the nodes of this graph whose number is above `since` keep what they saved when they have run.

    They hold constants that the op made for itself and that PyTorch does not save: so a second backward()
    works.
    """
    if TRACES.listener is not None:
        TRACES.listener(None)
    found = [node]
    while found:
        node = found.pop()
        if node is not None and node.seq > since and not node.keeps_constants:
            node.__class__ = _keeping_constants(node.__class__)
            found += [edge[0] for edge in node.next if edge is not None]


_CONSTANT_KEEPERS: dict[type[Node], type[Node]] = {}


def _keeping_constants(cls: type[Node]) -> type[Node]:
    """The same class of nodes, which `release` leaves as they are."""
    found = _CONSTANT_KEEPERS.get(cls)
    if found is None:
        members = {"__slots__": (), "keeps_constants": True, "release": _keep, "__module__": cls.__module__}
        found = _CONSTANT_KEEPERS[cls] = type(cls.__name__, (cls,), members)
    return found


def _keep(node: Node) -> None:
    """`release` of a node that keeps what it saved."""


class Node:
    """A recorded op. `apply(grad)` gives one gradient per edge; nodes with several results set
    `multi` and get a list of gradients, None where there is none.
    """

    __slots__ = ("next", "seq", "saved", "hooks", "count", "metadata_", "trace", "__weakref__")
    # Whether place() says what a profiler names it by, its class or what `named` takes (node_names.py).
    placed = False
    place: Callable[[], Any]
    shown: tuple[int, ...] = ()  # the order in which PyTorch's node has the edges, where it is another
    inside = False  # whether it is a part of what PyTorch has one node for, the one that leads here
    keeps_constants = False  # whether the op itself made what is saved (keep_constants)
    # Whether it stands, in the graph of a recorded call, for the node at its only edge.
    boundary = False
    multi = False  # whether the op had several results: `apply` gets a list of gradients
    last_leaf_first = False  # of the leaves that a node leads to, PyTorch gives the last its gradient first
    next: tuple[Edge | None, ...]
    saved: Any
    hooks: Hooks | None
    seq: int
    count: int  # of nodes with several results: how many
    trace: list[str]  # in anomaly mode: where the op was called

    def __init__(self, edges: tuple[Edge | None, ...] = (), saved: Any = ()) -> None:
        self.next = edges
        self.saved = saved
        self.hooks = None
        self.seq = next_seq()
        if TRACES.record is not None:
            TRACES.record(self)

    def apply(self, grad: Any) -> Any:
        """One gradient per edge of `next`."""
        raise NotImplementedError(f"{type(self).__name__} has no gradient rule")

    def results(self) -> int:
        """How many results the op had that may have gradients."""
        return getattr(self, "count", 0) if self.multi else 1

    def release(self) -> None:
        """Let go of the tensors that were saved; a node that saved none may run again.

        A class whose `saved` is a tuple has a `release` of its own if there are tensors in it.
        """
        saved = self.saved
        if saved.__class__ is not tuple and saved is not None and saved.tensors():
            self.saved = None

    def let_go(self) -> None:
        """`release` of classes that always save a tensor."""
        self.saved = None

    def __call__(self, *grads: Any) -> Any:
        """Run the rule by hand, as PyTorch allows: one gradient, or a tuple."""
        from rushlight._engine.autograd.engine import apply  # it imports this file

        wanted = self.results()
        if wanted and len(grads) != wanted:
            raise TypeError(f"expected {wanted} arguments, got {len(grads)} arguments instead")
        found = apply(self, list(grads) if self.multi else grads[0])
        return found[0] if isinstance(found, tuple) and len(found) == 1 else found

    def name(self) -> str:
        """The class name, as `repr` shows it."""
        return type(self).__name__

    def settle(self) -> Node:
        """This node for a program: its class named as PyTorch names the overload that it was, with names for
        what it saved.
        """
        show_saved(self.__class__)
        return self

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that this one's gradients flow into."""
        found: list[tuple[Node | None, int]] = []
        for edge in self.next:
            if edge is None or getattr(edge[0], "apart", None):
                found.append((None, 0))
            elif edge[0].inside:
                found += edge[0].next_functions
            else:
                found.append((edge[0].settle(), edge[1]))
        return tuple([found[i] for i in self.shown] if len(found) == len(self.shown) else found)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's own notes on the node."""
        try:
            return self.metadata_
        except AttributeError:
            self.metadata_: dict[Any, Any] = {}
            return self.metadata_

    def __lt__(self, other: Node) -> bool:
        # For a heap of turns, where two may be the same after very many nodes.
        return self.seq > other.seq

    def _sequence_nr(self) -> int:
        return self.seq

    def _set_sequence_nr(self, number: int) -> None:
        self.seq = number

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call hook(grad_inputs, grad_outputs) after the node ran; a result replaces grad_inputs."""
        from rushlight._engine.autograd.hooks import on_node  # it imports this file

        return on_node(self, hook, "post")

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        """Call hook(grad_outputs) before the node runs; a result replaces them."""
        from rushlight._engine.autograd.hooks import on_node  # it imports this file

        return on_node(self, hook, "pre")

    def __dir__(self) -> list[str]:
        from rushlight._engine.autograd.saved_values import names_of  # it imports this file

        return [*super().__dir__(), *names_of(self)]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {hex(id(self))}>"


def show_saved(cls: Any) -> None:
    """Let a program read what such nodes saved, as `node._saved_NAME`.

    Not before it has one of them: the slots of a class with a `__getattr__` are found in many times the time.
    """
    if not hasattr(cls, "__getattr__"):
        cls.__getattr__ = _saved_value


def _saved_value(self: Node, name: str) -> Any:
    if name.startswith(("_saved_", "_raw_saved_")):
        from rushlight._engine.autograd.saved_values import look_up  # it imports this file

        return look_up(self, name)
    raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


class _Traces:
    """What looks at each new node: anomaly mode, saved-tensor hooks. `record` is None for nobody.

    how: (function, result, operands) of an op's node that function(result, operands) makes, if `asked`.
    told: hears that the node of a result has got another name, or (None) that nodes will last.
    """

    record: Callable[[Node], None] | None = None
    how: Any = None
    asked = False
    listener: Callable[[Any], None] | None = None

    def __init__(self) -> None:
        self._listeners: list[Callable[[Node], None]] = []

    def add(self, listener: Callable[[Node], None]) -> None:
        """Call `listener` with each new node; one that was added twice is called once."""
        self._listeners.append(listener)
        self._choose()

    def remove(self, listener: Callable[[Node], None]) -> None:
        """Undo one `add`."""
        self._listeners.remove(listener)
        self._choose()

    def _choose(self) -> None:
        listeners = list(dict.fromkeys(self._listeners))

        def every(node: Node) -> None:
            for listener in listeners:
                listener(node)

        self.record = every if len(listeners) > 1 else listeners[0] if listeners else None


TRACES = _Traces()
# Begins a backward pass where a device looks at nodes, such as those that were made beside its default
# stream: it gives what has `go(node, gradient)` and `end()`, or None. Mostly there is none.
STREAMS: list[Callable[[], Any]] = []
# Nodes of results of matched calls (trace/matching.py), and who runs the backward pass through their graphs.
BACKWARD_RUNNERS: weakref.WeakKeyDictionary[Node, Any] = weakref.WeakKeyDictionary()


class AccumulateGrad(Node):
    """The end of the graph at a leaf: adds what arrives to the leaf's `.grad`."""

    __slots__ = ("_leaf",)
    _leaf: Any  # a weak reference to the leaf, or DetachedLeaf

    def __init__(self, leaf: Any) -> None:
        super().__init__()
        self._leaf = weakref.ref(leaf)

    def name(self) -> str:
        """PyTorch's name."""
        return "torch::autograd::AccumulateGrad"

    def settle(self) -> AccumulateGrad:
        """This node, which saved nothing."""
        return self

    @property
    def variable(self) -> Any:
        """The leaf; None when nobody holds it any more."""
        return self._leaf()

    @property
    def apart(self) -> DetachedLeaf | None:
        """Of a view that was taken where nothing is recorded: where; None of a leaf of its own."""
        return self._leaf if isinstance(self._leaf, DetachedLeaf) else None


class DetachedLeaf:
    """Stands for the leaf where there is none: a view requires grad as its base does, but whoever took it
    recorded nothing, so gradients that come to it are let go. mode: the mode in which it was taken.
    """

    __slots__ = ("mode",)

    def __init__(self, mode: str) -> None:
        self.mode = mode

    def __call__(self) -> None:
        """There is no leaf."""


_APART = {mode: DetachedLeaf(mode) for mode in ("no_grad", "inference_mode", "")}


def set_apart(view: Any, mode: str) -> None:
    """Let a view of what requires grad say so too; mode: "no_grad" or "inference_mode" if it was taken there,
    "" where its base began to require grad later.
    """
    node = new(AccumulateGrad)
    Node.__init__(node)
    node._leaf = _APART[mode]
    view._grad_node = node


def edge(t: Any) -> Edge | None:
    """Where the gradient of tensor `t` flows to."""
    g = t._grad_node
    return None if g is None else (g, t._output_nr)


def backward_name(op: str) -> str:
    """PyTorch's name for the node of an op: layer_norm -> LayerNormBackward0, im2col -> Im2Col..."""
    return re.sub(r"(?:^|_+|(?<=\d))([a-z])", lambda found: found[1].upper(), op.strip("_")) + "Backward0"


class GradientEdge(NamedTuple):
    """A result's place in the graph: the node and which of its results. It keeps the graph alive, no data."""

    node: Node
    output_nr: int
    ownership_token: Any = None

    @property
    def _grad_node(self) -> Node:
        # A Function's node is its ctx for a program.
        return getattr(self.node, "_node", self.node)

    @property
    def _output_nr(self) -> int:
        return self.output_nr


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """Where the gradient of `tensor` arrives; RuntimeError if it does not require gradients."""
    if tensor._grad_node is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    return GradientEdge(tensor._grad_node.settle(), tensor._output_nr)


def listed(values: Any) -> list[Any]:
    """One tensor or edge, or several of them, as a list."""
    if values is None or isinstance(values, GradientEdge) or hasattr(type(values), "_grad_node"):
        return [values]
    return list(values) if hasattr(values, "__iter__") else [values]


def asked_of(inputs: Any, name: str) -> list[Any]:
    """The tensors, or edges, that gradients are asked of: one, several, or the values of a dict."""
    if isinstance(inputs, Mapping) and type(inputs) is not dict:
        raise TypeError(
            f"`inputs` argument to `{name}()` must be a dict, not {type(inputs).__name__}. "
            "Other Mapping types are not supported."
        )
    found = listed(inputs.values() if type(inputs) is dict else inputs)
    if not found:
        raise RuntimeError(f"`inputs` argument to `{name}()` cannot be empty.")
    return found
