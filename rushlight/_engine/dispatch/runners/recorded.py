"""What the functions stand for that runners tell a recorder of (`run` in core/recording.py).

partial(Formula.compute, compiled)   a pointwise kernel, called with (arrays,)
reducer.run                          a reduction by a Reducer, called with (array, axes, keepdim, dtypes)
silent(row, body, rules)             the body of a row on arrays, called with the row's arguments
anything else                        a plain function of arrays
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import MethodType
from typing import Any, NamedTuple, Protocol, runtime_checkable

from rushlight._engine.dispatch.runners.formulas import CompiledFormula, Formula
from rushlight._engine.dispatch.runners.reductions import Reducer


class Recorded(NamedTuple):
    """The parts of a recorded function; None for those that its form does not have."""

    compiled: CompiledFormula | None = None
    reducer: Reducer | None = None
    row: Any = None
    body: Callable[..., Any] | None = None  # of the row, or the plain function
    rules: Any = None  # of the row's declared gradient (nodes/declared.Rules)


def recorded(function: Any) -> Recorded:
    """The parts of a function that a recorder was told of."""
    if isinstance(function, partial) and function.func is Formula.compute:
        return Recorded(compiled=function.args[0])
    if isinstance(function, MethodType) and function.__func__ is Reducer.run:
        reducer: Any = function.__self__
        return Recorded(reducer=reducer)
    row = getattr(function, "row", None)  # as `silent` sets them
    if row is None:
        return Recorded(body=function)
    return Recorded(row=row, body=function.body, rules=function.rules)


@runtime_checkable
class HasResolve(Protocol):
    """A body that answers with a function of arrays for all operands that lie alike (ops/resolved.py)."""

    resolve: Callable[..., Any]


@runtime_checkable
class HasBare(Protocol):
    """A row kernel, which says what it compiled for some operands if it hands these on as they are."""

    def bare(self, *values: Any) -> tuple[Any, Sequence[Any]] | None:
        """(the compiled kernel, its arrays), or None."""


def row_kernel_of(body: Any, operands: Sequence[Any]) -> tuple[Any, Sequence[Any]] | None:
    """(kernel, its arrays) where a body is the call of one row kernel on its operands as they are."""
    owner = getattr(body, "__self__", body)
    return owner.bare(*operands) if isinstance(owner, HasBare) else None
