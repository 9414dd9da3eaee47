"""Rows that answer with a function of arrays, whose checks and choices hold for all operands that lie so."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

# From arrays to the result, for operands of known dtypes, shapes and strides.
ArrayFunction = Callable[..., Any]


def resolved(resolve: Callable[..., ArrayFunction]) -> ArrayFunction:
    """The body (or fused kernel) of a row from `resolve`, which answers with a function of the arrays.

    The function is kept for later calls with such dtypes, shapes, strides and other arguments, so `resolve`
    may look at no elements. Lists of arrays count as one.
    """

    @wraps(resolve)
    def body(*values: Any, **named: Any) -> Any:
        run = resolve(*values, **named)
        return run if run is NotImplemented else run(*arrays_in(values))

    setattr(body, "resolve", resolve)
    return body


_FEW = 1 << 10


def looked_up(move: ArrayFunction, a: np.ndarray[Any, Any]) -> ArrayFunction:
    """`move`, which rearranges the elements of such an array; of few elements, one look-up in a table."""
    if a.size > _FEW:
        return move
    table = move(np.arange(a.size).reshape(a.shape))
    return (lambda a: a.take(table)) if table.flags.c_contiguous and table.size <= _FEW else move


def arrays_in(values: Any) -> list[Any]:
    """The arrays, and lists of them, among arguments."""
    return [
        v
        for v in values
        if isinstance(v, np.ndarray) or (v.__class__ in (list, tuple) and v and isinstance(v[0], np.ndarray))
    ]
