# Written by `python tools/stubs.py`.
"""Transforms of numbers."""
from rushlight import Tensor
from rushlight._engine.core.size import Size
from rushlight.distributions.transforms.base import Alike, Transform
from typing import Any

class AbsTransform(Alike):
    """y = |x|, with y as its inverse."""

    codomain: Any
    domain: Any
class AffineTransform(Transform):
    """y = loc + scale x, of numbers or tensors; a value has `event_dim` dims."""

    loc: Tensor | float
    scale: Tensor | float
    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: float = 0, cache_size: float = 0) -> None: ...
    def __eq__(self, other: object) -> Any: ...
    __hash__: Any
    bijective: bool
    @property
    def codomain(self) -> Any:
        """Real numbers."""
    @property
    def domain(self) -> Any:
        """Real numbers."""
    @property
    def event_dim(self) -> int: ...
    def forward_shape(self, shape: Any) -> Size:
        """Broadcast with loc's and scale's."""
    def inverse_shape(self, shape: Any) -> Size:
        """Broadcast with loc's and scale's."""
    def log_abs_det_jacobian(self, x: Tensor, y: Any) -> Tensor:
        """log |scale|, summed over the value's dims."""
    @property
    def sign(self) -> Any:
        """The scale's sign."""
class CumulativeDistributionTransform(Transform):
    """y = distribution.cdf(x), whose inverse is icdf: for copulas."""

    distribution: Any
    def __init__(self, distribution: Any, cache_size: float = 0) -> None: ...
    bijective: bool
    codomain: Any
    @property
    def domain(self) -> Any: ...
    def log_abs_det_jacobian(self, x: Tensor, y: Any) -> Tensor: ...
    sign: int
class ExpTransform(Alike):
    """y = exp(x)."""

    bijective: bool
    codomain: Any
    domain: Any
    def log_abs_det_jacobian(self, x: Tensor, y: Any) -> Tensor: ...
    sign: int
class PowerTransform(Transform):
    """y = x^exponent of positive numbers."""

    def __init__(self, exponent: Any, cache_size: float = 0) -> None: ...
    def __eq__(self, other: object) -> Any: ...
    __hash__: Any
    bijective: bool
    codomain: Any
    domain: Any
    def forward_shape(self, shape: Any) -> Size: ...
    def inverse_shape(self, shape: Any) -> Size: ...
    def log_abs_det_jacobian(self, x: Tensor, y: Any) -> Tensor: ...
    @property
    def sign(self) -> Any: ...
class SigmoidTransform(Alike):
    """y = 1 / (1 + exp(-x)), kept inside (0, 1); the inverse is the log-odds."""

    bijective: bool
    codomain: Any
    domain: Any
    def log_abs_det_jacobian(self, x: Tensor, y: Any) -> Tensor: ...
    sign: int
class SoftplusTransform(Alike):
    """y = log(1 + exp(x))."""

    bijective: bool
    codomain: Any
    domain: Any
    def log_abs_det_jacobian(self, x: Tensor, y: Any) -> Tensor: ...
    sign: int
class TanhTransform(Alike):
    """y = tanh(x); its inverse is not finite at -1 and 1, which a cache avoids."""

    bijective: bool
    codomain: Any
    domain: Any
    def log_abs_det_jacobian(self, x: Tensor, y: Any) -> Tensor: ...
    sign: int
def _equal(a: Any, b: Any) -> Any: ...
def _increasing(name: Any, codomain: Any, call: Any, inverse: Any, jacobian: Any, doc: Any) -> Any:
    """A class of transforms of all numbers without parameters: y of x, x of y, log dy / dx of x."""
def _inside(y: Any) -> Any: ...
def clipped_sigmoid(x: Tensor) -> Any:
    """The sigmoid, kept inside (0, 1)."""
