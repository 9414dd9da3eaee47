"""What transforms have in common, and transforms made of others: inverses, chains, of larger values."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.lazy import all_subclasses
from rushlight.distributions import constraints
from rushlight.distributions.constraints import Constraint
from rushlight.distributions.utils import absent, sum_rightmost


class Transform:
    """A map from `domain` to `codomain`, with the logarithm of its Jacobian's determinant.

    A subclass says `_call(x)`, `_inverse(y)` and, if it is `bijective`, `log_abs_det_jacobian(x, y)`: a
    number for each value of the domain. `sign` is +1 or -1 for increasing and decreasing maps of numbers.
    cache_size: 0, or 1 to remember the last pair, so that the inverse of a result is what it was made of.
    """

    __subclasses__ = all_subclasses("rushlight.distributions.transforms")

    domain: Constraint
    codomain: Constraint

    bijective = False
    # The attributes that the constructor takes, for with_cache().
    _arguments: tuple[str, ...] = ()

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Transform | None = None
        self._cached_x_y: tuple[Tensor, Tensor] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_inv": None}

    @property
    def event_dim(self) -> int:
        """The dims of one value, where the map does not change them."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse map; t.inv.inv is t."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """+1 or -1 (an int, or a tensor for each number): whether a map of numbers increases."""
        raise absent(self, "sign")

    def _call(self, x: Tensor) -> Tensor:
        raise absent(self, "_call")

    def _inverse(self, y: Tensor) -> Tensor:
        raise absent(self, "_inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of |det dy / dx|: a number for each value of the domain."""
        raise absent(self, "log_abs_det_jacobian")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform with another cache."""
        if self._cache_size == cache_size:
            return self
        if self._arguments or type(self).__init__ is Transform.__init__:
            kind: Callable[..., Transform] = type(self)
            return kind(*[getattr(self, name) for name in self._arguments], cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __call__(self, x: Tensor) -> Tensor:
        """y of x."""
        if not self._cache_size:
            return self._call(x)
        if self._cached_x_y is None or x is not self._cached_x_y[0]:
            self._cached_x_y = x, self._call(x)
        return self._cached_x_y[1]

    def _inv_call(self, y: Tensor) -> Tensor:
        if not self._cache_size:
            return self._inverse(y)
        if self._cached_x_y is None or y is not self._cached_x_y[1]:
            self._cached_x_y = self._inverse(y), y
        return self._cached_x_y[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape of what a value of this shape becomes; here the same."""
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape of what becomes a value of this shape; here the same."""
        return shape


class Alike(Transform):
    """A transform without parameters: all of its class are equal."""

    _only_here = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))


class _InverseTransform(Transform):
    """The inverse of a transform, which is what its `inv` is."""

    _inv: Transform

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """Values of the transform's codomain."""
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """Values of its domain."""
        return self._inv.domain

    @property
    def bijective(self) -> bool:
        """As the transform."""
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        """As the transform's."""
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        """The transform itself."""
        return self._inv

    def __getstate__(self) -> dict[str, Any]:
        return vars(self)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The inverse of the transform with another cache."""
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The transform's from y to x, negated."""
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The transform's inverse_shape."""
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The transform's forward_shape."""
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """Transforms one after another; they do the caching."""

    _arguments = ("parts",)

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        """The first part's, of as many dims as any part needs."""
        if not self.parts:
            return constraints.real
        dims = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            dims = max(dims + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _of_dims(self.parts[0].domain, dims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """What the last part gives."""
        return self.inv.domain

    @property
    def bijective(self) -> bool:
        """Whether every part is."""
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        """The product of the parts'."""
        return functools.reduce(operator.mul, [part.sign for part in self.parts], 1)

    @property
    def inv(self) -> Transform:
        """The parts' inverses in reverse order."""
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def __call__(self, x: Tensor) -> Tensor:
        """x through all parts, the first one first."""
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum of the parts'."""
        if not self.parts:
            return torch.zeros_like(x)
        between = [x]
        for part in self.parts[:-1]:
            between.append(part(between[-1]))
        dims, terms = self.domain.event_dim, []
        for part, start, end in zip(self.parts, between, [*between[1:], y]):
            terms.append(sum_rightmost(part.log_abs_det_jacobian(start, end), dims - part.domain.event_dim))
            dims += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape after all parts, the first one first."""
        return functools.reduce(lambda s, p: p.forward_shape(s), self.parts, shape)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape before all parts."""
        return self.inv.forward_shape(shape)

    def __repr__(self) -> str:
        return "ComposeTransform(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


def _of_dims(constraint: Constraint, dims: int) -> Constraint:
    more = dims - constraint.event_dim
    return constraints.independent(constraint, more) if more else constraint


class IndependentTransform(Transform):
    """A transform whose last `reinterpreted_batch_ndims` batch dims are dims of the value."""

    _arguments = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """The base transform's, with more dims in a value."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """The base transform's, with more dims in a value."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        """As the base transform."""
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        """As the base transform's."""
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        return self.base_transform(_enough(x, self.domain))

    def _inverse(self, y: Tensor) -> Tensor:
        return self.base_transform.inv(_enough(y, self.codomain))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum over the reinterpreted dims."""
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The base transform's."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The base transform's."""
        return self.base_transform.inverse_shape(shape)


def _enough(value: Tensor, constraint: Constraint) -> Tensor:
    if value.dim() < constraint.event_dim:
        raise ValueError("Too few dimensions on input")
    return value
