"""What the node of an in-place op keeps of its result: the tensor that was written to.

A gradient that is said in terms of the result (exp, relu, tanh, ...) reads it from there, as in PyTorch:
the memory is held once, and a later write to it is refused when the gradient is asked for.
"""

from __future__ import annotations

from rushlight._engine.dispatch.nodes.formula_nodes import keep_result
from rushlight._engine.dispatch.nodes.formula_rules import SavedOperands
from rushlight._engine.dispatch.nodes.saved_arguments import Saved, Versioned, kept
from rushlight._engine.dispatch.nodes.saved_tensors import result_alias
from rushlight._engine.tensors.tensor import Tensor


def keep_target(result: Tensor, target: Tensor) -> None:
    """Let the node of `result`, whose values were written into `target`, keep `target` in its place."""
    saved = getattr(result._grad_node, "saved", None)
    if target._kind is not result._kind:
        return
    if saved.__class__ is tuple and saved and saved[0].__class__ is SavedOperands:
        names, items, _ = saved
        if "result" in names and items[names.index("result")].__class__ is tuple:
            items[names.index("result")] = keep_result(target)
    elif isinstance(saved, Saved) and saved._results:
        items = saved._results[1]
        if items and items[0].__class__ is Versioned and items[0].tensor._storage is result._storage:
            items[0] = kept(result_alias(target))
