"""What a row counts as: from its result and its arguments, (op, operations), and the same of its gradient."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import rushlight as torch

Counts = tuple[tuple[str, int], tuple[str, int]]
NOTHING = ("", 0), ("", 0)


def folds(a: Any, b: Any) -> bool:
    """Whether PyTorch multiplies batches by a matrix as one product."""
    many, one = (a, b) if a.dim() >= b.dim() else (b.mT, a)
    strides, shape = many.stride(), many.shape
    return many.dim() < 3 or (
        one.dim() < 3
        and (
            one.requires_grad
            or (
                a.dim() != 2
                and all(strides[i] == strides[i + 1] * shape[i + 1] for i in range(many.dim() - 2))
            )
        )
    )


def _product(op: str, gradient: str, cost: int, *operands: Any) -> Counts:
    """An op that takes as much for each operand's gradient."""
    return (op, cost), (gradient, cost * sum(t.requires_grad for t in operands))


def _matmul(found: Any, input: Any, other: Any, *rest: Any) -> Counts:
    op = "mm" if folds(input, other) else "bmm"
    return _product(op, op, 2 * found.numel() * input.shape[-1], input, other)


def _linear(found: Any, input: Any, weight: Any, bias: Any, *rest: Any) -> Counts:
    (op, cost), backward = _matmul(found, input, weight.t())
    whole = bias is not None and (input.dim() < 3 or input.is_contiguous())
    return ("addmm" if whole else op, cost), backward


def _added(op: str, gradient: str) -> Callable[..., Counts]:
    return lambda found, input, a, b, *rest: _product(op, gradient, 2 * a.numel() * b.shape[-1], a, b)


def _convolved(found: Any, at: Any, kernel: Any) -> Counts:
    """For each place of `at`, in a batch, the kernel; the kernel's gradient goes over all channels."""
    places = 2 * at.shape[0] * prod(at.shape[2:])
    return ("convolution", places * kernel.numel()), NOTHING[1]


def _filters(found: Any, grad: Any, input: Any, kernel: Any, *how: Any) -> Counts:
    """A kernel's gradient; PyTorch does not see its groups."""
    return ("convolution", 2 * prod(kernel) * grad.numel() * input.shape[1]), NOTHING[1]


def _attention(found: Any, query: Any, key: Any, value: Any, *rest: Any) -> Counts:
    scores, sums = query.numel() * key.shape[-2], prod(query.shape[:-1]) * value.shape[-2] * value.shape[-1]
    (_, forward), (_, backward) = _product("", "", 2 * scores, query, key)
    tracked = (query.requires_grad or key.requires_grad) + value.requires_grad
    return ("bmm", forward + 2 * sums), ("bmm", backward + 2 * sums * tracked)


def _recurrence(found: Any, gates: Any, h0: Any, c0: Any, w: Any, b: Any, *rest: Any) -> Counts:
    """Each step's product with the state; the first state's gradient is taken only if it is wanted."""
    step, rows = 2 * w.numel(), gates.numel() // w.shape[0]
    return (
        ("mm" if b is None else "addmm", step * rows),
        ("mm", step * (2 * rows - (not h0.requires_grad) * h0.shape[-2])),
    )


ROWS: dict[str, Callable[..., Counts]] = {
    "linear": _linear,
    "mm": _matmul,
    "bmm": _matmul,
    "_matmul": _matmul,
    "_sum_of_outers": lambda found, a, b: _product("mm", "mm", 2 * a.numel() * b.shape[-1], a, b),
    "addmm": _added("addmm", "mm"),
    "baddbmm": _added("baddbmm", "bmm"),
    "addbmm": _added("", "bmm"),
    "_convolution": lambda found, input, weight, *how: _convolved(found, found, weight),
    "_biased_convolution": lambda found, input, weight, *how: _convolved(found, found, weight),
    "_convolution_input": lambda found, grad, weight, *how: _convolved(found, grad, weight),
    "_convolution_weight": _filters,
    "scaled_dot_product_attention": _attention,
    "_recurrence": _recurrence,
    **dict.fromkeys(("mv", "dot", "addmv", "outer"), lambda *rest: NOTHING),
}


def uncounted(row: str, given: dict[str, Any]) -> bool:
    """Whether PyTorch runs this op by a kernel that it does not count."""
    if row == "scaled_dot_product_attention":
        q, _, v, mask = (given[name] for name in ("query", "key", "value", "attn_mask"))
        return (
            q.dim() == 4
            and q.shape[-1] == v.shape[-1]
            and not given["dropout_p"]
            and not (mask is not None and mask.requires_grad)
        )
    if row == "lstm":
        return given["input"].dtype is not torch.float64
    if row == "matmul":
        one, two = given["input"].dim(), given["other"].dim()
        return bool(two == 1 or (one == 1 and two != 2))
    return row == "bilinear" or (row == "linear" and given["weight"].dim() != 2)
