"""The engine: runs a graph backwards.

A node's number is higher than those of all nodes it leads to, so the waiting node with the
highest number has received everything that will flow into it: a heap of numbers is the whole
schedule. Nothing recurses, so depth is no limit. Leaves come last by their numbers; where it shows when
they get their gradients, in hooks or in memory, each comes right after the last node that leads to it.

Why a heap, and not counts of dependencies: docs/decisions/04-the-engine-is-a-heap.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush, heappushpop
from importlib import import_module
from threading import get_ident
from time import perf_counter
from types import FrameType
from typing import Any, cast, overload

from rushlight._engine.autograd import hooks
from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.nested_runs import DEPTH, elsewhere
from rushlight._engine.autograd.node import (
    BACKWARD_RUNNERS,
    STREAMS,
    AccumulateGrad,
    DetachedLeaf,
    GradientEdge,
    Node,
    asked_of,
    freed,
    listed,
    new,
)
from rushlight._engine.autograd.roots import for_each, root
from rushlight._engine.autograd.saved_tensor_hooks import Packed
from rushlight._engine.core.callers import warn
from rushlight._engine.core.errors import warn_once
from rushlight._engine.core.profiling_ranges import SPANS
from rushlight._engine.core.recording import TAPE, escape
from rushlight._engine.core.services import service
from rushlight._engine.lazy import is_ours
from rushlight._engine.tensors.geometry import strided
from rushlight._engine.tensors.gradient import Gradient, as_kept
from rushlight._engine.tensors.of_class import HEARD, PLAIN
from rushlight._engine.tensors.tensor import WRAPPED, Tensor


def _below(roots: Sequence[Node], lowest: int = 0) -> set[Node]:
    """The nodes that gradients flow to from the roots, of those with a number of at least `lowest`."""
    seen: set[Node] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in seen and node.seq >= lowest:
            seen.add(node)
            for e in node.next:
                if e is not None:
                    stack.append(e[0])
    return seen


class _Wanted:
    """grad()'s order: which (node, output) gradients to keep, and which nodes lead to them."""

    # Nodes that are to get more gradients when this run is over: no hook is to see what comes now.
    later: frozenset[Node] = frozenset()

    def __init__(self, inputs: Sequence[Tensor], roots: list[Node]) -> None:
        self.places: dict[tuple[Node, int], list[int]] = {}
        for number, t in enumerate(inputs):
            self.places.setdefault((t._grad_node, t._output_nr), []).append(number)
        self.nodes = {node for node, _ in self.places}
        self.found: list[Tensor | None] = [None] * len(inputs)
        self.useful = self._ancestors(roots)

    def _ancestors(self, roots: list[Node]) -> set[Node]:
        lowest = min((node.seq for node in self.nodes), default=0)
        useful: set[Node] = set()
        for node in sorted(_below(roots, lowest), key=lambda n: n.seq):
            if node in self.nodes or any(e is not None and e[0] in useful for e in node.next):
                useful.add(node)
        return useful

    def stops_at(self, node: Node, grad: Any, accumulate: bool) -> bool:
        """Keep what is wanted of a node's gradients; whether the node is not to run.

        backward(inputs=...) runs the nodes of its inputs, too: hooks on them see that.
        """
        if node in self.nodes:
            if accumulate:
                return False
            self.take(node, grad)
            if node.__class__ is AccumulateGrad:
                return True
        return not any(e is not None and e[0] in self.useful for e in node.next)

    def take(self, node: Node, grad: Any) -> None:
        grads = grad if node.multi else [grad]
        for number, g in enumerate(grads):
            for place in self.places.get((node, number), ()):
                self.found[place] = g


class Stage(_Wanted):
    """What runs of a pass before more gradients come from elsewhere; run() takes it as what is wanted.

    ready: nodes that have got, or get in this run, all that flows into them. ends: those among them whose
    gradients are kept, and that do not run. later: nodes that are to get more; their gradients are kept.
    gradients: what has been kept, by node and output.
    """

    def __init__(self, ready: set[Node], ends: set[Node], later: set[Node]) -> None:
        self.useful, self.later = ready | later, frozenset(later)
        self._kept = ends | later
        self.gradients: dict[tuple[Node, int], Tensor] = {}

    def stops_at(self, node: Node, grad: Any, accumulate: bool) -> bool:
        """Keep the gradients of a node that is not to run."""
        if node not in self._kept:
            return False
        for number, g in enumerate(grad if node.multi else [grad]):
            if g is not None:
                self.gradients[node, number] = g
        return True


def run(
    roots: list[tuple[Node, int, Tensor]],
    keep: bool,
    create: bool,
    wanted: _Wanted | None = None,
    accumulate: bool = True,
) -> None:
    """Send gradients from the roots through the graph to the leaves (or to what is `wanted`)."""
    if hooks.depth() > DEPTH and not TAPE and not HEARD:
        elsewhere(run, roots, keep, create, wanted, accumulate)
        return
    before, outer, beside = LOCAL.enabled, LOCAL.useful, LOCAL.streams
    streams = LOCAL.streams = STREAMS[0]() if STREAMS else None
    LOCAL.enabled, LOCAL.useful = create, None if wanted is None else wanted.useful
    retained = LOCAL.retains
    LOCAL.retains = keep
    if WRAPPED and any([g.__class__ in WRAPPED for _, _, g in roots]):
        LOCAL.batches += 1
    current = hooks.begin_run(wanted is not None, accumulate, _reached, _order, roots, wanted)
    if TAPE:
        TAPE[-1].backward_begins()
    try:
        runner = _backward_runner(roots) if BACKWARD_RUNNERS and not TAPE else None
        if runner is None:
            _run(roots, keep, create, wanted, accumulate)
        else:
            runner.run_backward(_run, roots, keep, create, wanted, accumulate)
        hooks.end_run(current)
    finally:
        LOCAL.enabled, LOCAL.useful, LOCAL.streams, LOCAL.retains = before, outer, beside, retained
        hooks.leave_run(current)
        if streams is not None:
            streams.end()


def _backward_runner(roots: list[tuple[Node, int, Tensor]]) -> Any:
    """Who runs the backward pass through a matched call's graph; None where it is no such graph."""
    seen: set[Node] = set()
    stack = [node for node, _, _ in roots]
    while stack:
        node = stack.pop()
        if node in BACKWARD_RUNNERS:
            return BACKWARD_RUNNERS[node]
        if node not in seen:
            seen.add(node)
            stack.extend(e[0] for e in node.next if e is not None)
    return None


def _reached(roots: list[tuple[Node, int, Tensor]], wanted: _Wanted | None) -> set[Node]:
    """The nodes that get a gradient."""
    return _below([node for node, _, _ in roots]) if wanted is None else wanted.useful


def _order(roots: list[tuple[Node, int, Tensor]], wanted: _Wanted | None) -> list[Node]:
    """The same in the order of their turns."""
    nodes = _reached(roots, wanted)
    leaf = next((node for node in nodes if node.__class__ is AccumulateGrad), None)
    turns = _turns([node for node, _, _ in roots], leaf) if leaf is not None else {}
    return sorted(nodes, key=lambda node: turns.get(node, -node.seq))


def _turns(waiting: Sequence[Node], first: Any) -> dict[Node, float]:
    """The turn of each leaf, where anybody could tell when a leaf gets its gradient: a hook, or one that adds
    to a gradient which it has. Turns are compared with those of nodes, `-seq`; the lowest is taken first.

    waiting: nodes that have not handed on their gradients. first: the first leaf that is reached.
    """
    leaf = first.variable
    if not hooks.Hooks.made and (leaf is None or leaf.grad is None):
        return {}
    turns: dict[Node, float] = {}
    for node in _below(waiting):
        edges = node.next[::-1] if node.last_leaf_first else node.next
        for position, e in enumerate(edges):
            if e is not None and e[0].__class__ is AccumulateGrad:
                # After this node's turn and before the next node's, which is a whole number; leaves of one
                # node in the order of its edges.
                turn = -node.seq + 0.5 + 0.5 * position / len(edges)
                turns[e[0]] = max(turns.get(e[0], -node.seq), turn)
    return turns


def _run(
    roots: list[tuple[Node, int, Tensor]], keep: bool, create: bool, wanted: _Wanted | None, accumulate: bool
) -> None:
    """The pass itself, or what a recorder that knows it does instead."""
    known = getattr(TAPE[-1], "walk", None) if TAPE else None
    if known is None:
        _walk(roots, keep, create, wanted, accumulate)
    else:
        known(_walk, roots, keep, create, wanted, accumulate)


def _walk(
    roots: list[tuple[Node, int, Tensor]], keep: bool, create: bool, wanted: _Wanted | None, accumulate: bool
) -> None:
    buffers, heap = _entered(roots)
    leaves = _Leaves(buffers)
    add = _adder() if accumulate else _ignore
    kept, rule = _watching()
    apart = bool(kept) or rule is not None
    streams = LOCAL.streams
    # The first node that the last one led to, with its gradient and turn: it need not wait in the heap if it
    # is next, as is usual. (A node's attributes are looked up as seldom as can be: its class varies.)
    ahead: Node | None = None
    held: Any = None
    turn = 0.0
    while heap or ahead is not None:
        if ahead is None:
            node = heappop(heap)[1]
            grad = buffers.pop(node)
        elif heap and heap[0][0] <= turn:
            buffers[ahead] = held
            node = heappushpop(heap, (turn, ahead))[1]
            ahead, held, grad = None, None, buffers.pop(node)
        else:
            node, grad, ahead, held = ahead, held, None, None
        hooked = node.hooks is not None
        if hooked or wanted is not None or streams is not None:
            node, grad = _arrived(node, grad, wanted, accumulate)
        if node.__class__ is AccumulateGrad:
            add(node, grad, create)
            continue
        # Called from this frame, with no other in between: rules and own() (hooks.py) tell by the number of
        # references whether a gradient is anybody else's, or may be written to and handed on without a copy.
        # tests/autograd/test_gradient_ownership.py fails where a frame or a local variable is added.
        saved = node.saved
        watched = apart or hooked or saved is None or saved.__class__ is Packed or hooks.GUARD
        results = _through(node, grad, kept, rule) if watched else node.apply(grad)
        saved = None
        if not keep:
            node.release()
        for e, g in zip(node.next, results):
            if e is None or g is None:
                continue
            target, number = e
            if target is ahead:
                held = added(held, g)
            elif target in buffers or target.multi:
                _receive(buffers, heap, target, number, g)
            else:
                leaf = target.__class__ is AccumulateGrad
                place = leaves.turn(target, node, ahead) if leaf else -target.seq
                if ahead is None:
                    ahead, held, turn = target, g, place
                else:
                    buffers[target] = g
                    heappush(heap, (place, target))
        # Let go of them, for the same reason.
        results = g = e = None


def current_node() -> Node | None:
    """The node that runs in this thread's backward pass, or whose hooks do; None outside one.

    Read off the frame that runs it: nodes need not be written down for the few who ask.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code is _walk.__code__:
            return cast("Node", frame.f_locals["node"])
        frame = frame.f_back
    return None


class _Leaves:
    """The turns of leaves in one run; buffers: of the nodes that wait."""

    __slots__ = ("buffers", "turns")

    def __init__(self, buffers: dict[Node, Any]) -> None:
        self.buffers = buffers
        self.turns: dict[Node, float] | None = None

    def turn(self, leaf: Node, node: Node, ahead: Node | None) -> float:
        """That of one which `node` leads to; ahead: what waits beside the buffers' nodes."""
        if self.turns is None:
            self.turns = _turns([node, *self.buffers, *([] if ahead is None else [ahead])], leaf)
        return self.turns.get(leaf, -leaf.seq)


def _adder() -> Callable[[Any, Any, bool], None]:
    """What gives leaves their gradients."""
    if hooks.LISTENING:
        return _accumulate_heard
    return partial(TAPE[-1].accumulate, _accumulate) if TAPE else _accumulate


def _ignore(node: Any, grad: Any, create: bool) -> None:
    """Leaves get no gradients."""


def _watching() -> tuple[list[list[Any]], Any]:
    """Logs of who asked for times in this thread, and who runs nodes' rules (a recorder's run_node)."""
    kept = [log.records for log in SPANS if log.thread == get_ident()] if SPANS else []
    return kept, getattr(TAPE[-1], "run_node", None) if TAPE else None


# Where gradients go that are not to go on: a leaf that nobody holds.
_NOWHERE = new(AccumulateGrad)
_NOWHERE._leaf, _NOWHERE.hooks = DetachedLeaf(""), None


def _arrived(node: Node, grad: Any, wanted: _Wanted | None, accumulate: bool) -> tuple[Node, Any]:
    """A node and what it is to run with, its hooks having seen it; _NOWHERE for one that is not to run."""
    if LOCAL.streams is not None:
        LOCAL.streams.go(node, grad)
    hooked = node.hooks is not None
    if wanted is not None:
        hooked = hooked and node in wanted.useful and node not in wanted.later
    if hooked:
        escape("a hook of the graph runs")
        grad = hooks.received(node, grad)
    if wanted is not None and wanted.stops_at(node, grad, accumulate):
        return _NOWHERE, None
    return node, hooks.before(node, grad) if hooked else grad


def apply(node: Node, grad: Any) -> Any:
    """Run a node's rule on what it saved; RuntimeError where that has been freed."""
    saved = node.saved
    if saved is None:
        raise freed()
    if saved.__class__ is not Packed:
        return node.apply(grad)
    node.saved = saved.opened(node)
    try:
        return node.apply(grad)
    finally:
        node.saved = saved


def _through(
    node: Node, grad: Any, kept: Sequence[list[Any]], rule: Callable[[Node, Any], Any] | None
) -> Sequence[Any]:
    """What a node's rule gives, with all that may stand around it.

    kept: logs of who asked for times. rule: who runs rules (a recorder's run_node); None for the node itself.
    """
    if node.saved is None:
        raise freed()
    begin = perf_counter() if kept else 0.0
    if hooks.GUARD is not None:
        results = hooks.GUARD(node, grad)
    elif node.saved.__class__ is Packed:
        results = apply(node, grad)
    else:
        results = node.apply(grad) if rule is None else rule(node, grad)
    if node.hooks is not None:
        results = hooks.after(node, results, grad)
    for log in kept:
        log += (node.place() if node.placed else node.__class__, begin, perf_counter())
    return results


def _entered(roots: list[tuple[Node, int, Tensor]]) -> tuple[dict[Node, Any], list[tuple[float, Node]]]:
    buffers: dict[Node, Any] = {}
    heap: list[tuple[float, Node]] = []
    for node, number, grad in roots:
        _receive(buffers, heap, node, number, grad)
    return buffers, heap


def _receive(
    buffers: dict[Node, Any], heap: list[tuple[float, Node]], node: Node, number: int, grad: Tensor
) -> None:
    if node not in buffers:
        heappush(heap, (-node.seq, node))
        if node.multi:
            slots: list[Any] = [None] * (number + 1)
            slots[number] = grad
            buffers[node] = slots
        else:
            buffers[node] = grad
    elif node.multi:
        slots = buffers[node]
        if number >= len(slots):
            slots.extend([None] * (number + 1 - len(slots)))
        slots[number] = grad if slots[number] is None else added(slots[number], grad)
    else:
        buffers[node] = added(buffers[node], grad)


def added(held: Tensor, grad: Tensor) -> Tensor:
    """The sum of two gradients of one tensor."""
    if held.layout is not strided:
        return grad + held  # sparse tensors are added to dense ones; of two, the later comes first
    return held + grad


def _accumulate(node: AccumulateGrad, grad: Tensor, create: bool) -> None:
    leaf = node._leaf()
    if leaf is None:
        return
    if grad.dtype is not leaf.dtype:
        grad = as_kept(leaf, grad)
    held = getattr(leaf, "_grad", None) if _keeps_in_slot(leaf.__class__) else leaf.grad
    if held is None:
        # A gradient that nobody else holds becomes the leaf's own; others are copied, as are all that can be
        # differentiated again: a write to the leaf's must not reach another's.
        leaf._grad = _recorded_copy(grad, leaf) if create else hooks.own(grad, leaf)
    elif create or held._grad_node is not None or held.layout is not grad.layout is strided:
        leaf._grad = added(held, grad)
    else:
        held.add_(grad)
    if node.hooks is not None:
        hooks.accumulated(node, leaf)


def _keeps_in_slot(cls: Any) -> bool:
    """Whether the gradients of its instances are kept as Tensor keeps them."""
    return cls in PLAIN or getattr(cls.grad, "unasked", None) is Gradient.grad


def _accumulate_heard(node: AccumulateGrad, grad: Tensor, create: bool) -> None:
    """The same by ops alone, as somebody hears them and a graph of theirs is to know the leaf's gradient."""
    leaf = node.variable
    if leaf is not None and leaf.grad is None and not create and grad.dtype is leaf.dtype:
        grad = grad.clone() if grad._grad_node is None else grad.detach().clone()
        leaf._grad = grad
        if node.hooks is not None:
            hooks.accumulated(node, leaf)
    else:
        _accumulate(node, grad, create)


def _recorded_copy(grad: Tensor, leaf: Tensor) -> Tensor:
    """A gradient of a leaf, which gradients flow through."""
    if grad._kind.lazy or grad.__class__ in WRAPPED or grad.is_sparse:
        return grad.clone()
    return leaf.detach().new_empty(leaf._geometry.shape, dtype=grad.dtype).copy_(grad)


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves (only of `inputs`, if given)."""
    if grad_variables is not None:
        warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if LOCAL.inference:
        raise RuntimeError("Calling backward() in inference mode is not allowed; leave it first")
    if LOCAL.depth:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use "
            "functorch.grad or functorch.vjp instead or call backward() outside of functorch transforms."
        )
    outs = [tensors] if tensors.__class__ is Tensor else listed(tensors)
    if (asked := _asked((*outs, *(() if inputs is None else asked_of(inputs, "backward"))))) is not None:
        service("call of a class with a __torch_function__")(
            backward,
            asked,
            tuple(outs),
            grad_tensors=grad_tensors,
            retain_graph=retain_graph,
            create_graph=create_graph,
            inputs=inputs,
        )
        return
    grads = for_each(grad_tensors, len(outs))
    if tensors.__class__ is not Tensor and any(map(is_of_parts, outs)):
        sparse = import_module("rushlight._engine.autograd.sparsegrads")
        outs, grads = sparse.inner(outs), sparse.aligned(outs, grads)
    keep = create_graph if retain_graph is None else retain_graph
    roots = [root(t, g, create_graph) for t, g in zip(outs, grads, strict=True)]
    if create_graph:
        warn_once(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and "
            "its gradient which can cause a memory leak. We recommend using autograd.grad when creating the "
            "graph to avoid this. If you have to use this function, make sure to reset the .grad fields of "
            "your parameters to None after use to break the cycle and avoid the leak."
        )
    if inputs is None:
        run(roots, keep, create_graph)
        return
    targets = asked_of(inputs, "backward")
    wanted = _Wanted(_tracked(targets), [node for node, _, _ in roots])
    for t in targets:
        if t._grad_node.__class__ is not AccumulateGrad and not isinstance(t, GradientEdge):
            t.retain_grad()
    run(roots, keep, create_graph, wanted)


def _tracked(inputs: Sequence[Tensor]) -> Sequence[Tensor]:
    for t in inputs:
        if t._grad_node is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    return inputs


def is_of_parts(t: Any) -> bool:
    """Whether it is sparse or nested: the graph knows a part of it."""
    return t.__class__ is not Tensor and isinstance(t, Gradient) and (t.layout is not strided or t.is_nested)


def _of_sparse(outs: list[Any], ins: list[Any], grad_outputs: Any, *options: Any) -> tuple[Any, ...]:
    """grad() of tensors some of which are sparse or nested: that of their values."""
    sparse = import_module("rushlight._engine.autograd.sparsegrads")
    seeds = sparse.aligned(outs, for_each(grad_outputs, len(outs)))
    found = grad(sparse.inner(outs), sparse.inner(ins), seeds, *options)
    return tuple(
        t._gradient(g) if is_of_parts(t) and g is not None else g for t, g in zip(ins, found, strict=True)
    )


_OPTIONS = "retain_graph create_graph only_inputs allow_unused is_grads_batched materialize_grads".split()


def _asked(tensors: tuple[Any, ...]) -> list[Any] | None:
    """Those that are of a program's own classes, where one of these or a mode takes the call over."""
    classes = {t.__class__ for t in tensors} - {Tensor}
    own = {cls for cls in classes if not is_ours(cls)} if classes else ()
    found = [t for t in tensors if t.__class__ in own] if own else []
    return found if (found or HEARD) and service("whether classes take a call over")(found) else None


@overload
def grad(
    outputs: Any,
    inputs: Tensor | Sequence[Any],
    grad_outputs: Any = ...,
    retain_graph: bool | None = ...,
    create_graph: bool = ...,
    only_inputs: bool = ...,
    allow_unused: bool | None = ...,
    is_grads_batched: bool = ...,
    materialize_grads: bool = ...,
) -> tuple[Any, ...]: ...


@overload
def grad(
    outputs: Any,
    inputs: dict[Any, Any],
    grad_outputs: Any = ...,
    retain_graph: bool | None = ...,
    create_graph: bool = ...,
    only_inputs: bool = ...,
    allow_unused: bool | None = ...,
    is_grads_batched: bool = ...,
    materialize_grads: bool = ...,
) -> dict[Any, Any]: ...


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of `outputs` by `inputs`, as a tuple, or a dict as inputs are; no `.grad` is touched."""
    outs, ins = listed(outputs), asked_of(inputs, "grad")
    options = (retain_graph, create_graph, only_inputs, allow_unused, is_grads_batched, materialize_grads)
    if type(inputs) is dict:
        return dict(zip(inputs, grad(outputs, ins, grad_outputs, *options), strict=True))
    if (asked := _asked((*outs, *ins))) is not None:
        named = {"grad_outputs": grad_outputs, **dict(zip(_OPTIONS, options, strict=True))}
        return service("call of a class with a __torch_function__")(
            grad, asked, tuple(outs), tuple(ins), **named
        )
    if any(map(is_of_parts, (*outs, *ins))):
        return _of_sparse(outs, ins, grad_outputs, *options)
    if is_grads_batched:
        return _batched(outs, ins, grad_outputs, retain_graph, create_graph, allow_unused)
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True,"
            " but got: allow_unused=False."
        )
    keep = create_graph if retain_graph is None else retain_graph
    grads = for_each(grad_outputs, len(outs))
    if WRAPPED and not WRAPPED.isdisjoint([t.__class__ for t in (*outs, *ins)]):
        return service("gradients under a transform")(outs, _tracked(ins), grads)
    roots = [root(t, g, create_graph) for t, g in zip(outs, grads, strict=True)]
    wanted = _Wanted(_tracked(ins), [node for node, _, _ in roots])
    run(roots, keep, create_graph, wanted, accumulate=False)
    if materialize_grads:
        return tuple(
            _zeros(t, create_graph) if g is None else shown(t, g)
            for t, g in zip(ins, wanted.found, strict=True)
        )
    if not allow_unused and any(g is None for g in wanted.found):
        place = next(i for i, g in enumerate(wanted.found) if g is None)
        raise RuntimeError(
            f"The differentiated Tensor at index {place} appears to not have been used in "
            "the graph. Set allow_unused=True if this is the desired behavior."
        )
    return tuple(map(shown, ins, wanted.found))


def shown(tensor: Any, gradient: Any) -> Any:
    """The gradient of a tensor as programs get it: classes of ours may have another view of it."""
    view = None if tensor.__class__ is Tensor else getattr(tensor.__class__, "_shown_gradient", None)
    return gradient if view is None or gradient is None else view(tensor, gradient)


def _zeros(like: Tensor, tracked: bool) -> Tensor:
    found = like.new_zeros(like.shape)
    return found.requires_grad_() if tracked else found


def _is_checkpoint_valid() -> bool:
    """Whether a checkpoint may run backward() on its part: not in grad(), nor with `inputs`."""
    return LOCAL.useful is None


def _calculate_shape(output: Any, grad: Any, is_grads_batched: bool) -> tuple[Any, Any]:
    """(shape of an output, shape of its gradient), the latter without the dim of a batch."""
    return output.shape, grad.shape[1:] if is_grads_batched else grad.shape


def _batched(
    outs: list[Any], ins: list[Any], grads: Any, retain: bool | None, create: bool, unused: bool | None
) -> tuple[Any, ...]:
    batches = for_each(grads, len(outs))
    if None in batches:
        raise ValueError(
            "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input is a Tensor of "
            "dimensionality 0 so expected in_dim to satisfy 0 <= in_dim < 0: give each output its batch of "
            "gradients."
        )
    for i, (g, o) in enumerate(zip(batches, outs, strict=True)):
        shapes = _calculate_shape(o, g, True)
        if shapes[0] != shapes[1]:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad as "
                f"the batch dimension. A mismatch was detected: the rest of grad_output[{i}] "
                f"has a shape of {shapes[1]} and output[{i}] has a shape of {shapes[0]}."
            )
    with service("batch of backward passes")(len(batches[0])) as level:
        found = grad(outs, ins, [level.wrap(g) for g in batches], retain, create, True, unused)
        return tuple(level.whole(g) for g in found)
