"""Hooks on tensors and nodes, and what the engine calls around them."""

from __future__ import annotations

import itertools
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter, itemgetter
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.node import AccumulateGrad, Hooks as Hooks, Node
from rushlight._engine.core.services import service
from rushlight._engine.ops.creation.copying import assign, duplicate
from rushlight._engine.tensors.geometry import sparse_coo, strided
from rushlight._engine.tensors.gradient import as_kept
from rushlight._engine.tensors.lazy_views import mark, memory
from rushlight._engine.tensors.tensor import BELOW, Tensor, wrap

Guard = Callable[[Node, Any], Sequence[Any]]
# What runs a node in place of Node.apply, or None.
GUARD: Guard | None = None
# Where the hook stands that is no program's.
_OVERHEARD = -1
# One item for each mode, of all threads, that hears ops below autograd.
LISTENING: list[None] = []


def guard_nodes(guard: Guard | None) -> None:
    """Let `guard(node, grad)` run every node from now on (anomaly mode); None: nodes do it themselves."""
    global GUARD
    GUARD = guard


def hooks_of(node: Node) -> Hooks:
    """The hooks of a node; from now on gradients that come to it are seen (`received`)."""
    if node.hooks is None:
        node.hooks, Hooks.made = Hooks(), True
    return node.hooks


def _added(table: dict[int, Any], entry: Any) -> Any:
    """A hook's handle, whose class programs know."""
    handle = service("handle of a hook")(table)
    table[handle.id] = entry
    return handle


def overhear(node: Node, hook: Callable[[Any], None]) -> None:
    """Let `hook` know the gradients of a node's results, where it runs in the general way."""
    if node.hooks is None:
        node.hooks = Hooks()
    node.hooks.pre[_OVERHEARD] = hook


def on_tensor(t: Any, hook: Callable[[Any], Any]) -> Any:
    """Register a hook on a tensor's gradient."""
    if t._grad_node is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    tables = hooks_of(t._grad_node).tensor
    if t._output_nr not in tables:
        tables[t._output_nr] = OrderedDict()
    return _added(tables[t._output_nr], hook)


def replace_on_tensor(t: Any, hooks: dict[int, Callable[[Any], Any]] | None) -> None:
    """Let this table's functions, and no others, be the hooks on a tensor's gradient."""
    if hooks is not None:
        hooks_of(t._grad_node).tensor[t._output_nr] = hooks
    elif t._grad_node.hooks is not None:
        t._grad_node.hooks.tensor.pop(t._output_nr, None)


def after_accumulation(t: Any, hook: Callable[[Any], None]) -> Any:
    """Register a hook on a leaf that runs once its `.grad` is complete."""
    if t._grad_node.__class__ is not AccumulateGrad:
        if t._grad_node is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return _added(hooks_of(t._grad_node).accumulated, hook)


def on_node(node: Node, hook: Callable[..., Any], when: str) -> Any:
    """Register a hook that runs before or after a node."""
    return _added(getattr(hooks_of(node), when), hook)


def retain(t: Any) -> None:
    """Keep a non-leaf tensor's gradient."""
    if not t.retains_grad:
        t.__dict__["_retains_grad"] = True
        hooks_of(t._grad_node).retained[t._output_nr] = weakref.ref(t)


def move_retained(t: Any, old: Node, node: Node, number: int) -> None:
    """What a tensor keeps of its gradient is kept at its new place."""
    retained = {} if old.hooks is None else old.hooks.retained
    for at, reference in list(retained.items()):
        if reference() is t:
            del retained[at]
            hooks_of(node).retained[number] = reference


def _listed(node: Node, grad: Any) -> list[Any]:
    """The gradients of all results of a node, None where there is none."""
    if not node.multi:
        return [grad]
    return [*grad, *[None] * (node.results() - len(grad))]


def received(node: Node, grad: Any) -> Any:
    """Run the tensors' hooks of a node on the gradients it has received; keep what is to be kept."""
    h = node.hooks
    if node.__class__ is AccumulateGrad and grad is not None and (leaf := node._leaf()) is not None:
        grad = as_kept(leaf, grad)
    if h is None or not (h.retained or h.of_tensors()):
        return grad
    grads = _listed(node, grad)
    for number, table in list(h.tensor.items()):
        for hook in list(table.values()):
            grads[number] = _replaced(hook(grads[number]), grads[number])
    for number, reference in h.retained.items():
        t = reference()
        if t is not None and grads[number] is not None:
            held = t.grad
            t._grad = grads[number] if held is None else held + grads[number]
    return grads if node.multi else grads[0]


def before(node: Node, grad: Any) -> Any:
    """Run the pre-hooks of a node that is about to run."""
    h = node.hooks
    if h is None or not h.pre:
        return grad
    grads = _listed(node, grad)
    for hook in list(h.pre.values()):
        found = hook(tuple(grads))
        if found is not None:
            grads = _counted(found, len(grads))
    return grads if node.multi else grads[0]


def _counted(found: Any, wanted: int) -> list[Any]:
    """What a node's hook gives in place of gradients: as many."""
    values = list(found) if isinstance(found, (tuple, list)) else [found]
    if len(values) != wanted:
        raise RuntimeError(
            f"hook has returned an incorrect number of values (got {len(values)}, but expected {wanted})"
        )
    return values


def _replaced(found: Any, grad: Any) -> Any:
    if found is None:
        return grad
    if not hasattr(found, "_kind"):
        raise TypeError(f"hook should return a Tensor or None, got {type(found).__name__}")
    if grad is None:
        raise RuntimeError("can't replace a empty gradient with a non-empty value")
    if found._geometry.shape != grad._geometry.shape:
        raise RuntimeError(
            f"hook has changed the size of value: expected {list(grad.shape)}, got {list(found.shape)}"
        )
    return found


def after(node: Node, results: Any, grad: Any) -> Any:
    """Run a node's post-hooks on (gradients of inputs, gradients of outputs)."""
    outputs = tuple(grad) if node.multi else (grad,)
    for hook in list(node.hooks.post.values()) if node.hooks is not None else ():
        found = hook(tuple(results), outputs)
        if found is not None:
            results = _counted(found, len(results))
    return results


def accumulated(node: Node, leaf: Any) -> None:
    """Run a leaf's hooks after its gradient is complete."""
    if node.hooks is None:
        return
    for hook in list(node.hooks.accumulated.values()):
        found = hook(leaf)
        if found is None:
            continue
        if not isinstance(found, Tensor):
            raise TypeError(f"expected Variable, but hook returned '{type(found).__name__}'")
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    for hook in list(node.hooks.post.values()):
        hook((), (leaf.grad,))


def own(grad: Any, leaf: Any) -> Any:
    """`grad` as the leaf's own: itself where nobody else holds it or its memory, else a copy.

    It lies as the leaf does where that is dense, else row by row.
    """
    if grad._kind.lazy and sys.getrefcount(grad) <= _ALONE:
        return mark(own(memory(grad), leaf), grad._kind.conj, grad._kind.neg)
    a = grad._array
    if grad._kind.backend is not None:
        return grad._kind.backend.owned(
            grad, leaf, sys.getrefcount(grad) <= _ALONE and grad._grad_node is None
        )
    whole = a.base is None or LENT.get(id(a.base)) is a.base or _sole_view(grad, a)
    alone = whole and sys.getrefcount(grad) <= _ALONE and sys.getrefcount(a) <= _ALONE - 1
    buffer = None if (like := leaf._array).flags.c_contiguous else np.empty_like(like)
    if buffer is not None and any(
        n > 1 and s != t for n, s, t in zip(like.shape, buffer.strides, like.strides, strict=True)
    ):
        buffer = np.empty(like.shape, like.dtype)
    if (
        alone
        and grad._grad_node is None
        and (
            (a.flags.c_contiguous if buffer is None else a.strides == buffer.strides) or not LOCAL.grad_layout
        )
    ):
        return grad if a.base is None or getattr(grad, "_view_of", None) is None else wrap(a, grad._kind)
    if grad.layout is sparse_coo and not grad._values().is_contiguous():
        return grad.clone()
    if grad.__class__ in BELOW or (grad.layout is not strided and sys.getrefcount(grad) <= _ALONE):
        return grad.detach()
    if grad.layout is not strided:
        return grad.clone()
    return wrap(duplicate(a) if buffer is None else assign(buffer, a), grad._kind)


def _sole_view(grad: Any, a: Any) -> bool:
    """Whether an array is a view of all the memory of one that nobody else holds."""
    base, above = a.base, 0
    if base.__class__ is not np.ndarray or base.base is not None or base.size != a.size:
        return False
    while (view := getattr(grad, "_view_of", None)) is not None:
        # A tensor that it was taken of holds the memory, too.
        if _references(view, _TAKEN_OF) > _ONE:
            return False
        grad = view[0]
        if grad._array is not base and _references(grad, _ARRAY) > _ONE:
            return False
        above += 1
    return _references(a, _BASE) <= _ONE + above + 1  # `base` here


def _references(holder: Any, part: Any) -> int:
    """To a part of something: _ONE, if that alone holds it."""
    found = part(holder)
    return sys.getrefcount(found)


_TAKEN_OF, _ARRAY, _BASE = itemgetter(0), attrgetter("_array"), attrgetter("base")
_ONE = _references((object(),), _TAKEN_OF)
# Memory of compiled programs, each handed out whole and to one holder at a time, by the ids of its arrays.
LENT: WeakValueDictionary[int, Any] = WeakValueDictionary()


def _calibrate() -> int:
    # How many references the engine's own frames hold on their way down to own(): it depends on
    # the Python version, so it is measured on the same shape of calls.
    def own(grad: Any, leaf: Any) -> int:
        return sys.getrefcount(grad)

    def accumulate(node: Any, grad: Any, create: bool) -> int:
        return own(grad, node)

    buffers = {0: object()}
    grad = buffers.pop(0)
    return accumulate(None, grad, False)


_ALONE = _calibrate()


# --- callbacks at the end of a run (Variable._execution_engine.queue_callback) --------------------


_numbers = itertools.count()


class Run:
    """One run of the engine; `partial` where it looks for the gradients of given tensors only.

    accumulates: whether leaves' `.grad` is added to. nodes, turns: tell the nodes that get a gradient, and
    their order, by `what` the run is about. number: one higher for each run.
    """

    __slots__ = ("callbacks", "partial", "accumulates", "number", "_nodes", "_turns", "_what", "__weakref__")

    def __init__(
        self,
        partial: bool,
        accumulates: bool,
        nodes: Callable[..., set[Node]],
        turns: Callable[..., list[Node]],
        *what: Any,
    ) -> None:
        # Of those that were queued; None for none.
        self.callbacks: list[Callable[[], None]] | None = None
        self.partial, self.accumulates = partial, accumulates
        self._nodes, self._turns, self._what = nodes, turns, what
        self.number = next(_numbers)

    def at_end(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the run is through."""
        if self.callbacks is None:
            self.callbacks = []
        self.callbacks.append(callback)

    def reached(self) -> set[Node]:
        """The nodes that get a gradient."""
        return self._nodes(*self._what)

    def order(self) -> list[Node]:
        """The same in the order of their turns."""
        return self._turns(*self._what)


class _Runs(threading.local):
    stack: list[Run]

    def __init__(self) -> None:
        self.stack = []


_runs = _Runs()


def depth() -> int:
    """How many runs this thread is in, one inside the other."""
    return len(_runs.stack)


@contextmanager
def inside(run: Run | None) -> Iterator[None]:
    """A thread's first run is inside one of another thread."""
    _runs.stack[:] = () if run is None else (run,)
    try:
        yield
    finally:
        _runs.stack.clear()


def begin_run(*what: Any) -> Run:
    """Open a run; callbacks queued inside belong to it."""
    run = Run(*what)
    _runs.stack.append(run)
    return run


def current_run() -> Run | None:
    """This thread's innermost run, if it is in one."""
    return _runs.stack[-1] if _runs.stack else None


def end_run(run: Run) -> None:
    """Call what was queued, in order."""
    for callback in run.callbacks or ():
        callback()


def leave_run(run: Run) -> None:
    """Close a run, also after an error."""
    _runs.stack.remove(run)


def queue_callback(callback: Callable[[], None]) -> None:
    """Call `callback` when the running backward is through."""
    if not _runs.stack:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    _runs.stack[-1].at_end(callback)
