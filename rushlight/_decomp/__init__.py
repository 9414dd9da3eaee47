"""torch._decomp: functions that stand for ops, by overload: for make_fx, and for tables of a program's own.

The table holds fewer ops than PyTorch's: an overload without an entry is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight._engine.ops.expressions import symbol
from rushlight._engine.ops.table import ROWS
from rushlight._torch_dispatch import decompositions as decomposed
from rushlight._torch_dispatch.formulas import by_atoms
from rushlight.export.overloads import Overload, Packet, recorded

__all__ = [
    "core_aten_decompositions",
    "decomposition_table",
    "get_decompositions",
    "global_decomposition_table",
    "register_decomposition",
    "remove_decompositions",
]


def _clamped(low: Any, high: Any) -> Callable[..., Any]:
    def run(self: Any, *bounds: Any) -> Any:
        given = bounds or (low, high)
        return torch.clamp(self, *given) if self.is_floating_point() else _whole_clamp(self, *given)

    return run


def _whole_clamp(x: Any, low: Any, high: Any) -> Any:
    """hardtanh of integers, whose bounds are theirs: their fractions are dropped."""
    return torch.clamp(x, int(low), int(high))


def _of_row(name: str) -> Callable[..., Any]:
    """A pointwise row's formula, in ops for its atoms."""

    def run(*values: Any) -> Any:
        row = ROWS[name]
        names = [p.name for p in row.params]
        return by_atoms(row.body(*map(symbol, names)), dict(zip(names, values, strict=True)))

    return run


_OWN: dict[str, Callable[..., Any]] = {
    "silu.default": _of_row("silu"),
    "hardtanh.default": _clamped(-1.0, 1.0),
    "addmm.default": lambda a, x, y, *, beta=1, alpha=1: (
        (torch.mm(x, y) * alpha if alpha != 1 else torch.mm(x, y)) + (a * beta if beta != 1 else a)
    ),
    "t.default": lambda x: x.transpose(0, 1) if x.dim() == 2 else x,
    "addcmul.default": lambda x, a, b, *, value=1: x + (a * b if value == 1 else value * (a * b)),
    "addcdiv.default": lambda x, a, b, *, value=1: x + (a / b if value == 1 else value * (a / b)),
    "_softmax.default": lambda x, dim, half_to_float: _softmax(x, dim),
    "_log_softmax.default": lambda x, dim, half_to_float: _log_softmax(x, dim),
    "mse_loss.default": lambda x, y, reduction=1: _reduced((x - y) ** 2, reduction),
    "rsub.Scalar": lambda x, other, alpha=1: _difference(other, x, alpha),
    "rsub.Tensor": lambda x, other, *, alpha=1: _difference(other, x, alpha),
    "native_layer_norm.default": lambda *args: _layer_norm(*args),
    "outer.default": decomposed.outer,
    "linear.default": decomposed.linear,
    "matmul.default": decomposed.matmul,
}


def _difference(a: Any, b: Any, alpha: Any) -> Any:
    """a - alpha * b by the op of that name: `-` with a number on its left is rsub again."""
    aten: Any = torch.ops.aten
    return aten.sub.Tensor(a, b, **({} if alpha == 1 else {"alpha": alpha}))


def _softmax(x: Any, dim: int) -> Any:
    raised = torch.exp(x - torch.amax(x, dim, keepdim=True) if x.numel() else x)
    return raised / torch.sum(raised, dim, keepdim=True)


def _log_softmax(x: Any, dim: int) -> Any:
    shifted = x - torch.amax(x, dim, keepdim=True) if x.numel() else x
    return shifted - torch.log(torch.sum(torch.exp(shifted), dim, keepdim=True))


def _reduced(x: Any, reduction: int) -> Any:
    return x if reduction == 0 else x.mean() if reduction == 1 else x.sum()


def _layer_norm(x: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    dims = list(range(x.dim() - len(normalized_shape), x.dim()))
    variance, mean = torch.var_mean(x, dims, correction=0, keepdim=True)
    scale = torch.rsqrt(variance + eps)
    found = (x - mean) * scale
    found = found if weight is None else found * weight
    return found if bias is None else found + bias, mean, scale


def _overload(name: str) -> Overload:
    own, _, overload = name.partition(".")
    return recorded(own)[overload]


decomposition_table: dict[Any, Callable[..., Any]] = {_overload(name): f for name, f in _OWN.items()}
global_decomposition_table: dict[str, dict[Any, Callable[..., Any]]] = {
    "post_autograd": decomposition_table,
    "pre_autograd": {},
    "meta": {},
}


def _each(op: Any) -> list[Any]:
    if isinstance(op, Packet):
        return [getattr(op, name) for name in op.overloads()]
    return [op]


def register_decomposition(
    aten_op: Any, registry: dict[Any, Any] | None = None, *, type: str = "post_autograd", unsafe: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function stands for an overload, for all of an op's, or for each of a list.

    registry: the table to write to; else that of `type`. RuntimeError for a second one.
    """

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        table = global_decomposition_table[type] if registry is None else registry
        for op in aten_op if isinstance(aten_op, (list, tuple)) else [aten_op]:
            for overload in _each(op):
                if overload in table:
                    raise RuntimeError(f"duplicate registrations for {overload}")
                table[overload] = fn
        return fn

    return register


def get_decompositions(aten_ops: Sequence[Any], type: str = "post_autograd") -> dict[Any, Callable[..., Any]]:
    """The part of the table that is about these overloads and ops."""
    table = global_decomposition_table[type]
    return {overload: table[overload] for op in aten_ops for overload in _each(op) if overload in table}


def remove_decompositions(decompositions: dict[Any, Any], aten_ops: Sequence[Any]) -> None:
    """Take these overloads and ops out of a table."""
    for op in aten_ops:
        for overload in _each(op):
            decompositions.pop(overload, None)


def core_aten_decompositions() -> dict[Any, Callable[..., Any]]:
    """The whole table, to change."""
    return dict(decomposition_table)
