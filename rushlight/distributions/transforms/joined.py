"""Transforms of the parts of a tensor."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight.distributions import constraints
from rushlight.distributions.constraints import dependent_property
from rushlight.distributions.transforms.base import Transform
from rushlight.distributions.utils import absent, demand, sum_rightmost


class _Joined(Transform):
    """Transforms, one for each part along a dim."""

    _only_here = True

    def _join(self, parts: Sequence[Tensor]) -> Tensor:
        raise absent(self, "_join")

    def _split(self, value: Tensor, name: str) -> tuple[Tensor, ...]:
        raise absent(self, "_split")

    def _constraint(self, parts: list[Any]) -> Any:
        """The parts' constraints as one."""
        raise absent(self, "_constraint")

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        alike = all(isinstance(t, Transform) for t in tseq)
        demand(alike, "All elements of tseq must be Transform instances")
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> bool:
        """Whether every one of them is."""
        return all(t.bijective for t in self.transforms)

    @dependent_property
    def domain(self) -> Any:
        """The parts' domains, joined as the values are."""
        return self._constraint([t.domain for t in self.transforms])

    @dependent_property
    def codomain(self) -> Any:
        """The parts' codomains, joined as the values are."""
        return self._constraint([t.codomain for t in self.transforms])

    def _checked(self, value: Tensor, size: int, what: str, name: str) -> Tensor:
        demand(
            -value.dim() <= self.dim < value.dim(),
            f"dim {self.dim} out of range for {name} with {value.dim()} dimensions",
        )
        demand(
            value.size(self.dim) == size,
            f"{name}.size({self.dim}) = {value.size(self.dim)} must equal {what} {size}",
        )
        return value

    def _each(self, function: Callable[..., Tensor], *values: Sequence[Tensor]) -> list[Tensor]:
        return [function(t, *parts) for t, *parts in zip(self.transforms, *values)]

    def _call(self, x: Tensor) -> Tensor:
        return self._join(self._each(lambda t, part: t(part), self._split(x, "x")))

    def _inverse(self, y: Tensor) -> Tensor:
        return self._join(self._each(lambda t, part: t.inv(part), self._split(y, "y")))

    def _jacobians(self, x: Tensor, y: Tensor) -> list[Tensor]:
        parts = self._split(x, "x"), self._split(y, "y")
        return self._each(lambda t, a, b: t.log_abs_det_jacobian(a, b), *parts)


class StackTransform(_Joined):
    """A transform for each place of a dim, in the way of torch.stack."""

    _arguments = ("transforms", "dim")

    def _constraint(self, parts: Any) -> Any:
        return constraints.stack(parts, self.dim)

    def _split(self, value: Tensor, name: str) -> tuple[Tensor, ...]:
        return self._checked(value, len(self.transforms), "len(transforms)", name).unbind(self.dim)

    def _join(self, parts: Sequence[Tensor]) -> Tensor:
        return torch.stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Those of the slices, stacked."""
        return self._join(self._jacobians(x, y))


class CatTransform(_Joined):
    """Transforms of parts of some `lengths` (1 each by default), in the way of torch.cat."""

    _arguments = ("transforms", "dim", "lengths")

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        demand(
            len(self.lengths) == len(self.transforms),
            f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})",
        )

    @property
    def event_dim(self) -> int:
        """The largest of the parts'."""
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """The size of the dim: the sum of the parts' lengths."""
        return sum(self.lengths)

    def _constraint(self, parts: Any) -> Any:
        return constraints.cat(parts, self.dim, self.lengths)

    def _split(self, value: Tensor, name: str) -> tuple[Tensor, ...]:
        return self._checked(value, self.length, "length", name).split(self.lengths, self.dim)

    def _join(self, parts: Sequence[Tensor]) -> Tensor:
        return torch.cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The parts', joined; their sum if the dim is one of a value's."""
        found = [
            sum_rightmost(part, self.event_dim - t.event_dim)
            for t, part in zip(self.transforms, self._jacobians(x, y))
        ]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return torch.cat(found, dim) if dim < 0 else functools.reduce(operator.add, found)
