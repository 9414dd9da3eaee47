"""What the node of an in-place op keeps of its result: the tensor that was written to.

A gradient that is said in terms of the result (exp, relu, tanh, ...) reads it from there, as in PyTorch:
the memory is held once, and a later write to it is refused when the gradient is asked for.
"""

from __future__ import annotations

from typing import Any

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.node import AccumulateGrad
from rushlight._engine.autograd.saved_tensors import result_alias
from rushlight._engine.core.recording import TAPE
from rushlight._engine.dispatch.interpreters import MODES, heard
from rushlight._engine.dispatch.nodes.formula_nodes import keep_result
from rushlight._engine.dispatch.nodes.formula_rules import SavedOperands
from rushlight._engine.dispatch.nodes.saved_arguments import Saved, Versioned, kept
from rushlight._engine.tensors.tensor import Tensor, wrap


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


def to_be_recorded(formula: Any, compiled: Any, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The operands of a formula's node, before its result is written into the first of them: a copy of this
    one, where a gradient reads it. None where anything is unusual: a view, a leaf, somebody who listens.
    """
    target = values[0]
    node, s = target._grad_node, target._storage
    if (
        TAPE
        or MODES
        or heard(values)
        or LOCAL.transforms
        or target.__class__ is not Tensor
        or target._kind.special
        or node.__class__ is AccumulateGrad
        or getattr(target, "_view_of", None) is not None
        or (s is not None and s.views)
        or (node is not None and target.__dict__.get("_retains_grad"))
    ):
        return None
    wanted, bit = 0, 1
    for v in values:
        if isinstance(v, Tensor) and v._grad_node is not None:
            wanted |= bit
        bit += bit
    saved = compiled.saved_by_wanted.get(wanted)
    if saved is None or any([v is target for v in values[1:]]):
        return None
    if formula.operands[0] not in saved:
        return values
    held = wrap(target._array.copy("K"), target._kind)
    held._grad_node, held._output_nr = node, target._output_nr
    return held, *values[1:]
