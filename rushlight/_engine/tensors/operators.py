"""Python's operators on tensors, each bound to its row's generated callable at first use."""

from __future__ import annotations

from collections.abc import Callable
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


def _late(name: str) -> Callable[..., Any]:
    def bind(self: Any, *other: Any) -> Any:
        from rushlight._engine.tensors import tensor  # it imports this file

        found = tensor.lookup("operator", name)
        if found is None:
            raise AttributeError(f"'Tensor' object has no attribute '__{name}__'")
        setattr(tensor.Tensor, name, found)
        return found(self, *other)

    def unary(self: Any) -> Any:
        return bind(self)

    made = unary if OPERATORS.get(name, ("", ""))[1] == "unary" else bind
    made.__name__ = name
    return made


class Operators:
    """`+`, `<`, `@`, `[]`, ... of tensors."""

    __slots__ = ()
    _operators = frozenset(OPERATORS)
    __getitem__ = _late("__getitem__")

    def __setitem__(self, index: Any, value: Any) -> None:
        _late("__setitem__")(self, index, value)

    def __rdiv__(self, other: Any) -> Any:
        """other / self under Python 2's name, which PyTorch has kept."""
        tensor: Any = self
        return tensor.reciprocal() * other


for _name in OPERATORS:
    setattr(Operators, _name, _late(_name))
setattr(Operators, "__hash__", object.__hash__)
