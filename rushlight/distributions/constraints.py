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


def half_open_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Numbers from the one bound to before the other."""
    return Constraint(f"HalfOpenInterval(lower_bound={lower_bound}, upper_bound={upper_bound})",
                      lambda value: (lower_bound <= value) & (value < upper_bound))


def greater_than_eq(lower_bound: Any) -> Constraint:
    """Numbers from the bound on."""
    return Constraint(f"GreaterThanEq(lower_bound={lower_bound})", lambda value: lower_bound <= value)


def less_than(upper_bound: Any) -> Constraint:
    """Numbers below the bound."""
    return Constraint(f"LessThan(upper_bound={upper_bound})", lambda value: value < upper_bound)


def independent(base: Constraint, count: int) -> Constraint:
    """The constraint of all numbers of the last `count` dims more."""
    def check(value: Any) -> Any:
        if value.dim() < base.event_dim + count:
            raise ValueError(f"Expected value.dim() >= {base.event_dim + count} but got {value.dim()}")
        found = base.check(value)
        return found.flatten(-count).all(-1) if count else found
    return Constraint(f"IndependentConstraint({base!r}, {count})", check, base.event_dim + count,
                      base.is_discrete)


def multinomial(upper_bound: Any) -> Constraint:
    """Counts that add up to the bound."""
    return Constraint("Multinomial()", lambda value: (
        (value >= 0).all(-1) & (value.sum(-1) <= upper_bound)), 1, True)


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
one_hot = Constraint("OneHot()", lambda value: (
    ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)), 1, True)
unit_interval, positive, nonnegative = interval(0.0, 1.0), greater_than(0.0), greater_than_eq(0.0)
nonnegative_integer, positive_integer = (
    Constraint(f"IntegerGreaterThan(lower_bound={n})", lambda value, n=n: (value % 1 == 0) & (value >= n), 0,
               True) for n in (0, 1))
square = Constraint("Square()", lambda value: torch.full(
    value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=torch.bool), 2)
# Where it depends on other parameters, which are compared by the distribution.
dependent = Constraint("Dependent()", lambda value: value == value)
