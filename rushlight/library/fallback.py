"""What autograd makes of ops that have no function for the key "Autograd": a node that warns in backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.node import Node, edge
from rushlight._engine.core.callers import warn


class _Mode:
    """What the fallback does: "warn", or "nothing"."""

    said = "warn"


def get_mode() -> str:
    """What a backward pass through an op without an autograd formula does: "warn" or "nothing"."""
    return _Mode.said


def set_mode(mode: str) -> None:
    """Warn of such passes ("warn"), or do not ("nothing"). RuntimeError for other words."""
    if mode == "error":
        raise RuntimeError("NYI: mode='error'")
    if mode not in ("warn", "nothing"):
        raise RuntimeError(f"Unsupported AutogradFallbackMode: {mode}; expected 'warn' or 'nothing'")
    _Mode.said = mode


def _warn(op: str) -> None:
    warn(
        f"{op}: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop "
        "through it. This may lead to silently incorrect behavior. This behavior is deprecated and will be "
        "removed in a future version of PyTorch. If your operator is differentiable, please ensure you have "
        "registered an autograd kernel to the correct Autograd key (e.g. DispatchKey::Autograd, "
        "DispatchKey::CompositeImplicitAutograd). If your operator is not differentiable, or to squash this "
        "warning and use the previous behavior, please register torch::CppFunction::makeFallthrough() to "
        "DispatchKey::Autograd."
    )


class WarnNotImplemented(Node):
    """The node of such an op, whose name is what it saved: no gradient comes back through it."""

    __slots__ = ()
    multi = True

    def apply(self, grads: Any) -> Any:
        """None for each input, and the warning."""
        _warn(self.saved[0])
        return (None,) * len(self.next)

    def name(self) -> str:
        """PyTorch's name."""
        return "torch::autograd::WarnNotImplemented"


def _told(name: str) -> Callable[[Any], None]:
    return lambda grad: _warn(name)


def falls_back(kernels: dict[str, Any]) -> bool:
    """Whether an op that has functions for these keys, none of them autograd's, is more than other ops."""
    if "CompositeImplicitAutograd" not in kernels:
        return True
    return not kernels.keys().isdisjoint(("CPU", "CompositeExplicitAutograd"))


def followed(name: str, schema: Any, leaves: Any, compute: Callable[[], Any]) -> Any:
    """What `compute` gives, from the tensors among the leaves, with whatever warns in a backward pass."""
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if _Mode.said == "nothing" or not LOCAL.enabled or not any(t.requires_grad for t in tensors):
        return compute()
    node = WarnNotImplemented(tuple(edge(t) for t in tensors), (name,))
    result = compute()
    returns = schema.returns if schema is not None else []
    results = result if isinstance(result, (tuple, list)) and len(returns) > 1 else (result,)
    made: list[Any] = []
    for i, values in enumerate(results):
        written = i < len(returns) and returns[i].is_written
        for t in values if isinstance(values, (tuple, list)) else (values,):
            if not isinstance(t, torch.Tensor) or not (t.is_floating_point() or t.is_complex()):
                continue
            if t.requires_grad:
                _hear(name, t, written)
            elif not written:
                made.append(t)
    node.count = len(made)
    for i, t in enumerate(made):
        t._grad_node, t._output_nr = node, i
    return result


def _hear(name: str, t: Any, written: bool) -> None:
    """Warn when a gradient arrives at a tensor, or at what it is a view of."""
    t.register_hook(_told(name))
    if written and t._is_view() and t._base.requires_grad:
        t._base.register_hook(_told(name))
