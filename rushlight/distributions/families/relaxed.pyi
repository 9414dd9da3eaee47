# Written by `python tools/stubs.py`.
"""Relaxations of coins and classes: concrete distributions."""
from collections.abc import Sequence
from rushlight import Tensor
from rushlight.distributions.families.classes import OfClasses
from rushlight.distributions.families.coins import LogOdds
from rushlight.distributions.transformed_distribution import TransformedDistribution
from typing import Any

class ExpRelaxedCategorical(OfClasses):
    """The logarithm of RelaxedOneHotCategorical's vectors, in which its density is computed.

    C. J. Maddison, A. Mnih, Y. W. Teh, The concrete distribution, 2017, section C.3.
    """

    temperature: Tensor | float
    def __init__(self, temperature: Tensor | float, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    has_rsample: bool
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density."""
    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Vectors drawn, whose gradient flows into the parameters: logits and Gumbel numbers, normalised."""
    support: Any
class LogitRelaxedBernoulli(LogOdds):
    """The log-odds of RelaxedBernoulli's numbers: logistic around logits / temperature.

    C. J. Maddison, A. Mnih, Y. W. Teh, The concrete distribution, 2017, section B.
    """

    temperature: Tensor | float
    def __init__(self, temperature: Tensor | float, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density."""
    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters."""
    support: Any
class RelaxedBernoulli(TransformedDistribution):
    """Numbers of (0, 1) that come near 0 or 1 as `temperature` (a tensor) goes to 0."""

    def __init__(self, temperature: Tensor | float, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    has_rsample: bool
    @property
    def logits(self) -> Any: ...
    @property
    def probs(self) -> Any: ...
    support: Any
    @property
    def temperature(self) -> Any: ...
class RelaxedOneHotCategorical(TransformedDistribution):
    """Probability vectors that come near one-hot ones as `temperature` (a tensor) goes to 0."""

    def __init__(self, temperature: Tensor | float, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    has_rsample: bool
    @property
    def logits(self) -> Any: ...
    @property
    def probs(self) -> Any: ...
    support: Any
    @property
    def temperature(self) -> Any: ...
