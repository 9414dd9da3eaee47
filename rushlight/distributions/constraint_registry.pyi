# Written by `python tools/stubs.py`.
"""biject_to and transform_to: maps from all real numbers to where a constraint allows values."""
from typing import Any

class ConstraintRegistry:
    """Transforms by the class of a constraint."""

    def __init__(self) -> None: ...
    def __call__(self, constraint: Any) -> Any:
        """The transform to a constraint; NotImplementedError if none is registered."""
    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Let factory(constraint) make the transforms of constraints of a class, or of this one's class.

        Without factory it is a decorator. TypeError for what is no constraint.
        """
def _between(c: Any) -> Any: ...
def _beyond(bound: Any, sign: Any) -> Any: ...
def _factory(c: Any, to: Any = ...) -> Any: ...
biject_to: Any
transform_to: Any
__all__ = ['ConstraintRegistry', 'biject_to', 'transform_to']
