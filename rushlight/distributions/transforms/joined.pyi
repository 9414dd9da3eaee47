# Written by `python tools/stubs.py`.
"""Transforms of the parts of a tensor."""
from rushlight import Tensor
from rushlight.distributions.transforms.base import Transform
from typing import Any

class CatTransform(_Joined):
    """Transforms of parts of some `lengths` (1 each by default), in the way of torch.cat."""

    lengths: Any
    def __init__(self, tseq: Any, dim: float = 0, lengths: Any = None, cache_size: float = 0) -> None: ...
    @property
    def event_dim(self) -> int: ...
    @property
    def length(self) -> Any: ...
    def log_abs_det_jacobian(self, x: Tensor, y: Any) -> Tensor:
        """The parts', joined; their sum if the dim is one of a value's."""
class StackTransform(_Joined):
    """A transform for each place of a dim, in the way of torch.stack."""

    def log_abs_det_jacobian(self, x: Tensor, y: Any) -> Tensor: ...
class _Joined(Transform):
    """Transforms, one for each part along a dim."""

    dim: float
    transforms: Any
    def __init__(self, tseq: Any, dim: float = 0, cache_size: float = 0) -> None: ...
    @property
    def bijective(self) -> bool: ...
    @property
    def codomain(self) -> Any: ...
    @property
    def domain(self) -> Any: ...
