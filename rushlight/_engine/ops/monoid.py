"""What a reduce row's body answers: map every element, combine, finish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rushlight._engine.ops.expressions import Expr


@dataclass(frozen=True)
class Reduction:
    """combine: "add", "mul", "max", "min", "any" or "all".

    map:    the expression of one element
    finish: (combined, number of elements) -> the result; None leaves it as it is
    """

    combine: str
    map: Expr
    finish: Callable[[Expr, Expr], Expr] | None = None
