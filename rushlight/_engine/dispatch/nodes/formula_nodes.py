"""What nodes of pointwise formulas keep, and how they hand gradients on."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.node import Node
from rushlight._engine.autograd.saved_tensors import check_version, reattach, result_alias, version_of
from rushlight._engine.dispatch.number_operands import NUMBERS
from rushlight._engine.tensors.geometry import lookup_function
from rushlight._engine.tensors.kind import Kind
from rushlight._engine.tensors.tensor import Tensor


class SimpleGradient(Enum):
    """The gradient of an operand that needs no formula."""

    INCOMING = "the gradient of the result"
    ZERO = "zeros"


INCOMING, ZERO = SimpleGradient


class NoGradient:
    """Stands where an operand's gradient formula would, if there is none: called, it raises the reason."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __call__(self, *_: Any) -> Any:
        """Raise the reason."""
        raise NotImplementedError(self.reason)


class Kept(NamedTuple):
    """One operand (or the result) that a node keeps. The hot path writes a plain tuple in this order."""

    value: Any
    version: int  # of its storage when it was kept; -1 of a plain number


class SavedByFormula(NamedTuple):
    """What the node of a formula has in `saved`. The hot path writes a plain tuple in this order."""

    operands: Any  # formula_rules.SavedOperands: their names, and the rule that reads them
    kept: list[Kept]  # in the order of the names
    places: list[Any] | None  # of each operand its `place`; None where all are like the result


def keep(v: Any) -> tuple[Any, int]:
    """An operand as nodes hold it: with its version, -1 for a plain number."""
    if v.__class__ in NUMBERS:
        return v, -1
    return v, 0 if v._storage is None else version_of(v)


def keep_result(t: Tensor) -> tuple[Tensor, int]:
    """A node's own result, as it is held."""
    return result_alias(t), version_of(t)


def place(v: Any, shape: tuple[int, ...]) -> Any:
    """(shape to sum the gradient to, or None; kind to convert it to) of a tensor operand."""
    if v.__class__ in NUMBERS:
        return None
    return None if v._geometry.shape == shape else v._geometry.shape, v._kind


def apply(node: Any, grad: Tensor) -> Any:
    """One gradient per operand, by the formulas derived from the node's own."""
    return node.saved[0].rule(node, grad)  # formula_rules.py


def release(node: Any) -> None:
    """Let go of the tensors that were saved."""
    saved = node.saved
    if saved.__class__ is tuple:
        if keeps_tensors(saved):
            node.saved = None
    else:
        Node.release(node)


def keeps_tensors(saved: Any) -> bool:
    """Whether a node keeps more than numbers like `alpha`; a number called "other" is a tensor in PyTorch."""
    names, kept, _ = SavedByFormula(*saved)
    return bool(kept) and (
        kept[0][1] >= 0
        or any(version >= 0 or name == "other" for name, (_, version) in zip(names, kept, strict=True))
    )


def apply_any(node: Any, grad: Tensor) -> list[Any]:
    """`apply` for whatever the node kept, and wherever its gradient may be tracked again."""
    names, kept, places = node.saved
    values: list[Any] = [grad]
    for value, version in kept:
        if version >= 0:
            s = value._storage
            if (0 if s is None else s.version) != version:
                check_version(node, value, version)
            if LOCAL.enabled and names[len(values) - 1] == "result":
                value = reattach(value, node)
        values.append(value)
    formula_of, complex_ = node.formula, node.complex_
    variants = formula_of.variants.get((names, complex_))
    results: list[Any] = []
    for number, e in enumerate(node.next):
        if e is None:
            results.append(None)
            continue
        formula, uses = (variants and variants[number]) or formula_of.variant(number, complex_, names)
        if formula is INCOMING:
            g = grad
        elif formula is ZERO:  # whatever the gradient holds, infinities and NaN among it
            g = lookup_function("zeros_like")(grad)
        else:
            g = formula(*[values[u] for u in uses])
        if places is not None:
            shape, of = places[number]
            if shape is not None or g._kind is not of:
                g = fit(g, shape, of)
        results.append(g)
    return results


def fit(g: Tensor, shape: Any, of: Kind) -> Tensor:
    """A gradient summed to an operand's shape and given its dtype."""
    if shape is not None and g._geometry.shape != shape:
        g = g.sum_to_size(shape)
    if g._kind is not of:
        if g._kind.dtype.is_complex and not of.dtype.is_complex:
            g = g.real
        g = g.to(of.dtype) if g._kind.backend is of.backend else g.to(of.device, of.dtype)
    return g
