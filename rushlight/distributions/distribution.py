"""What distributions have in common: shapes, parameters, and checks of parameters and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import rushlight as torch
from rushlight import Size, Tensor
from rushlight._engine.core.callers import warn
from rushlight._engine.core.recording import TAPE
from rushlight._engine.lazy import all_subclasses, our_module
from rushlight.distributions.constraints import is_dependent
from rushlight.distributions.utils import absent, broadcast_all, lazy_property


class Distribution:
    """Independent distributions of one kind for each place of `batch_shape`; a value has `event_shape`.

    validate_args: whether parameters (here) and values (in log_prob, cdf) that the distribution does not
    allow raise ValueError; the default is __debug__, and False while compile() or export records. What a
    distribution cannot tell raises NotImplementedError: `mean`, `mode`, `variance`, `support`,
    `log_prob(value)`, `cdf(value)`, its inverse `icdf(value)`, `entropy()` in nats,
    `enumerate_support(expand=True)`, and `rsample(sample_shape)`: values whose gradients flow into the
    parameters.
    """

    __subclasses__ = all_subclasses("rushlight.distributions")
    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    def __init__(
        self,
        batch_shape: Sequence[int] = (),
        event_shape: Sequence[int] = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape, self._event_shape = torch.Size(batch_shape), torch.Size(event_shape)
        if validate_args is None and TAPE:
            # A check branches on values: the graph of what is recorded would end there.
            validate_args = False
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()

    # The constraints of attributes that expand() expands.

    @property
    def _constrained(self) -> dict[str, Any]:
        return self.arg_constraints

    def _take(self, validate_args: bool | None, **parameters: Any) -> None:
        """Begin with parameters, broadcast against each other, whose shape is the batch's."""
        for name, value in zip(parameters, broadcast_all(*parameters.values())):
            setattr(self, name, value)
        Distribution.__init__(self, value.shape, validate_args=validate_args)

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """What validate_args is from now on, where it is not given."""
        if value not in [True, False]:
            raise ValueError(f"set_default_validate_args: expected True or False, got {value!r}")
        Distribution._validate_args = value

    # --- what distributions tell of themselves ------------------------------------------------------

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """Where each parameter may lie."""
        raise absent(self, "arg_constraints")

    @property
    def support(self) -> Any:
        """The constraint that values satisfy."""
        raise absent(self, "support")

    @property
    def mean(self) -> Tensor:
        """The expected value."""
        raise absent(self, "mean")

    @property
    def mode(self) -> Tensor:
        """The likeliest value."""
        raise absent(self, "mode")

    @property
    def variance(self) -> Tensor:
        """The expected squared distance from the mean."""
        raise absent(self, "variance")

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, (*sample_shape, *batch_shape, *event_shape); gradients flow into the parameters."""
        raise absent(self, "rsample")

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, of each value."""
        raise absent(self, "log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of what is not larger."""
        raise absent(self, "cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """What has this probability below it."""
        raise absent(self, "icdf")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values along dim 0, for each place of the batch if `expand` is set."""
        raise absent(self, "enumerate_support")

    def entropy(self) -> Tensor:
        """In nats."""
        raise absent(self, "entropy")

    # --- shapes -----------------------------------------------------------------------------------

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters, broadcast: one distribution for each place."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one value; () for numbers."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        return torch.Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _empty(self, sample_shape: Sequence[int], like: Tensor) -> Tensor:
        """Memory for a sample, of the dtype of `like`, to be filled with random numbers."""
        return torch.empty(self._extended_shape(sample_shape), dtype=like.dtype, device=like.device)

    def _all(self, number: float, like: Tensor) -> Tensor:
        """A number for each place of the batch."""
        return torch.full(self._extended_shape(), number, dtype=like.dtype, device=like.device)

    def _enumerated(self, values: Tensor, expand: bool) -> Tensor:
        """Values along dim 0, for each place of the batch if `expand` is set."""
        ones = [1] * len(self._batch_shape)
        values = values.view((len(values), *ones, *self._event_shape))
        return values.expand((-1, *self._batch_shape, *self._event_shape)) if expand else values

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        """The same distribution with its parameters expanded to a batch shape; no memory is copied.

        _instance: an object of a subclass with parameters of its own, to be filled with the others.
        """
        bases = [c for c in type(self).__mro__ if issubclass(c, Distribution)]
        home = next(c for c in bases if our_module(c).startswith(__package__))
        if home.__init__ is Distribution.__init__:
            raise NotImplementedError(f"{type(self)} does not implement expand")
        new = self._get_checked_instance(home, _instance)
        batch_shape = torch.Size(batch_shape)
        for name, value in list(vars(self).items()):
            # What was derived lazily from parameters will be so again.
            if name in self._constrained or not isinstance(getattr(type(self), name, None), lazy_property):
                vars(new).setdefault(name, self._expanded(name, value, batch_shape))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expanded(self, name: str, value: Any, batch_shape: Size) -> Any:
        """An attribute for a new batch shape: parameters and distributions are expanded."""
        if isinstance(value, Distribution):
            return value.expand(batch_shape + value.batch_shape[len(self._batch_shape) :])
        if name in self._constrained and isinstance(value, Tensor):
            own = value.dim() - self._constrained[name].event_dim
            return value.expand(batch_shape + value.shape[own:])
        return value

    def _get_checked_instance(self, cls: type[Distribution], _instance: Self | None = None) -> Self:
        """The object that expand() fills; NotImplementedError where a subclass takes other parameters."""
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method "
                "must also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    # --- what follows from other answers ----------------------------------------------------------

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance: batch_shape + event_shape."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, (*sample_shape, *batch_shape, *event_shape), without a gradient."""
        with torch.no_grad():
            return self._draw(torch.Size(sample_shape))

    def _draw(self, sample_shape: Sequence[int]) -> Tensor:
        """What sample() gives, where it is not rsample()'s value."""
        return self.rsample(sample_shape)

    def sample_n(self, n: int) -> Tensor:
        """Deprecated: sample((n,))."""
        warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample((n,))

    def perplexity(self) -> Tensor:
        """exp(entropy): batch_shape."""
        return torch.exp(self.entropy())

    def __repr__(self) -> str:
        given = [(name, vars(self)[name]) for name in self.arg_constraints if name in vars(self)]
        return (
            f"{type(self).__name__}("
            + ", ".join(f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in given)
            + ")"
        )

    # --- checks -----------------------------------------------------------------------------------

    def _validate_parameters(self) -> None:
        try:
            constraints = self.arg_constraints
        except NotImplementedError:
            warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = "
                "{}` or initialize the distribution with `validate_args=False` to turn off "
                "validation."
            )
            return
        for name, constraint in constraints.items():
            derived = name not in vars(self) and isinstance(getattr(type(self), name), lazy_property)
            if is_dependent(constraint) or derived:
                continue
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                    f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid "
                    f"values:\n{value}"
                )

    def _checked(self, value: Tensor) -> Tensor:
        """A value to be weighed, if it is one of these distributions' or checks are off."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def _validate_sample(self, value: Tensor) -> None:
        """ValueError unless this is a tensor of values of the distribution."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        own, event = self._batch_shape + self._event_shape, self._event_shape
        if value.shape[value.dim() - len(event) :] != event:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {event}."
            )
        if any(a != b and 1 not in (a, b) for a, b in zip(reversed(value.shape), reversed(own))):
            raise ValueError(
                f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {own}."
            )
        try:
            support = self.support
        except NotImplementedError:
            warn(
                f"{type(self)} does not define `support` to enable sample validation. Please "
                "initialize the distribution with `validate_args=False` to turn off validation."
            )
            return
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be "
                f"within the support ({support!r}) of the distribution {self!r}, but found invalid "
                f"values:\n{value}"
            )
