"""A pass back over many workers: the part of it that lies on one.

First all workers that the pass reaches hear of it, message by message (`Part.reach`): a part then knows
the messages whose gradients will come, and how many edges lead to each node. As they come (`Part.take`), a
node runs when all of its gradients are there; so does what ends the part, a leaf or a node of what came by a
call, whose gradients go back to who sent it.

A part tells the end to the worker whose gradients came first: when all others have come and those to whom it
has sent gradients have told theirs. So the one that began hears last, when no gradient is under way any more.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from rushlight._engine.autograd.engine import Stage, added, run
from rushlight._engine.autograd.node import AccumulateGrad
from rushlight._engine.tensors.geometry import strided
from rushlight.distributed.communication.work import Future, collect_all
from rushlight.distributed.rpc import state

ROOTS = -1  # stands for a message where the pass begins
Edge = tuple[Any, int]


def all_of(futures: list[Future]) -> Future:
    """A future of None, done when all of them are; it fails with the first that did."""
    found = Future()

    def done(every: Any) -> None:
        error = every.exception()
        found.set_result(None) if error is None else found.set_exception(error)

    collect_all(futures).add_done_callback(done)
    return found


def _own(gradient: Any, taken: set[int]) -> Any:
    """A leaf's gradient; a copy where another leaf's has that memory, or its elements share places."""
    if gradient.layout is not strided:
        return gradient
    storage = gradient.untyped_storage()
    place = storage.data_ptr()
    if place in taken or storage.nbytes() < gradient.numel() * gradient.itemsize:
        return gradient.clone()
    taken.add(place)
    return gradient


class Part:
    """What of a pass lies on this worker. done: when it is over, with all that it has led to."""

    def __init__(self, context: Any, number: int, keep: bool) -> None:
        self.context, self.number, self.keep, self.done = context, number, keep, Future()
        self._sources: dict[int, list[Edge | None]] = {}  # message whose gradients will come -> where they go
        self._waiting: dict[Any, int] = {}  # node -> edges that lead to it and have not been gone along
        self._held: dict[Any, dict[int, Any]] = {}  # node that waits -> its gradients so far, by output
        self._arrived: deque[tuple[int, list[Any]]] = deque()
        self._left = 0  # messages to come, requests not answered
        self._busy = self._engaged = False
        self._lock = threading.Lock()

    def reach(self, message: int, edges: Any) -> list[tuple[int, int]]:
        """Expect the gradients of a message; the links of what came by calls and is now reached first."""
        found = []
        with self._lock:
            self._sources[message] = list(edges)
            self._left += 1
            left = [edge[0] for edge in edges if edge is not None]
            while left:
                node = left.pop()
                seen = node in self._waiting
                self._waiting[node] = self._waiting.get(node, 0) + 1
                if seen:
                    continue
                link = self.context.links.get(node)
                if link is not None:
                    found.append(link)
                else:
                    left += [edge[0] for edge in node.next if edge is not None]
        return found

    def engage(self) -> bool:
        """Whether this is the first time."""
        with self._lock:
            first, self._engaged = not self._engaged, True
        return first

    def take(self, message: int, gradients: list[Any]) -> None:
        """Gradients of a message have come. What goes wrong is told by `done`."""
        with self._lock:
            self._arrived.append((message, gradients))
            if self._busy:
                return
            self._busy = True
        while True:
            with self._lock:
                if not self._arrived or self.done.done():
                    self._busy = False
                    return
                message, gradients = self._arrived.popleft()
            try:
                self._run(message, gradients)
            except Exception as error:
                self.fail(error if message == ROOTS else self._named(error))
            else:
                self._ended()

    def fail(self, error: Exception) -> None:
        """End it, unless it has ended."""
        with self._lock:
            ended = self.context.parts.pop(self.number, None) is None
        if not ended:
            self.done.set_exception(error)

    def _ended(self) -> None:
        """One message has been dealt with, or one request answered."""
        with self._lock:
            self._left -= 1
            ended = not self._left and self.context.parts.pop(self.number, None) is not None
        if ended:
            self.done.set_result(None)

    def _named(self, error: Exception) -> Exception:
        text = str(error)
        if not text.startswith("Error on Node"):
            text = f"Error on Node {state.agent().get_worker_info().id}: {text}"
        told = RuntimeError(text)
        told.__cause__ = error
        return told

    def _run(self, message: int, gradients: list[Any]) -> None:
        """Run what need not wait for other messages any more."""
        edges = self._sources.pop(message)
        for edge, gradient in zip(edges, gradients, strict=True):
            if edge is not None and gradient is not None:
                self._hold(edge, gradient)
        ready, later = self._reached(edges)
        ends = {node for node in ready if node.__class__ is AccumulateGrad or node in self.context.links}
        roots = [
            (node, number, gradient)
            for node in ready
            for number, gradient in self._held.pop(node, {}).items()
        ]
        stage = Stage(ready, ends, later)
        if roots:
            run(roots, self.keep, False, stage, accumulate=False)
        backward: dict[Any, dict[int, Any]] = {node: {} for node in ends if node in self.context.links}
        taken: set[int] = set()
        for (node, number), gradient in stage.gradients.items():
            if node in later:
                self._hold((node, number), gradient)
            elif node in backward:
                backward[node][number] = gradient.detach().cpu()
            elif (leaf := getattr(node, "variable", None)) is not None:
                self.context.add(leaf, _own(gradient, taken))
        for node, found in backward.items():
            self._send(node, [found.get(number) for number in range(node.results())])

    def _hold(self, edge: Edge, gradient: Any) -> None:
        node, number = edge
        held = self._held.setdefault(node, {})
        held[number] = gradient if number not in held else added(held[number], gradient)

    def _reached(self, edges: list[Edge | None]) -> tuple[set[Any], set[Any]]:
        """The nodes that get their last gradient when these edges are gone along; those that get some."""
        ready: set[Any] = set()
        later: set[Any] = set()
        left = [edge[0] for edge in edges if edge is not None]
        while left:
            node = left.pop()
            self._waiting[node] -= 1
            if self._waiting[node]:
                later.add(node)
                continue
            ready.add(node)
            if node not in self.context.links:
                left += [edge[0] for edge in node.next if edge is not None]
        return ready, later - ready

    def _send(self, node: Any, gradients: list[Any]) -> None:
        """Send gradients back to where the tensors came from."""
        worker, message = self.context.links[node]
        with self._lock:
            self._left += 1
        question = (self.context._context_id(), self.number, message, gradients)

        def answered(done: Any) -> None:
            error = done.exception()
            self._ended() if error is None else self.fail(error)

        state.agent().ask(worker, "backward_of_sent", question).add_done_callback(answered)
