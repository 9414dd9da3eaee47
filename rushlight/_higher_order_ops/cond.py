"""torch.cond: one of two functions, as a number says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight._engine.core.callers import warn
from rushlight._engine.core.pytree import flatten
from rushlight._engine.tensors.tensor import Tensor
from rushlight._higher_order_ops.operators import Control, Function, Told, all_tensors, holds

__all__ = ["cond", "cond_op"]


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """true_fn(*operands) if pred else false_fn(*operands). RuntimeError where a predicate is no bool or a
    tensor of several, a branch cannot be called, or operands are no tuple or list.
    """
    if not isinstance(pred, (bool, Tensor)) and not hasattr(pred, "relation"):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only"
            f" consists of tensor leaves, but got {operands}."
        )
    return cond_op(pred, true_fn, false_fn, operands)


def _run(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    return (true_fn if holds(pred, "cond") else false_fn)(*operands)


def _recorded(
    listener: Any, pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()
) -> Any:
    """Both branches as graphs; the results are those of the branch that this call takes."""
    if listener.is_constant(pred):
        if listener.symbolic:
            warn(
                "Pred is a Python constant. When used with torch.cond, it specializes on one of the branches."
                " If you want torch.cond to preserve two branches, please make the predicate a boolean tensor"
                " or a SymBool.",
                UserWarning,
            )
        return _run(pred, true_fn, false_fn, operands)
    taken = bool(pred._array.item()) if isinstance(pred, Tensor) else getattr(pred, "value", pred)
    leaves, spec = flatten(list(operands))
    branches = [
        listener.function(lambda *given, f=f: f(*spec.unflatten(list(given))), leaves)
        for f in (true_fn, false_fn)
    ]
    one, other = branches
    if one.spec != other.spec:
        raise RuntimeError(
            f"Unmatched output spec from torch.cond branches: true branch tree_spec {one.spec} vs false "
            f"branch tree_spec {other.spec}."
        )
    for a, b in zip(one.values, other.values, strict=True):
        if isinstance(a, Tensor) and isinstance(b, Tensor) and (a.dtype, a.dim()) != (b.dtype, b.dim()):
            raise RuntimeError(
                "When merging two branches' output in torch.cond, they have different dtypes or numbers of "
                f"dims: {a.dtype}, {a.dim()} and {b.dtype}, {b.dim()}"
            )
    names = ("true_graph", "false_graph")
    return listener.called(cond_op, (pred,), branches, names, leaves, (one if taken else other))


def _told(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    leaves, spec = flatten(list(operands))
    if not isinstance(pred, Tensor) or not all_tensors(leaves):
        return NotImplemented

    def of(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: function(*spec.unflatten(list(given)))

    told = Told(
        cond_op,
        [
            Function("cond_true", "true_graph", of(true_fn)),
            Function("cond_false", "false_graph", of(false_fn)),
        ],
        [pred, *leaves],
        [False] * len(leaves),
        lambda bodies, given, more: (given[0], *bodies, (*given[1:], *more)),
        alike=True,
    )
    return told, lambda found, structure: structure.unflatten(found)


cond_op = Control("cond", _run, _recorded, _told)
