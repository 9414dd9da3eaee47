"""torch.distributions.constraints: where values and parameters may lie."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch


class Constraint:
    """A set of values; the last `event_dim` dims of a tensor are one value."""

    def __init__(self, name: str, check: Callable[[Any], Any], event_dim: int = 0,
                 is_discrete: bool = False) -> None:
        self._name, self.check, self.event_dim, self.is_discrete = name, check, event_dim, is_discrete

    def __repr__(self) -> str:
        return self._name


def interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Numbers from the one bound to the other."""
    return Constraint(f"Interval(lower_bound={lower_bound}, upper_bound={upper_bound})",
                      lambda value: (lower_bound <= value) & (value <= upper_bound))


def integer_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Whole numbers from the one bound to the other."""
    name = f"IntegerInterval(lower_bound={lower_bound}, upper_bound={upper_bound})"
    return Constraint(name, lambda value: (
        (value % 1 == 0) & (lower_bound <= value) & (value <= upper_bound)), 0, True)


def greater_than(lower_bound: Any) -> Constraint:
    """Numbers beyond the bound."""
    return Constraint(f"GreaterThan(lower_bound={lower_bound})", lambda value: lower_bound < value)


def _symmetric(value: Any) -> Any:
    if value.shape[-2] != value.shape[-1]:
        return torch.zeros(value.shape[:-2], dtype=torch.bool)
    return torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


def _positive_definite(value: Any) -> Any:
    found = _symmetric(value)
    return torch.linalg.cholesky_ex(value).info.eq(0) if found.all() else found


def _lower_cholesky(value: Any) -> Any:
    return (value.tril() == value).flatten(-2).all(-1) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


real = Constraint("Real()", lambda value: value == value)
real_vector = Constraint("IndependentConstraint(Real(), 1)", lambda value: (value == value).all(-1), 1)
boolean = Constraint("Boolean()", lambda value: (value == 0) | (value == 1), 0, True)
simplex = Constraint("Simplex()", lambda value: (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6), 1)
symmetric = Constraint("Symmetric()", _symmetric, 2)
positive_definite = Constraint("PositiveDefinite()", _positive_definite, 2)
lower_cholesky = Constraint("LowerCholesky()", _lower_cholesky, 2)
unit_interval, positive = interval(0.0, 1.0), greater_than(0.0)
