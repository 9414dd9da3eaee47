# Written by `python tools/stubs.py`.
"""The von Mises distribution of angles."""
from rushlight import Tensor
from rushlight.distributions.distribution import Distribution
from typing import Any

class VonMises(Distribution):
    """Density exp(k cos(x - loc)) / (2 pi I0(k)) on a circle, where k is the `concentration`."""

    def __init__(self, loc: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density; i0e is I0(k) exp(-k)."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    support: Any
    @property
    def variance(self) -> Tensor: ...
