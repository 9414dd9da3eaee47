# Written by `python tools/stubs.py`.
"""Modules whose parameters get their shapes at the first call."""
from rushlight import Tensor
from typing import Any

class LazyLayer(LazyModuleMixin):
    """The lazy form of a layer with a weight and a bias: one argument is 0 until the first input tells it.

    Subclasses have `_find(input)`, what it is then, and `_shapes()`, those of parameters and buffers by name.
    """

    bias: Any
    weight: Any
    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes, from the first input."""
    def reset_parameters(self) -> None:
        """Draw the weights, once there are any: before the first input it does nothing."""
class LazyModuleMixin:
    """Put before a Module class: `class LazyLinear(LazyModuleMixin, Linear)`.

    The class has `initialize_parameters(*args)`, called with the first call's arguments, and
    `cls_to_become`, which the instance then turns into.
    """

    cls_to_become: Any
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes, from the first call's arguments."""
__all__ = ['LazyModuleMixin']
