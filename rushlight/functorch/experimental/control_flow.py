"""functorch.experimental.control_flow: branches and loops over tensors, which Python runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten

__all__ = ["cond", "map"]


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """true_fn(*operands) or false_fn(*operands), as `pred` (a bool, or a tensor of one element) says."""
    return (true_fn if bool(pred) else false_fn)(*operands)


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """f(x, *args) for each slice x of the tensors in xs along their first dim, stacked."""
    leaves, spec = flatten(xs)
    found = [f(spec.unflatten(part), *args) for part in zip(*leaves, strict=True)]
    columns, of = zip(*[flatten(item)[0] for item in found], strict=True), flatten(found[0])[1]
    return of.unflatten([torch.stack(list(column)) for column in columns])
