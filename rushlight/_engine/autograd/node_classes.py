"""torch._C._functions: classes of nodes, and the few that a program may put into a graph by hand."""

from __future__ import annotations

from typing import Any

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.in_place import CopySlices
from rushlight._engine.autograd.node import AccumulateGrad, Node, edge
from rushlight._engine.tensors.tensor import Tensor, alias

__all__ = ["AccumulateGrad", "CopySlices", "DelayedError", "Error", "UndefinedGrad"]


class Error(Node):
    """A node that refuses to run, with what `saved` says."""

    __slots__ = ()
    multi = True

    def apply(self, grads: Any) -> Any:
        """RuntimeError."""
        raise RuntimeError(self.saved[0])

    def name(self) -> str:
        """PyTorch's name."""
        return "torch::autograd::Error"


class UndefinedGradBackward(Node):
    """A node behind which there is no gradient."""

    __slots__ = ()
    multi = True

    def apply(self, grads: Any) -> Any:
        """None for each input."""
        return (None,) * len(self.next)


def _through(kind: type[Node], saved: Any, tensors: tuple[Any, ...]) -> Any:
    """The tensors as results of one node, where they require grad."""
    if not (LOCAL.enabled and any(t is not None and t.requires_grad for t in tensors)):
        found = tuple(t if t is None else t.detach() for t in tensors)
    else:
        node = kind(tuple(None if t is None else edge(t) for t in tensors), saved)
        node.count = len(tensors)
        found = tuple(t if t is None else alias(t, node, i) for i, t in enumerate(tensors))
    return found[0] if len(found) == 1 else found


class DelayedError:
    """DelayedError(message, number of tensors)(*tensors): the same tensors; backward through them raises."""

    def __init__(self, msg: str | bytes, num_inputs: int) -> None:
        self.msg = msg.decode() if isinstance(msg, bytes) else msg
        self.num_inputs = num_inputs

    def __call__(self, *tensors: Tensor | None) -> Any:
        return _through(Error, (self.msg,), tensors)


def refusing(t: Tensor, message: str) -> Any:
    """The tensor; who asks for gradients through it gets a RuntimeError with the message."""
    return DelayedError(message, 1)(t)


class UndefinedGrad:
    """UndefinedGrad()(*tensors): the same tensors, through which no gradient comes back."""

    def __call__(self, *tensors: Tensor | None) -> Any:
        return _through(UndefinedGradBackward, (), tensors)


def __getattr__(name: str) -> Any:
    # Nodes of ops have a class each, which is made with the op's first graph.
    for cls in Node.__subclasses__():
        if cls.__name__ == name:
            return cls
    raise AttributeError(f"module 'torch._C._functions' has no attribute '{name}'")
