"""What distributions have in common: shapes, and checks of parameters and values."""
from __future__ import annotations

import copy
import warnings
from functools import cached_property
from typing import Any, ClassVar

import rushlight as torch
from rushlight.distributions.constraints import Constraint


class lazy(cached_property):  # type: ignore[type-arg]
    """A parameter that is computed from another, with its gradient, when it is first asked for."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        with torch.enable_grad():
            return super().__get__(instance, owner)


class Distribution:
    """Independent distributions of one kind for each place of `batch_shape`; a value has `event_shape`.

    validate_args: whether parameters (here) and values (in log_prob) that the distribution does not allow
    raise ValueError; the default is __debug__.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    shared: ClassVar[tuple[str, ...]] = ()  # attributes without the batch's dims
    support: Any = None
    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    def __init__(self, batch_shape: Any = (), event_shape: Any = (),
                 validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = torch.Size(batch_shape), torch.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if not self._validate_args:
            return
        for name, constraint in self.arg_constraints.items():
            value = vars(self).get(name)
            if value is not None and not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                    f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid "
                    f"values:\n{value}")

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """What validate_args is from now on, where it is not given."""
        Distribution._validate_args = value

    @property
    def batch_shape(self) -> Any:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """The shape of one value."""
        return self._event_shape

    @property
    def stddev(self) -> Any:
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values drawn, (*sample_shape, *batch_shape, *event_shape), without a gradient."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def sample_n(self, n: int) -> Any:
        """`n` values, under sample()'s old name."""
        warnings.warn("sample_n will be deprecated. Use .sample((n,)) instead", FutureWarning, stacklevel=2)
        return self.sample(torch.Size((n,)))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions, repeated for the places of a larger batch_shape."""
        batch, own = torch.Size(batch_shape), len(self._batch_shape)
        new = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, (torch.Tensor, Distribution)) and name not in self.shared:
                shape = value.shape if isinstance(value, torch.Tensor) else value._batch_shape
                new.__dict__[name] = value.expand((*batch, *shape[own:]))
        new._batch_shape = batch
        return new

    def perplexity(self) -> Any:
        """exp of the entropy."""
        return torch.exp(self.entropy())

    def __getattr__(self, name: str) -> Any:
        if name in ("rsample", "log_prob", "cdf", "icdf", "entropy", "mean", "mode", "variance",
                    "enumerate_support"):
            raise NotImplementedError(f"{type(self).__name__} has no {name}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _extended_shape(self, sample_shape: Any = ()) -> Any:
        return torch.Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _checked(self, value: Any) -> Any:
        """A value to be weighed, if it is one of these distributions'."""
        if not self._validate_args:
            return value
        if not isinstance(value, torch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        own, event = self._extended_shape(), self._event_shape
        if value.shape[value.dim() - len(event):] != event:
            raise ValueError("The right-most size of value must match event_shape: "
                             f"{value.shape} vs {event}.")
        if any(a != b and 1 not in (a, b) for a, b in zip(reversed(value.shape), reversed(own))):
            raise ValueError("Value is not broadcastable with batch_shape+event_shape: "
                             f"{value.shape} vs {own}.")
        if not self.support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be "
                f"within the support ({self.support!r}) of the distribution {self!r}, but found invalid "
                f"values:\n{value}")
        return value

    def __repr__(self) -> str:
        given = [(name, vars(self)[name]) for name in self.arg_constraints if name in vars(self)]
        return f"{type(self).__name__}(" + ", ".join(
            f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in given) + ")"


def broadcast(*values: Any) -> Any:
    """Numbers and tensors as tensors of one shape."""
    like = next((v for v in values if isinstance(v, torch.Tensor)), None)
    dtype = torch.get_default_dtype() if like is None else like.dtype
    return torch.broadcast_tensors(*[v if isinstance(v, torch.Tensor) else torch.tensor(v, dtype=dtype)
                                     for v in values])


def noise(loc: Any, shape: Any) -> Any:
    """Draws from the standard normal distribution, of the dtype of `loc`."""
    return torch.normal(torch.zeros(shape, dtype=loc.dtype), torch.ones(shape, dtype=loc.dtype))


def one_of(probs: Any, logits: Any) -> None:
    """ValueError unless one of the two parameters is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


def inner(probs: Any) -> Any:
    """Probabilities without 0 and 1, whose logarithms are not finite."""
    least = torch.finfo(probs.dtype).eps
    return probs.clamp(least, 1 - least)


class Parametric(Distribution):
    """A distribution of numbers whose parameters, those of arg_constraints in order, are broadcast.

    `defaults`: of those that need not be given. TypeError for others that are missing or unknown.
    """

    defaults: ClassVar[dict[str, Any]] = {}
    has_rsample = True

    def __init__(self, *values: Any, validate_args: bool | None = None, **named: Any) -> None:
        names = list(self.arg_constraints)
        given = {**self.defaults, **dict(zip(names, values, strict=False)), **named}
        if len(values) > len(names) or set(given) != set(names) or any(
                name in named for name in names[:len(values)]):
            raise TypeError(f"{type(self).__name__}() takes the parameters {', '.join(names)}, but got "
                            f"{len(values)} by place and {sorted(named)} by name")
        for name, value in zip(names, broadcast(*[given[name] for name in names]), strict=True):
            setattr(self, name, value)
        super().__init__(getattr(self, names[0]).shape, validate_args=validate_args)

    def _uniform(self, like: Any, sample_shape: Any, low: float = 0.0, high: float = 1.0) -> Any:
        return like.new_empty(self._extended_shape(sample_shape)).uniform_(low, high)


def sum_rightmost(value: Any, dims: int) -> Any:
    """Summed over the last `dims` dims."""
    return value.flatten(-dims).sum(-1) if dims else value
