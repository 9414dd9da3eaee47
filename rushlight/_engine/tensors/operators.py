"""Python's operators on tensors, each bound to its row's generated callable at first use."""

from __future__ import annotations

from types import MethodType
from typing import Any

# operator -> row; r: operands swapped; i: the in-place variant
BINARY = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
COMPARE = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
UNARY = {"neg": "neg", "abs": "abs", "invert": "bitwise_not", "pos": "positive"}

# __name__ -> (row, form) with form one of "", "r", "i", "unary"
OPERATORS: dict[str, tuple[str, str]] = {
    **{f"__{o}__": (row, "") for o, row in {**BINARY, **COMPARE}.items()},
    **{f"__r{o}__": (row, "r") for o, row in BINARY.items()},
    **{f"__i{o}__": (row, "i") for o, row in BINARY.items()},
    **{f"__{o}__": (row, "unary") for o, row in UNARY.items()},
    "__div__": ("div", ""),  # Python 2's, which PyTorch has kept
    "__idiv__": ("div", "i"),
}


class _Late:
    """An operator that nobody has used yet: the first look-up puts it into Tensor."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, t: Any, cls: type) -> Any:
        from rushlight._engine.tensors import tensor  # it imports this file

        found = tensor.lookup("operator", self.name)
        if found is None:
            raise AttributeError(f"'{cls.__name__}' object has no attribute '{self.name}'")
        setattr(tensor.Tensor, self.name, found)
        return found if t is None else MethodType(found, t)


class Operators:
    """`+`, `<`, `@`, `[]`, ... of tensors."""

    __slots__ = ()
    _operators = frozenset(OPERATORS)
    __getitem__ = _Late("__getitem__")
    __setitem__ = _Late("__setitem__")

    def __rdiv__(self, other: Any) -> Any:
        """other / self under Python 2's name, which PyTorch has kept."""
        tensor: Any = self
        return tensor.reciprocal() * other


for _name in OPERATORS:
    setattr(Operators, _name, _Late(_name))
setattr(Operators, "__hash__", object.__hash__)
