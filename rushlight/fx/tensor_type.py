"""Types of tensors that are known in part: TensorType((2, Dyn, 3)) has three dims, the second of any size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rushlight.fx._compatibility import compatibility
from rushlight.fx.experimental.unification import Var

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


@compatibility(is_backward_compatible=False)
class TensorType:
    """The type of tensors with these sizes. A size is a number, Dyn or a variable."""

    def __init__(self, dim: Sequence[Any]) -> None:
        self.__origin__ = TensorType
        self.__args__ = dim

    @property
    def dims(self) -> Sequence[Any]:
        """The sizes."""
        return self.__args__

    def __repr__(self) -> str:
        return f"TensorType[{self.dims}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and list(self.dims) == list(other.dims)

    def __class_getitem__(cls, *args: Any) -> TensorType:
        """TensorType[2, Dyn] is TensorType((2, Dyn))."""
        given = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
        return TensorType(tuple(given))


class _DynType:
    """The type of a value, or a size, of which nothing is known."""

    def __init__(self) -> None:
        self.__name__ = "_DynType"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    def __repr__(self) -> str:
        return "Dyn"


Dyn = _DynType()


@compatibility(is_backward_compatible=False)
def is_consistent(t1: object, t2: object) -> bool:
    """Whether one value may be of both types. Symmetric, not transitive: all is consistent with Dyn."""
    if t1 == t2 or Dyn in (t1, t2) or isinstance(t1, Var) or isinstance(t2, Var):
        return True
    if not (isinstance(t1, TensorType) and isinstance(t2, TensorType)):
        return False
    return len(t1.dims) == len(t2.dims) and all(map(is_consistent, t1.dims, t2.dims))


@compatibility(is_backward_compatible=False)
def is_more_precise(t1: object, t2: object) -> bool:
    """Whether `t1` says all that `t2` says. Reflexive and transitive: everything is more precise than Dyn."""
    if t1 == t2 or isinstance(t2, _DynType):
        return True
    if not (isinstance(t1, TensorType) and isinstance(t2, TensorType)):
        return False
    return len(t1.dims) == len(t2.dims) and all(map(is_more_precise, t1.dims, t2.dims))
