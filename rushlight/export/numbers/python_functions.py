"""Python's functions of numbers that a program calls while it is recorded: of tensors they are ops."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any

import rushlight as torch
from rushlight.export.numbers.symbolic import SymInt, any_symbolic


@contextmanager
def replaced() -> Iterator[None]:
    """max(), min() and math.pow() of symbolic numbers are symbolic; of two tensors, or of a tensor and a
    number, max() and min() are ops, since which of the two is the result is not known.
    """
    before = (builtins.max, builtins.min, math.pow)
    power = before[2]

    def raised(x: Any, y: Any) -> Any:
        return torch.sym_float(x) ** torch.sym_float(y) if any_symbolic((x, y)) else power(x, y)

    builtins.max = _chosen(before[0], torch.sym_max, torch.maximum, torch.clamp)
    builtins.min = _chosen(before[1], torch.sym_min, torch.minimum, lambda t, n: torch.clamp(t, None, n))
    math.pow = raised
    try:
        yield
    finally:
        builtins.max, builtins.min, math.pow = before


def _chosen(
    python: Callable[..., Any],
    symbolic: Callable[[Any, Any], Any],
    of_tensors: Callable[[Any, Any], Any],
    bounded: Callable[[Any, Any], Any],
) -> Callable[..., Any]:
    """max() or min(), from what it is of symbolic numbers, of two tensors, of a tensor and a number."""

    def pair(one: Any, other: Any) -> Any:
        tensors = [isinstance(v, torch.Tensor) for v in (one, other)]
        if all(tensors):
            return of_tensors(one, other)
        if any(tensors):
            tensor, number = (one, other) if tensors[0] else (other, one)
            return bounded(tensor, number) if type(number) in (int, float, bool) else python(one, other)
        return symbolic(one, other) if any_symbolic((one, other)) else python(one, other)

    def call(*args: Any, **kwargs: Any) -> Any:
        alone = len(args) == 1 and not isinstance(args[0], torch.Tensor)
        if kwargs or not (alone or len(args) > 1):
            return python(*args, **kwargs)
        items = list(args[0]) if alone else args  # an iterator gives them once
        some = any(isinstance(v, torch.Tensor) for v in items)
        folded = len(args) < 3 if some else any_symbolic(items)
        if not folded or len(items) < 2:
            return python(items) if alone else python(*args)
        told = {str(v.expr): v for v in reversed(items) if isinstance(v, SymInt)}  # each size once
        return reduce(pair, [v for v in items if not isinstance(v, SymInt) or told[str(v.expr)] is v])

    return call
