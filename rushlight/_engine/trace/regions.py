"""A recorded forward whose backward comes later: the gradients are recorded too, and one node stands for all.

Gradients go through its graph once at the end of the recorded call, of any values; that record is the
backward program. At a replay the results get a node that runs it.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from rushlight._engine.autograd.engine import grad
from rushlight._engine.autograd.function import FunctionNode, pullback
from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.hooks import overhear
from rushlight._engine.autograd.node import AccumulateGrad, Node
from rushlight._engine.core.pytree import flatten
from rushlight._engine.dispatch.interpreters import wrapped
from rushlight._engine.lazy import is_ours
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.generator import Generator, all_made, default_generator
from rushlight._engine.tensors.storages.storage import Storage
from rushlight._engine.tensors.tensor import Tensor, storage, wrap
from rushlight._engine.trace.recorder import Entry, Recorder, recording

BATCHES = (
    "gradients of its results are asked for in batches, by vmap: a replay's are those of single examples"
)
MOVED = "gradients of its results lie in memory in another order than those that were recorded"
_TWICE = (
    "torch.compile with aot_autograd does not currently support double backward: "
    "call the function without compile for create_graph=True"
)


class Traced:
    """The record of a graph's gradients: of `leaves`, from those of the tracked results.

    orders: that of the dims of a gradient in memory, by the number of the result, where it is known.
    own: whether some are what a program has written, which may draw from generators of its own.
    """

    def __init__(
        self,
        forward: Recorder,
        tracked: Sequence[Tensor],
        known: Sequence[Tensor],
        orders: dict[int, tuple[int, ...]],
        own: bool = False,
    ) -> None:
        self.given = [wrap(values_like(t, orders.get(n)), t._kind) for n, t in enumerate(tracked)]
        self.leaves = leaves_of(tracked)
        self.recorder = Recorder(self.given, known, forward.room, forward.overflowed)
        self.recorder.owned.update(forward.owned)
        allowed = {id(t) for t in known}
        if any(id(leaf) not in allowed for leaf in self.leaves):
            self.recorder.escape(
                "a tensor requires grad that is neither an argument, nor of a module that "
                "the function uses, nor one of its variables",
                breaks=False,
            )
        drawn = [(g, g.engine.get_state()) for g in (default_generator, *(all_made() if own else ()))]
        try:
            with recording(self.recorder):
                found = grad(tracked, self.leaves, self.given, retain_graph=True, allow_unused=True)
                self.found = [g.clone() if g is not None and g._kind.lazy else g for g in found]
        finally:  # the caller's backward() draws these numbers; other threads draw from other generators
            named = {id(g) for g in (default_generator, *generators_of(self.recorder.entries))}
            for g, state in drawn:
                if id(g) in named:
                    g.engine.set_state(state)


def values_like(t: Tensor, order: tuple[int, ...] | None) -> Any:
    """Numbers unlike each other, as a gradient program is compared on them, in this order or the result's."""
    found = np.empty_like(t._array)
    if order is not None and len(order) == found.ndim:
        found = np.empty([found.shape[d] for d in order], found.dtype).transpose(np.argsort(order))
    found[...] = np.cos(np.arange(t._array.size, dtype=np.float64)).reshape(t._array.shape)
    return found


def overheard(tracked: Sequence[Tensor], orders: dict[int, tuple[int, ...]]) -> None:
    """Note how the gradients of results lie in memory, as backward() comes."""

    def heard(numbers: list[tuple[int, int]], grads: Sequence[Any]) -> None:
        for n, output in numbers:
            order = order_of(grads[output])
            if order is not None:
                orders[n] = order

    of: dict[Node, list[tuple[int, int]]] = {}
    for n, t in enumerate(tracked):
        of.setdefault(getattr(t, "_grad_node"), []).append((n, t._output_nr))
    for node, numbers in of.items():
        overhear(node, partial(heard, numbers))


def order_of(grad: Any) -> tuple[int, ...] | None:
    """In which order the dims of a gradient lie in memory; None where that says nothing."""
    if grad.__class__ is not Tensor or grad._kind.lazy:
        return None
    a = grad._array
    dims = sorted(range(a.ndim), key=lambda d: (a.shape[d] > 1, -abs(a.strides[d]) if a.shape[d] > 1 else 0))
    dense = all([a.shape[d] < 2 or a.strides[d] for d in dims]) and _extent(a) == a.nbytes
    return tuple(dims) if dense else None


def _extent(a: Any) -> int:
    low, high = np.lib.array_utils.byte_bounds(a)
    return int(high - low)


def nodes(roots: Sequence[Any]) -> Iterator[Node]:
    """The nodes of a graph, to its leaves and to where it meets the caller's."""
    seen: set[Node] = set()
    stack = [*roots]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            yield node
            stack += [e[0] for e in node.next if e is not None and not isinstance(node, BoundaryNode)]


def hooked(tracked: Sequence[Tensor]) -> bool:
    """Whether a pass through the graph of results runs hooks, or keeps gradients, before its end."""
    hooks = [n.hooks for n in nodes([t._grad_node for t in tracked]) if n.hooks is not None]
    return any([h.of_tensors() or h.pre or h.post or h.retained for h in hooks])


def backwards_of_programs(tracked: Sequence[Tensor]) -> list[Any]:
    """The undecorated backward() of each Function of a program's in the graph of results."""
    found = {n.function for n in nodes([t._grad_node for t in tracked]) if isinstance(n, FunctionNode)}
    return [inspect.unwrap(pullback(function)) for function in found if not is_ours(function)]


def generators_of(entries: Sequence[Entry]) -> list[Generator]:
    """The generators that entries draw from by name."""
    return [v for e in entries for v in flatten(e.given)[0] if isinstance(v, Generator)]


def leaves_of(tracked: Sequence[Tensor]) -> list[Tensor]:
    """The tensors in which the graph of results ends."""
    found = [
        n.variable
        for n in nodes([t._grad_node for t in tracked])
        if isinstance(n, (AccumulateGrad, BoundaryNode))
    ]
    return list({id(leaf): leaf for leaf in found if leaf is not None}.values())


class BoundaryNode(Node):
    """Where the graph of a recorded call, which works on copies of its arguments, meets the caller's."""

    __slots__ = ("_copy",)
    boundary = True

    def __init__(self, given: Tensor, copy: Tensor) -> None:
        super().__init__(((given._grad_node, given._output_nr),))
        self._copy = weakref.ref(copy)

    def settle(self) -> Node:
        """The caller's node, which a program asks for."""
        given: Any = self.next[0]
        node: Node = given[0].settle()
        return node

    @property
    def variable(self) -> Any:
        """The copy, None once it is gone."""
        return self._copy()

    def apply(self, grad: Any) -> tuple[Any]:
        """The gradient as it comes."""
        return (grad,)


def saved(tensors: Sequence[Tensor]) -> list[tuple[Storage, int, list[int]]]:
    """What tells whether tensors have been written to since: the memory, its version; and what they are."""
    return [(storage(t), storage(t).version, list(t._memory.shape)) for t in tensors]


class CompiledBackward(Node):
    """The node of a replay's results; `saved`: the program, and of what it reads what saved() says."""

    __slots__ = ()
    multi = True

    def release(self) -> None:
        """The program's memory is free for the next call."""
        self.saved = None

    def apply(self, grads: Sequence[Tensor | None]) -> list[Tensor | None]:
        """Run the backward program."""
        program, read = self.saved
        if LOCAL.enabled:
            raise RuntimeError(_TWICE)
        for own, version, shape in read:
            if own.version != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace "
                    f"operation: a tensor of shape {shape} is at version {own.version}; "
                    f"expected version {version} instead. A compiled function uses it: change it after "
                    "backward()"
                )
        if wrapped(grads):
            return self._by_example(program, grads)
        if any(order_of(g) not in (None, own) for g, own in zip(grads, program.orders)):
            program.refusal = MOVED
        found: list[Tensor | None] = program.run_backward(grads)
        return found

    def _by_example(self, program: Any, grads: Sequence[Tensor | None]) -> list[Tensor | None]:
        """Run it on each example of a batch of gradients (vmap), of which the program knows nothing: the
        function stays eager from now on.
        """
        held: list[Any] = [g for g in grads if hasattr(g, "level")]
        level = max([g.level for g in held], key=attrgetter("number"))
        if level.what != "vmap":
            raise RuntimeError(_TWICE)
        program.refusal = BATCHES
        before, LOCAL.retains = LOCAL.retains, True
        try:
            found = [
                self.apply([None if g is None else ROWS["select"](level.whole(g), 0, i) for g in grads])
                for i in range(level.size)
            ]
        finally:
            LOCAL.retains = before
        columns = zip(*found, strict=True)
        return [None if c[0] is None else level.wrap(ROWS["stack"](list(c))) for c in columns]
