"""biject_to and transform_to: maps from all real numbers to where a constraint allows values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight.distributions import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Transforms by the class of a constraint."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[..., Any]] = {}

    def register(self, constraint: Any, factory: Callable[..., Any] | None = None) -> Any:
        """Let factory(constraint) make the transforms of constraints of a class, or of this one's class.

        Without factory it is a decorator. TypeError for what is no constraint.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, constraints.Constraint)):
            raise TypeError(
                f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}"
            )
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The transform to a constraint; NotImplementedError if none is registered."""
        if type(constraint) not in self._registry:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return self._registry[type(constraint)](constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _beyond(bound: str, sign: int) -> Callable[[Any], Any]:
    return lambda c: transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(getattr(c, bound), sign)]
    )


def _between(c: Any) -> Any:
    bounds = c.lower_bound, c.upper_bound
    if all(isinstance(b, (int, float)) for b in bounds) and bounds == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform(
        [
            transforms.SigmoidTransform(),
            transforms.AffineTransform(c.lower_bound, c.upper_bound - c.lower_bound),
        ]
    )


def _identity(_: Any) -> Any:
    return transforms.identity_transform


def _corr_cholesky(_: Any) -> Any:
    return transforms.CorrCholeskyTransform()


def _register_parts(to: ConstraintRegistry) -> None:
    """What is made of other constraints, by the transforms of these."""

    def independent(c: Any) -> Any:
        return transforms.IndependentTransform(to(c.base_constraint), c.reinterpreted_batch_ndims)

    def cat(c: Any) -> Any:
        return transforms.CatTransform([to(part) for part in c.cseq], c.dim, c.lengths)

    def stack(c: Any) -> Any:
        return transforms.StackTransform([to(part) for part in c.cseq], c.dim)

    to.register(constraints.independent, independent)
    to.register(constraints.cat, cat)
    to.register(constraints.stack, stack)


for _registry in (biject_to, transform_to):
    _registry.register(constraints.real, _identity)
    _registry.register(constraints.greater_than, _beyond("lower_bound", 1))
    _registry.register(constraints.greater_than_eq, _beyond("lower_bound", 1))
    _registry.register(constraints.less_than, _beyond("upper_bound", -1))
    _registry.register(constraints.interval, _between)
    _registry.register(constraints.half_open_interval, _between)
    _registry.register(constraints.corr_cholesky, _corr_cholesky)
    _register_parts(_registry)

biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform())
transform_to.register(constraints.positive_definite, lambda c: transforms.PositiveDefiniteTransform())
transform_to.register(constraints.positive_semidefinite, lambda c: transforms.PositiveDefiniteTransform())
