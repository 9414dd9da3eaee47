"""torch.autograd.graph: hooks on what nodes keep, and edges of the graph."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from rushlight._engine.autograd.function import FunctionCtx
from rushlight._engine.autograd.hooks import current_run, queue_callback
from rushlight._engine.autograd.node import TRACES, GradientEdge, Node as _Node, get_gradient_edge
from rushlight._engine.autograd.node_classes import DelayedError, UndefinedGrad
from rushlight._engine.autograd.saved_tensor_hooks import HOOKS, pop, push, refusal, refuse
from rushlight._engine.tensors.tensor import Tensor, storage
from rushlight.utils.hooks import RemovableHandle

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "node_creation_hook",
    "queue_callback",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class _Nodes(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, (_Node, FunctionCtx, DelayedError, UndefinedGrad))


class Node(metaclass=_Nodes):
    """Any node of a graph, for isinstance and issubclass: name(), next_functions, metadata, register_hook,
    register_prehook.
    """


class saved_tensors_hooks:
    """Inside, every tensor that is saved for backward is kept as pack_hook(tensor).

    Backward gets unpack_hook of that, which must be a tensor equal to the saved one. Of nested pairs the
    innermost is called. RuntimeError where disable_saved_tensors_hooks is in force, or pack_hook writes to
    what it is given; TypeError where unpack_hook gives no tensor.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        push(self.pack_hook, self.unpack_hook)

    def __exit__(self, *error: object) -> None:
        pop()


class save_on_cpu(saved_tensors_hooks):
    """Inside, saved tensors are kept in the CPU's memory and go back to their device for backward.

    pin_memory: keep a copy, even of a tensor on the CPU. device_type names an accelerator, of which there
    is none.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(t: Tensor) -> tuple[Any, Tensor]:
            return t.device, t.detach().clone() if pin_memory else t.detach().cpu()

        super().__init__(pack, lambda packed: packed[1].to(packed[0]))


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside, saved-tensor hooks raise RuntimeError(error_message); so does coming here under some."""
    before = refusal()
    refuse(error_message)
    try:
        yield
    finally:
        HOOKS.refusal = before


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[Any]:
    """Inside, backward gets what was saved, whatever is written to it later: it is copied before a write.

    Gives the context that keeps the copies. Both passes must run inside: AssertionError otherwise;
    RuntimeError where contexts are nested.
    """
    # few programs allow writes to what is saved
    from rushlight.autograd.saved_mutation import CloneBeforeWrite, Context

    if Context.current is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = Context.current = Context()
    try:
        with saved_tensors_hooks(context.pack, context.unpack), CloneBeforeWrite(context):
            yield context
    finally:
        Context.current = None
        context.clear()


def increment_version(tensor: Any) -> None:
    """Count a write that autograd could not see into a tensor (or into each of several)."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        storage(t).version += 1


class _Together(RemovableHandle):
    """The handle of hooks that were set together."""

    def __init__(self, handles: Sequence[Any]) -> None:
        super().__init__(OrderedDict())
        self._handles = handles

    def remove(self) -> None:
        """Take all of them away."""
        for handle in self._handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn` in each backward when gradients of several tensors are known; what it returns is left alone.

    mode "all": fn(gradients) when the last of them is there that this backward computes, None for the
    others; "any": fn(gradient) with the first. ValueError for another mode, AssertionError for a tensor that
    requires no grad.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    nodes = [t._grad_node for t in tensors]
    if None in nodes:
        raise AssertionError("Expected gradient function to be set: all tensors must require grad")
    found: WeakKeyDictionary[Any, tuple[list[Any], list[int]]] = WeakKeyDictionary()

    def receive(place: int, grad: Tensor) -> None:
        run: Any = current_run()  # a hook is called while one runs
        if first := run not in found:
            reached = run.reached()
            found[run] = [None] * len(nodes), [i for i, node in enumerate(nodes) if node in reached]
        grads, missing = found[run]
        grads[place] = grad
        missing.remove(place)
        if first if mode == "any" else not missing:
            fn(grad if mode == "any" else grads)

    handles = [t.register_hook(partial(receive, place)) for place, t in enumerate(tensors)]
    return _Together(handles)


class node_creation_hook:
    """A context manager in which hook(node) is called with each node that is made, in its order.

    A node is complete then: what it keeps, and where its gradients go. The hook may look at it, keep notes in
    its `metadata` and register hooks on it. Of nested ones the outer goes first. A leaf's node
    (AccumulateGrad) is made, and told, when it is first asked for.
    """

    def __init__(self, hook: Callable[[Any], None]) -> None:
        self._hook = hook

    def __enter__(self) -> None:
        TRACES.add(self._hook)

    def __exit__(self, *error: object) -> None:
        TRACES.remove(self._hook)
