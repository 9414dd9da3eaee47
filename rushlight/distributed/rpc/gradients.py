"""Gradients through calls: what was sent and received in a context, and the pass back over all workers.

Each worker runs the part of a pass that lies on it (passes.py): from the tensors that it has sent, whose
gradients come by a request, to leaves, whose gradients are summed in the context, and to tensors that it has
received, whose gradients it sends on.
"""

from __future__ import annotations

import threading
from typing import Any

import rushlight as torch
from rushlight._engine.autograd.engine import added
from rushlight.distributed.communication.work import Future
from rushlight.distributed.rpc import state
from rushlight.distributed.rpc.agent import service
from rushlight.distributed.rpc.passes import ROOTS, Part, all_of


class DistAutogradContext:
    """What belongs to one pass forward and back over workers."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._sent: dict[int, Any] = {}  # message -> the node of what was sent by it
        self._received: dict[int, Any] = {}  # message -> the node of what came by it
        self.links: dict[Any, tuple[int, int]] = {}  # that node for the engine -> who sent it, the message
        self._workers: set[int] = set()
        self._gradients: dict[int, tuple[Any, Any]] = {}  # id of a leaf -> the leaf, its gradient
        self.parts: dict[int, Part] = {}  # pass -> what of it lies here
        self._lock = threading.Lock()

    def _context_id(self) -> int:
        return self._number

    def _send_functions(self) -> dict[int, Any]:
        return dict(self._sent)

    def _recv_functions(self) -> dict[int, Any]:
        return dict(self._received)

    def _known_worker_ids(self) -> set[int]:
        return self._workers - {state.agent().get_worker_info().id}

    def add(self, leaf: Any, gradient: Any) -> None:
        """Add to a leaf's gradient."""
        with self._lock:
            known = self._gradients.get(id(leaf))
            total = gradient if known is None else added(known[1], gradient)
            self._gradients[id(leaf)] = (leaf, total.detach())

    def part(self, number: int, keep: bool) -> Part:
        """The part here of a pass; keep: whether the graph may be used again."""
        with self._lock:
            return self.parts.setdefault(number, Part(self, number, keep))

    def ask_on(self, number: int, keep: bool, reached: list[tuple[int, int]]) -> Future:
        """Tell the workers that have sent what a pass reaches; done when all that they reach knows of it."""
        messages: dict[int, list[int]] = {}
        for worker, message in reached:
            messages.setdefault(worker, []).append(message)
        ask = state.agent().ask
        return all_of(
            [
                ask(worker, "reach_sent", (self._number, number, keep, sent))
                for worker, sent in messages.items()
            ]
        )

    def gradients(self) -> dict[Any, Any]:
        """The gradients of leaves of this worker."""
        with self._lock:
            return dict(self._gradients.values())


class _Contexts:
    """This worker's contexts; each thread is in one, or in none."""

    def __init__(self) -> None:
        self._known: dict[int, DistAutogradContext] = {}
        self._lock, self._here = threading.Lock(), threading.local()
        self.worker, self._next, self._messages = -1, 0, 0

    def begin(self, worker: int) -> None:
        """Number contexts for a worker."""
        self.worker, self._next, self._messages = worker, 0, 0
        self._known.clear()

    def current(self) -> DistAutogradContext | None:
        """The context that this thread is in."""
        return getattr(self._here, "context", None)

    def enter(self, context: DistAutogradContext | None) -> None:
        """Be in one, or in none."""
        self._here.context = context

    def new(self) -> DistAutogradContext:
        """A new one, which this thread is in."""
        if self.worker < 0:
            raise RuntimeError(
                "Need to initialize distributed autograd using torch.distributed.autograd.init()"
            )
        if self.current() is not None:
            raise RuntimeError("Already have an autograd context id for this thread")
        with self._lock:
            number, self._next = (self.worker << 48) + self._next, self._next + 1
            made = self._known[number] = DistAutogradContext(number)
        self.enter(made)
        return made

    def of(self, number: int) -> DistAutogradContext:
        """A context that another worker may have begun."""
        with self._lock:
            return self._known.setdefault(number, DistAutogradContext(number))

    def find(self, number: int) -> DistAutogradContext:
        """A known one. RuntimeError where there is none."""
        with self._lock:
            found = self._known.get(number)
        if found is None:
            raise RuntimeError(f"Could not find autograd context with id: {number}")
        return found

    def release(self, number: int) -> None:
        """Forget one, here and on the workers that were called in it."""
        current = self.current()
        if current is not None and current._context_id() == number:
            self.enter(None)
        with self._lock:
            found = self._known.pop(number, None)
        for part in [] if found is None else list(found.parts.values()):
            part.fail(RuntimeError(f"the autograd context {number} has been released"))
        if found is not None and state.is_set():
            for worker in found._known_worker_ids():
                state.agent().ask(worker, "release_context", number)

    def message(self) -> int:
        """The number of a message."""
        with self._lock:
            self._messages += 1
            return (self.worker << 48) + self._messages - 1

    def count(self) -> int:
        """How many there are."""
        return len(self._known)

    def passing(self) -> int:
        """How many of them a pass back goes through."""
        return sum(bool(context.parts) for context in list(self._known.values()))


contexts = _Contexts()


class SendRpc(torch.autograd.Function):
    """The node of tensors that were sent."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        """Nothing is computed."""
        return torch.zeros(())

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        """It is not run: a pass begins at the tensors."""
        raise RuntimeError("gradients of tensors that were sent come by a request")


class RecvRpc(torch.autograd.Function):
    """The node of tensors that came from another worker: their gradients are sent back there."""

    @staticmethod
    def forward(ctx: Any, begin: Any, *tensors: Any) -> Any:
        """The tensors."""
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """It is not run: a pass of many workers ends here, and goes on at the sender."""
        raise RuntimeError("gradients of what came by a call need torch.distributed.autograd.backward()")


def sent(context: DistAutogradContext, tensors: list[Any], to: int) -> tuple[int, int] | None:
    """Note tensors that are sent in a context; by what their gradients come back."""
    context._workers.add(to)
    needed = [tensor for tensor in tensors if tensor.requires_grad]
    if not needed:
        return None
    with torch.enable_grad():
        node = SendRpc.apply(*needed).grad_fn
    message = contexts.message()
    context._sent[message] = node
    return contexts.worker, message


def received(number: int, link: tuple[int, int], tensors: list[Any], needed: list[int]) -> list[Any]:
    """Tensors that came in a context, those among them that need gradients with a node."""
    context = contexts.of(number)
    context._workers.add(link[0])
    begin = torch.zeros((), requires_grad=True)
    with torch.enable_grad():
        linked = RecvRpc.apply(begin, *(tensors[n] for n in needed))
    context._received[link[1]] = linked[0].grad_fn
    context.links[linked[0]._grad_node] = link
    found = [*tensors]
    for n, tensor in zip(needed, linked, strict=True):
        found[n] = tensor
    return found


# --- the pass back --------------------------------------------------------------------------------


def backward(context_id: int, roots: list[Any], retain_graph: bool = False) -> None:
    """Run the pass back from scalars, over all workers that took part; gradients are in the context then.

    retain_graph: whether a second pass may go through the same graph.
    """
    if not isinstance(context_id, int) or not isinstance(roots, (list, tuple)):
        raise TypeError(
            "backward(): incompatible function arguments. The following argument types are supported:\n"
            "    1. (context_id: int, roots: list[torch.Tensor], retain_graph: bool = False) -> None"
        )
    if not all(isinstance(root, torch.Tensor) for root in roots):
        raise TypeError("backward(): incompatible function arguments: roots are tensors")
    context = contexts.find(context_id)
    if not roots:
        raise RuntimeError("No tensors provided for gradient computation.")
    for number, root in enumerate(roots):
        if not root.requires_grad:
            raise RuntimeError(f"requires_grad not set on root {number}")
        if root.numel() != 1:
            raise RuntimeError(f"root {number} is not a scalar, all roots need to be scalar")
        if root.grad_fn is None:
            raise RuntimeError(f"root {number} does not have a valid gradient function.")
    part = context.part(contexts.message(), retain_graph)
    part.engage()
    try:
        reached = part.reach(ROOTS, [(root._grad_node, root._output_nr) for root in roots])
        context.ask_on(part.number, retain_graph, reached).wait()
        part.take(ROOTS, [torch.ones_like(root) for root in roots])
        part.done.wait()
    finally:
        part.fail(RuntimeError("the pass back has ended"))


@service
def reach_sent(question: tuple[int, int, bool, list[int]], asker: int) -> Future:
    """A pass will go on from messages of this worker."""
    number, passing, keep, messages = question
    context = contexts.find(number)
    part = context.part(passing, keep)
    reached = [link for m in messages for link in part.reach(m, context._sent[m]._node.next)]
    return context.ask_on(passing, keep, reached)


@service
def backward_of_sent(question: tuple[int, int, int, list[Any]], asker: int) -> Future | None:
    """The gradients of a message; who sends the first ones hears when all of the pass here is over."""
    number, passing, message, gradients = question
    part = contexts.find(number).parts.get(passing)
    if part is None:
        raise RuntimeError(f"the pass back through the autograd context {number} has ended")
    first = part.engage()
    part.take(message, gradients)
    return part.done if first else None


@service
def release_context(number: int, asker: int) -> None:
    """Forget a context."""
    contexts.release(number)


def get_gradients(context_id: int) -> dict[Any, Any]:
    """The gradients of this worker's leaves in a context, by leaf."""
    return contexts.find(context_id).gradients()


for _name in ("SendRpc", "RecvRpc"):  # as PyTorch's nodes are called
    _kind: Any = globals()[_name]
    for _class in (_kind._node_cls, _kind._backward_cls):
        _class.__name__ = f"torch::distributed::autograd::{_name}Backward"
