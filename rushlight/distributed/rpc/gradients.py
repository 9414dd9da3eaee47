"""Gradients through calls: what was sent and received in a context, and the pass back over all workers.

Each worker runs the part of a pass that lies on it: from the tensors that it has sent, whose gradients come
by a request, to leaves and to tensors that it has received, whose gradients it sends on. Sums are made in the
context, where all passes of one backward() add theirs.
"""

from __future__ import annotations

import threading
from typing import Any

import rushlight as torch
from rushlight.distributed.communication.work import Future, collect_all
from rushlight.distributed.rpc import state
from rushlight.distributed.rpc.agent import service


class DistAutogradContext:
    """What belongs to one pass forward and back over workers."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._sent: dict[
            int, tuple[Any, list[Any]]
        ] = {}  # message -> its node, the tensors that need gradients
        # message -> the node of what came by it, and the leaf by which the engine reaches that
        self._received: dict[int, tuple[Any, Any]] = {}
        self._workers: set[int] = set()
        self._gradients: dict[int, tuple[Any, Any]] = {}  # id of a leaf -> the leaf, its gradient
        self._outstanding: list[Future] = []
        self._lock = threading.Lock()

    def _context_id(self) -> int:
        return self._number

    def _send_functions(self) -> dict[int, Any]:
        return {message: node for message, (node, _) in self._sent.items()}

    def _recv_functions(self) -> dict[int, Any]:
        return {message: node for message, (node, _) in self._received.items()}

    def _known_worker_ids(self) -> set[int]:
        return self._workers - {state.agent().get_worker_info().id}

    def add(self, leaf: Any, gradient: Any) -> None:
        """Add to a leaf's gradient."""
        with self._lock:
            known = self._gradients.get(id(leaf))
            total = gradient if known is None else known[1] + gradient
            self._gradients[id(leaf)] = (leaf, total.detach())

    def gradients(self) -> dict[Any, Any]:
        """The gradients of leaves of this worker."""
        with self._lock:
            return dict(self._gradients.values())


class _Contexts:
    """This worker's contexts; each thread is in one, or in none."""

    def __init__(self) -> None:
        self._known: dict[int, DistAutogradContext] = {}
        self._lock, self._here = threading.Lock(), threading.local()
        self.worker, self._next, self._messages, self.passes = -1, 0, 0, 0

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
    def forward(ctx: Any, begin: Any, context: int, link: tuple[int, int], *tensors: Any) -> Any:
        """The tensors."""
        ctx.context, ctx.link = context, link
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Send the gradients back."""
        worker, message = ctx.link
        context = contexts.of(ctx.context)
        question = (ctx.context, message, [g.detach().cpu() for g in gradients])
        context._outstanding.append(state.agent().ask(worker, "backward_of_sent", question))
        return (None,) * (3 + len(gradients))


def sent(context: DistAutogradContext, tensors: list[Any], to: int) -> tuple[int, int] | None:
    """Note tensors that are sent in a context; by what their gradients come back."""
    context._workers.add(to)
    needed = [tensor for tensor in tensors if tensor.requires_grad]
    if not needed:
        return None
    with torch.enable_grad():
        node = SendRpc.apply(*needed).grad_fn
    message = contexts.message()
    context._sent[message] = (node, needed)
    return contexts.worker, message


def received(number: int, link: tuple[int, int], tensors: list[Any], needed: list[int]) -> list[Any]:
    """Tensors that came in a context, those among them that need gradients with a node."""
    context = contexts.of(number)
    context._workers.add(link[0])
    begin = torch.zeros((), requires_grad=True)
    with torch.enable_grad():
        linked = RecvRpc.apply(begin, number, link, *(tensors[n] for n in needed))
    context._received[link[1]] = (linked[0].grad_fn, begin)
    found = [*tensors]
    for n, tensor in zip(needed, linked, strict=True):
        found[n] = tensor
    return found


# --- the pass back --------------------------------------------------------------------------------


def _leaves(roots: list[Any]) -> list[Any]:
    """The leaves that the roots' gradients reach."""
    found: dict[int, Any] = {}
    seen: dict[int, Any] = {}  # the nodes themselves: an id is used again when its object has gone
    left = [t.grad_fn for t in roots]
    found.update({id(t): t for t in roots if t.grad_fn is None and t.requires_grad})
    while left:
        node = left.pop()
        if node is None or id(node) in seen:
            continue
        seen[id(node)] = node
        variable = getattr(node, "variable", None)
        if variable is not None:
            found[id(variable)] = variable
        left += [inner for inner, _ in node.next_functions]
    return list(found.values())


def _run(context: DistAutogradContext, roots: list[Any], gradients: list[Any]) -> None:
    """Add the gradients of leaves here, and send on those of what came from others."""
    leaves = _leaves(roots)
    if not leaves:
        return
    found = torch.autograd.grad(roots, leaves, gradients, retain_graph=True, allow_unused=True)
    for leaf, gradient in zip(leaves, found, strict=True):
        if gradient is not None:
            context.add(leaf, gradient)


def _outstanding(context: DistAutogradContext) -> Future:
    """The future of all that was sent on."""
    with context._lock:
        waiting, context._outstanding = context._outstanding, []
    return collect_all(waiting)


def backward(context_id: int, roots: list[Any], retain_graph: bool = False) -> None:
    """Run the pass back from scalars, over all workers that took part; gradients are in the context then.

    The graph is kept until the context is left.
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
    contexts.passes += 1
    try:
        _run(context, list(roots), [torch.ones_like(root) for root in roots])
        for done in _outstanding(context).wait():
            done.wait()
    finally:
        contexts.passes -= 1


@service
def backward_of_sent(question: tuple[int, int, list[Any]], asker: int) -> Future:
    """The pass from tensors that this worker has sent; done when those that it goes on to are."""
    number, message, gradients = question
    context = contexts.find(number)
    _, tensors = context._sent[message]
    me = state.agent().get_worker_info().id
    try:
        _run(context, tensors, [g.to(t.device) for g, t in zip(gradients, tensors, strict=True)])
    except Exception as error:
        text = str(error)
        if not text.startswith("Error on Node"):
            text = f"Error on Node {me}: {text}"
        raise RuntimeError(text) from error
    return _outstanding(context).then(lambda done: [one.wait() for one in done.wait()] and None)


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
