"""Derived gradients of pointwise rows, for listeners below autograd: ops for their atoms."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.dispatch import interpreters
from rushlight._engine.names.alternatives import present
from rushlight._engine.ops.expressions import toposort
from rushlight._engine.tensors.tensor import Tensor


def listener(values: Any) -> Callable[[Any, Any], Any] | None:
    """`by_ops`, where a mode, or a class among the operands, is to hear of a formula; else None."""
    modes = interpreters.STACK.modes
    concerned = (bool(modes) and hasattr(modes[-1], "__torch_dispatch__")) or (
        interpreters.CLASSES.below and not (interpreters.BELOW.isdisjoint([v.__class__ for v in values]))
    )
    return by_ops if concerned else None


def by_ops(formula: Any, values: tuple[Any, ...]) -> Any:
    """A formula's value by ordinary ops, which whoever stands in the dispatcher hears."""
    return by_atoms(formula.root, dict(zip(formula.operands, values, strict=True)))


def by_atoms(root: Any, given: dict[str, Any]) -> Any:
    """A scalar expression on tensors and numbers, in ordinary ops."""
    values: dict[Any, Any] = {}
    dtype = next(
        (v.dtype for v in given.values() if isinstance(v, Tensor) and v.dtype.is_floating_point), None
    )
    for node in toposort([root]):
        operands = [values[s] for s in node.src]
        if node.op == "in":
            values[node] = given[node.arg]
        elif node.op == "const":
            values[node] = node.arg
        elif node.op == "cast":
            of = getattr(torch, str(node.arg), None)
            values[node] = operands[0].to(of) if isinstance(of, torch.dtype) else operands[0]
        elif node.op == "where" or (node.op in _PYTHON and not any(isinstance(v, Tensor) for v in operands)):
            values[node] = _OPS[node.op](*operands)
        elif not any(isinstance(v, Tensor) for v in operands):
            values[node] = _of_numbers(node.op, operands, dtype)
        else:
            values[node] = _atom(node.op, operands)
    found = values[root]
    if isinstance(found, Tensor):
        return found
    like = torch.broadcast_tensors(*[v for v in given.values() if isinstance(v, Tensor)])[0]
    return torch.full_like(like, found, dtype=dtype)


def _of_numbers(name: str, operands: list[Any], dtype: Any) -> Any:
    with interpreters.unheard():
        return _atom(name, [torch.tensor(v, dtype=dtype) for v in operands]).item()


def _atom(name: str, operands: list[Any]) -> Any:
    if name in _OPS:
        return _OPS[name](*operands)
    found = present(torch, name) or present(torch.special, name) or present(torch.nn.functional, name)
    if found is None:
        raise NotImplementedError(
            f"a gradient with the function {name!r} reaches a __torch_dispatch__, and no op of "
            "PyTorch's says that function: define the op's backward by torch.autograd.Function"
        )
    return found(*operands)


def _where(condition: Any, a: Any, b: Any) -> Any:
    if isinstance(condition, Tensor):
        return torch.where(condition, a, b)
    return a if condition else b


def _bound(larger: bool) -> Callable[[Any, Any], Any]:
    def run(a: Any, b: Any) -> Any:
        if not isinstance(a, Tensor):
            a, b = b, a
        if isinstance(b, Tensor):
            return torch.maximum(a, b) if larger else torch.minimum(a, b)
        return torch.clamp(a, min=b) if larger else torch.clamp(a, max=b)

    return run


def _logical(of_tensors: Callable[..., Any], of_truth: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """An op of conditions, of which some may be Python's: those of numbers."""

    def run(a: Any, b: Any) -> Any:
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            return of_tensors(a, b)
        found = of_truth(b, a) if isinstance(a, Tensor) else of_truth(a, b)
        return found.to(torch.bool) if isinstance(found, Tensor) else bool(found)

    return run


_PYTHON = frozenset(
    "add sub mul neg lt gt eq ne le ge div fma pow logical_and logical_or logical_not".split()
)
_OPS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(operator, name)
        for name in ("add", "sub", "mul", "neg", "lt", "gt", "eq", "ne", "le", "ge")
    },
    "div": operator.truediv,
    "fma": lambda a, b, c: a * b + c,
    "pow": operator.pow,
    "maximum": _bound(True),
    "minimum": _bound(False),
    "logical_and": _logical(torch.logical_and, lambda a, b: b if a else False),
    "logical_or": _logical(torch.logical_or, lambda a, b: True if a else b),
    "logical_not": lambda a: torch.logical_not(a) if isinstance(a, Tensor) else not a,
    "abs": torch.abs,
    "where": _where,
}
