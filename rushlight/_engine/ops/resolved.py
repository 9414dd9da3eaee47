"""Bodies that say how: what they look at, checks and layouts, holds for all operands of the same kinds."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

Way = Callable[..., Any]


def resolved(way: Way) -> Way:
    """The body (or fused kernel) of a row from `way`, which answers with a function of the arrays.

    That is kept for later calls with such dtypes, shapes, strides and other arguments: so it may look at no
    elements. Lists of arrays count as one.
    """

    @wraps(way)
    def body(*values: Any, **named: Any) -> Any:
        run = way(*values, **named)
        return run if run is NotImplemented else run(*arrays_in(values))

    body.way = way  # type: ignore[attr-defined]
    return body


_FEW = 1 << 10


def looked_up(way: Way, a: np.ndarray[Any, Any]) -> Way:
    """`way`, which puts elements of such an array elsewhere; that of few is one look-up, in a table."""
    if a.size > _FEW:
        return way
    table = way(np.arange(a.size).reshape(a.shape))
    return (lambda a: a.take(table)) if table.flags.c_contiguous and table.size <= _FEW else way


def arrays_in(values: Any) -> list[Any]:
    """The arrays, and lists of them, among arguments."""
    return [
        v
        for v in values
        if isinstance(v, np.ndarray) or (v.__class__ in (list, tuple) and v and isinstance(v[0], np.ndarray))
    ]
