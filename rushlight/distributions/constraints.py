"""torch.distributions.constraints: where values and parameters may lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import rushlight as torch
from rushlight import Tensor
from rushlight.distributions.utils import demand

_T = TypeVar("_T")


class Constraint:
    """A set of values, of numbers apart if it `is_discrete`; the last `event_dim` dims are one value."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each value is in the set: bool, without the last event_dim dims."""
        raise NotImplementedError(f"{type(self).__name__} does not implement check")

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}()"


# --- sets that depend on a distribution's parameters ----------------------------------------------


def _known(value: _T, name: str) -> _T:
    """What was said of a dependent constraint; NotImplementedError where it was not."""
    if value is NotImplemented:
        raise NotImplementedError(f".{name} cannot be determined statically")
    return value


class _Dependent(Constraint):
    """A set that only an object's parameters tell; what is known of it beforehand may be given."""

    def __init__(self, *, is_discrete: bool = NotImplemented, event_dim: int = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self) -> bool:
        return _known(self._is_discrete, "is_discrete")

    @property
    def event_dim(self) -> int:
        return _known(self._event_dim, "event_dim")

    def __call__(self, *, is_discrete: bool = NotImplemented, event_dim: int = NotImplemented) -> Any:
        """The same with more known."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        """ValueError: there is nothing to check by."""
        raise ValueError("Cannot determine validity of dependent constraint")


class _DependentProperty(property, _Dependent):
    """A property of objects that is a dependent constraint when asked of the class."""

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: bool = NotImplemented,
        event_dim: int = NotImplemented,
    ) -> None:
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable[..., Any]) -> Any:
        """The decorator's second half, after its keywords."""
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint cannot be checked without an object."""
    return isinstance(constraint, _Dependent)


# --- sets made of others --------------------------------------------------------------------------


def _all_rightmost(checks: Tensor, kept: int) -> Tensor:
    return checks.reshape((*checks.shape[:kept], -1)).all(-1)


class _Wrapped(Constraint):
    """What a constraint of one more kind shares with the one that it is made of."""

    def __init__(self, base_constraint: Constraint) -> None:
        demand(
            isinstance(base_constraint, Constraint),
            f"base_constraint must be a Constraint, got {type(base_constraint).__name__}",
        )
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim


class _IndependentConstraint(_Wrapped):
    """A value is what `reinterpreted_batch_ndims` more dims of values are, if each of them is allowed."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        super().__init__(base_constraint)
        demand(
            isinstance(reinterpreted_batch_ndims, int),
            f"reinterpreted_batch_ndims must be an int, got {type(reinterpreted_batch_ndims).__name__}",
        )
        demand(
            reinterpreted_batch_ndims >= 0,
            f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}",
        )
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        """Whether all parts of each value are allowed."""
        found = self.base_constraint.check(value)
        if found.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_rightmost(found, found.dim() - self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_Wrapped):
    """Values that all components of a mixture allow."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each value is allowed."""
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        found = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return _all_rightmost(found, value.dim() - self.event_dim)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Parts(Constraint):
    """Constraints of the parts of a tensor along a dim."""

    def __init__(self, cseq: Iterable[Constraint], dim: int = 0) -> None:
        alike = all(isinstance(c, Constraint) for c in cseq)
        demand(alike, "All elements of cseq must be Constraint instances")
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self) -> bool:
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:
        return max(c.event_dim for c in self.cseq)

    def _within(self, value: Tensor) -> None:
        demand(
            -value.dim() <= self.dim < value.dim(),
            f"dim {self.dim} out of range for value with {value.dim()} dimensions",
        )


class _Cat(_Parts):
    """Constraints of parts of some lengths (1 each by default), as torch.cat joins them."""

    def __init__(
        self, cseq: Iterable[Constraint], dim: int = 0, lengths: Iterable[int] | None = None
    ) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        demand(
            len(self.lengths) == len(self.cseq),
            f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})",
        )

    def check(self, value: Tensor) -> Tensor:
        """Whether each part is allowed."""
        self._within(value)
        parts = value.split([*self.lengths, value.size(self.dim) - sum(self.lengths)], self.dim)
        return torch.cat([c.check(part) for c, part in zip(self.cseq, parts)], self.dim)


class _Stack(_Parts):
    """Constraints of parts as torch.stack joins them."""

    @property
    def event_dim(self) -> int:
        most = max(c.event_dim for c in self.cseq)
        return most + (self.dim + most < 0)

    def check(self, value: Tensor) -> Tensor:
        """Whether each part is allowed."""
        self._within(value)
        return torch.stack([c.check(part) for c, part in zip(self.cseq, value.unbind(self.dim))], self.dim)


# --- sets of numbers ------------------------------------------------------------------------------


class _Bounded(Constraint):
    """Numbers beyond bounds; the text tells them."""

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__[1:]}({bounds})"


class _From(_Bounded):
    """Numbers that lie above a bound."""

    def __init__(self, lower_bound: Tensor | float) -> None:
        self.lower_bound = lower_bound


class _To(_Bounded):
    """Numbers that lie below a bound."""

    def __init__(self, upper_bound: Tensor | float) -> None:
        self.upper_bound = upper_bound


class _FromTo(_Bounded):
    """Numbers that lie between two bounds."""

    def __init__(self, lower_bound: Tensor | float, upper_bound: Tensor | float) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


def _whole(value: Tensor) -> Tensor:
    return value % 1 == 0


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is 0 or 1."""
        return (value == 0) | (value == 1)


class _Real(Constraint):
    """All numbers but nan."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is no nan."""
        return value == value


class _GreaterThan(_From):
    """Above the bound."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is above the bound."""
        return self.lower_bound < value


class _GreaterThanEq(_From):
    """The bound and above."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is the bound or above."""
        return self.lower_bound <= value


class _LessThan(_To):
    """Below the bound."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is below the bound."""
        return value < self.upper_bound


class _Interval(_FromTo):
    """From the one bound to the other."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each number lies between the bounds, or is one of them."""
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_FromTo):
    """From the one bound to below the other."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each number lies between the bounds, or is the lower one."""
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_FromTo):
    """Whole numbers from the one bound to the other."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is whole, and lies between the bounds or is one of them."""
        return _whole(value) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_To):
    """Whole numbers up to the bound."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is whole, and not above the bound."""
        return _whole(value) & (value <= self.upper_bound)


class _IntegerGreaterThan(_From):
    """Whole numbers from the bound."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is whole, and not below the bound."""
        return _whole(value) & (value >= self.lower_bound)


# --- sets of vectors and matrices -----------------------------------------------------------------


class _Multinomial(_To):
    """Counts that sum to at most the bound; that they sum to it is not asked, as in PyTorch."""

    is_discrete, event_dim = True, 1
    __repr__ = Constraint.__repr__

    def check(self, value: Tensor) -> Tensor:
        """Whether each vector is allowed."""
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _OneHot(Constraint):
    """Vectors of zeros and a one."""

    is_discrete, event_dim = True, 1

    def check(self, value: Tensor) -> Tensor:
        """Whether each vector has a one, and zeros."""
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Simplex(Constraint):
    """Vectors of probabilities."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        """Whether each vector has no negative number, and sums to 1."""
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _LowerTriangular(Constraint):
    """Zero above the diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        """Whether each matrix is lower triangular."""
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(Constraint):
    """Lower triangular with a positive diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        """Whether each matrix is a Cholesky factor."""
        return lower_triangular.check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(Constraint):
    """Lower Cholesky factors whose rows have length 1."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        """Whether each matrix is a Cholesky factor of a correlation matrix."""
        most = torch.finfo(value.dtype).eps * value.size(-1) * 10  # ten roundings for each number of a row
        length = torch.linalg.norm(value.detach(), dim=-1)
        return lower_cholesky.check(value) & ((length - 1).abs() <= most).all(-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        """Whether each matrix is square."""
        alike = value.shape[-2] == value.shape[-1]
        return torch.full(value.shape[:-2], alike, dtype=torch.bool, device=value.device)


class _Symmetric(_Square):
    """Symmetric matrices."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each matrix is symmetric, to 1e-6."""
        found = super().check(value)
        return torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1) if found.all() else found


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each matrix is symmetric and positive semidefinite."""
        found = super().check(value)
        return torch.linalg.eigvalsh(value).ge(0).all(-1) if found.all() else found


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each matrix is symmetric and positive definite."""
        found = super().check(value)
        return torch.linalg.cholesky_ex(value).info.eq(0) if found.all() else found


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean: Constraint = _Boolean()
one_hot: Constraint = _OneHot()
real: Constraint = _Real()
simplex: Constraint = _Simplex()
integer_interval = _IntegerInterval
interval = _Interval
half_open_interval = _HalfOpenInterval
nonnegative_integer: Constraint = _IntegerGreaterThan(0)
positive_integer: Constraint = _IntegerGreaterThan(1)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
positive: Constraint = _GreaterThan(0.0)
nonnegative: Constraint = _GreaterThanEq(0.0)
unit_interval: Constraint = _Interval(0.0, 1.0)
real_vector: Constraint = independent(real, 1)
positive_vector: Constraint = independent(positive, 1)
multinomial = _Multinomial
cat = _Cat
stack = _Stack
lower_triangular: Constraint = _LowerTriangular()
lower_cholesky: Constraint = _LowerCholesky()
corr_cholesky: Constraint = _CorrCholesky()
square: Constraint = _Square()
symmetric: Constraint = _Symmetric()
positive_semidefinite: Constraint = _PositiveSemidefinite()
positive_definite: Constraint = _PositiveDefinite()

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "positive_vector",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]
