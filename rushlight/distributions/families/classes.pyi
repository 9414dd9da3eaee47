# Written by `python tools/stubs.py`.
"""Distributions of classes."""
from collections.abc import Sequence
from rushlight import Tensor
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.families.counts import Binomial
from typing import Any

class Categorical(Distribution):
    """Classes 0 .. K-1 by their probabilities (..., K) or logarithms of these, up to a factor."""

    def __init__(self, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    def entropy(self) -> Tensor: ...
    def enumerate_support(self, expand: bool = True) -> Tensor:
        """The classes' numbers along dim 0."""
    has_enumerate_support: bool
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of each class's probability."""
    @property
    def logits(self) -> Tensor: ...
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    @property
    def param_shape(self) -> Any: ...
    @property
    def probs(self) -> Tensor: ...
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Classes as int64."""
    @property
    def support(self) -> Any: ...
    @property
    def variance(self) -> Tensor: ...
class Multinomial(OfClasses):
    """Counts (..., K) of `total_count` classes drawn: the probability is n! prod p_i^x_i / prod x_i!."""

    total_count: float
    def __init__(self, total_count: float = 1, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    def entropy(self) -> Tensor:
        """In nats: of the classes drawn, less that of their order."""
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the counts' probability."""
    @property
    def mean(self) -> Tensor: ...
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Counts of the parameters' dtype."""
    @property
    def support(self) -> Any: ...
    @property
    def variance(self) -> Tensor: ...
class OfClasses(Distribution):
    """Distributions of vectors with a number for each class; `_categorical` holds the parameters."""

    arg_constraints: dict[Any, Any]
    @property
    def logits(self) -> Tensor: ...
    @property
    def param_shape(self) -> Any: ...
    @property
    def probs(self) -> Tensor: ...
class OneHotCategorical(OfClasses):
    """Vectors (..., K) with a one at a class drawn by probabilities (..., K) or their logarithms."""

    def __init__(self, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    def entropy(self) -> Tensor: ...
    def enumerate_support(self, expand: bool = True) -> Tensor:
        """The K vectors along dim 0."""
    has_enumerate_support: bool
    def log_prob(self, value: Any) -> Tensor: ...
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Vectors of the parameters' dtype."""
    support: Any
    @property
    def variance(self) -> Tensor: ...
class OneHotCategoricalStraightThrough(OneHotCategorical):
    """With samples whose gradient is taken for the probabilities' (Y. Bengio et al., 2013)."""

    has_rsample: bool
    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Vectors drawn; their gradient flows into the probabilities as it is."""
