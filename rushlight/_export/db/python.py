"""Examples of Python that programs may use, and of numbers that tensors decide."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from enum import Enum
from typing import Any, TypeVar

import rushlight as torch
from rushlight import nn

_Method = TypeVar("_Method")


class _Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] * 2


class AutogradFunction(nn.Module):
    """A torch.autograd.Function is recorded by what its forward does."""

    def forward(self, x: Any) -> Any:
        """Twice the input, and one."""
        return _Doubled.apply(x) + 1


_constant: Callable[[_Method], _Method] = torch.compiler.allow_in_graph


class AssumeConstantResult(nn.Module):
    """A method that is marked gives a number that is the same in all calls."""

    @_constant
    def places(self, y: Any) -> int:
        """How many columns are wanted."""
        return int(y.item())

    def forward(self, x: Any, y: Any) -> Any:
        """The first columns."""
        return x[:, : self.places(y)]


class ClassMethod(nn.Module):
    """Class methods are called as others are."""

    @classmethod
    def shifted(cls, x: Any) -> Any:
        """One more."""
        return x + 1

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        """By the class, by the instance and by its type."""
        x = self.linear(x)
        return self.shifted(x) * ClassMethod.shifted(x) * type(self).shifted(x)


class CondBranchNestedFunction(nn.Module):
    """A branch may call functions that are defined in it."""

    def forward(self, x: Any) -> Any:
        """The branch that the sum says."""

        def small(x: Any) -> Any:
            def twice(y: Any) -> Any:
                return y + y

            return twice(x)

        def large(x: Any) -> Any:
            def less(y: Any) -> Any:
                return y - x.mean()

            return less(x)

        return torch.cond(x.sum() < 10, small, large, (x,))


class CondBranchNonlocalVariables(nn.Module):
    """What a branch takes from around it may as well be an operand."""

    def forward(self, x: Any) -> Any:
        """Shifted by what was computed before."""
        offset, factor = x + 1, 3

        def more(x: Any, offset: Any) -> Any:
            return x + offset * factor

        def less(x: Any, offset: Any) -> Any:
            return x - offset * factor

        return torch.cond(x.sum() > 0, more, less, (x, offset))


class CondClosedOverVariable(nn.Module):
    """Branches may use variables of the functions that they are defined in."""

    def forward(self, pred: Any, x: Any) -> Any:
        """More, or less."""

        def more(val: Any) -> Any:
            return x * 2 + val

        def less(val: Any) -> Any:
            return x - val

        return torch.cond(pred, more, less, (x + 1,))


class CondPredicate(nn.Module):
    """A condition may be a number of the sizes."""

    def forward(self, x: Any) -> Any:
        """The sine of a small tensor, the cosine of another."""
        return torch.cond(x.dim() > 2 and x.shape[2] > 10, lambda x: x.cos(), lambda y: y.sin(), (x,))


class ConstrainAsSizeExample(nn.Module):
    """A number of a tensor may be a size, once torch._check says what it can be."""

    def forward(self, x: Any) -> Any:
        """Zeros, as many as the number says."""
        rows = x.item()
        torch._check(rows >= 0)
        torch._check(rows <= 5)
        return torch.zeros((rows, 5))


class ConstrainAsValueExample(nn.Module):
    """What is asserted of a number decides branches."""

    def forward(self, x: Any, y: Any) -> Any:
        """The sine, where the number is below six."""
        a = x.item()
        torch._check(a >= 0)
        torch._check(a <= 5)
        return y.sin() if a < 6 else y.cos()


def _with_one(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) + 1

    return wrapped


class Decorator(nn.Module):
    """Decorated functions run as they are."""

    @_with_one
    def forward(self, x: Any, y: Any) -> Any:
        """The sum, to which the decorator adds one."""
        return x + y


class Dictionary(nn.Module):
    """Dicts are taken apart while the program is recorded."""

    def forward(self, x: Any, y: Any) -> Any:
        """What was put in under a name."""
        held = {"twice": x * 2}
        y = y * held["twice"]
        return {"y": y}


class DynamicShapeAssert(nn.Module):
    """Sizes may be asserted."""

    def forward(self, x: Any) -> Any:
        """The input."""
        torch._check(x.shape[0] > 2, lambda: f"{x.shape[0]} is too few")
        torch._check(x.shape[0] > 1)
        return x


class DynamicShapeIfGuard(nn.Module):
    """What sizes decide is decided once."""

    def forward(self, x: Any) -> Any:
        """The cosine of three rows, the sine of others."""
        return x.cos() if x.shape[0] == 3 else x.sin()


class DynamicShapeMap(nn.Module):
    """A function may be mapped over the first dim."""

    def forward(self, xs: Any, y: Any) -> Any:
        """Each row and a vector."""
        from rushlight._higher_order_ops.map import map  # few programs need it

        return map(lambda x, y: x + y, xs, y)


class ListContains(nn.Module):
    """`in` compares with each number of a list."""

    def forward(self, x: Any) -> Any:
        """The input, one more where its last size is listed."""
        return x + 1 if x.size(-1) in [6, 2] and x.size(0) not in [4, 5, 6] else x


class NestedFunction(nn.Module):
    """Functions may change what the function around them has."""

    def forward(self, a: Any, b: Any) -> Any:
        """A sum, and what is made of it."""
        total = a + b

        def add(x: Any) -> Any:
            nonlocal total
            total = total + 1
            return x * total + b

        return add(total)


class NullContextManager(nn.Module):
    """contextlib.nullcontext does nothing."""

    def forward(self, x: Any) -> Any:
        """Sine and cosine."""
        with nullcontext():
            return x.sin() + x.cos()


class OptionalInput(nn.Module):
    """An input with a default that is not given is no input of the program."""

    def forward(self, x: Any, y: Any = None) -> Any:
        """The input, or the sum of both."""
        return x if y is None else x + y


class _Animal(Enum):
    COW = "moo"


class SpecializedAttribute(nn.Module):
    """Attributes that are no tensors are constants."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = "moo", 4

    def forward(self, x: Any) -> Any:
        """The square and a number, for the right animal."""
        if self.a == _Animal.COW.value:
            return x * x + self.b
        raise ValueError("bad")


class StaticIf(nn.Module):
    """What is the same in all calls decides branches."""

    def forward(self, x: Any) -> Any:
        """The input, with ones where it has three dims."""
        return x + torch.ones(1, 1, 1) if x.dim() == 3 else x


class TensorSetattr(nn.Module):
    """Tensors may be given attributes."""

    def forward(self, x: Any, attr: str) -> Any:
        """One attribute of a fixed name and one of a given one."""
        setattr(x, attr, torch.randn(3, 2))
        x.told = attr
        return x + 4


class _A:
    @classmethod
    def func(cls, x: Any) -> Any:
        return 1 + x


class TypeReflectionMethod(nn.Module):
    """type(x) is asked while the program is recorded."""

    def forward(self, x: Any) -> Any:
        """One more, by a method of an object's type."""
        return type(_A()).func(x)


class UnsupportedOperator(nn.Module):
    """torch.sym_min of sizes, once without an op of its own, is an expression."""

    def forward(self, x: Any) -> Any:
        """Rows, or a hundred."""
        return x.sum() + torch.sym_min(x.size(0), 100)


def examples() -> list[tuple[str, nn.Module, tuple[Any, ...], dict[str, Any]]]:
    """(name, program, inputs, options) of each."""
    x, small = torch.randn(3, 2), torch.randn(3)
    rows = {"dynamic_shapes": {"xs": {0: torch.export.Dim("rows")}, "y": None}}
    return [
        ("assume_constant_result", AssumeConstantResult(), (x, torch.tensor(4)), {}),
        ("autograd_function", AutogradFunction(), (x,), {}),
        ("class_method", ClassMethod(), (torch.randn(3, 4),), {}),
        ("cond_branch_nested_function", CondBranchNestedFunction(), (small,), {}),
        ("cond_branch_nonlocal_variables", CondBranchNonlocalVariables(), (torch.randn(6),), {}),
        ("cond_closed_over_variable", CondClosedOverVariable(), (torch.tensor(True), x), {}),
        ("cond_predicate", CondPredicate(), (torch.randn(6, 4, 3),), {}),
        ("constrain_as_size_example", ConstrainAsSizeExample(), (torch.tensor(4),), {}),
        ("constrain_as_value_example", ConstrainAsValueExample(), (torch.tensor(4), torch.randn(5, 5)), {}),
        ("decorator", Decorator(), (x, torch.randn(3, 2)), {}),
        ("dictionary", Dictionary(), (x, torch.tensor(4)), {}),
        ("dynamic_shape_assert", DynamicShapeAssert(), (x,), {}),
        ("dynamic_shape_if_guard", DynamicShapeIfGuard(), (torch.randn(3, 2, 2),), {}),
        ("dynamic_shape_map", DynamicShapeMap(), (x, torch.randn(2)), rows),
        ("list_contains", ListContains(), (x,), {}),
        ("nested_function", NestedFunction(), (x, torch.randn(2)), {}),
        ("null_context_manager", NullContextManager(), (x,), {}),
        ("optional_input", OptionalInput(), (torch.randn(2, 3),), {}),
        ("specialized_attribute", SpecializedAttribute(), (x,), {}),
        ("static_if", StaticIf(), (torch.randn(3, 2, 2),), {}),
        ("tensor_setattr", TensorSetattr(), (x, "attr"), {}),
        ("type_reflection_method", TypeReflectionMethod(), (torch.randn(3, 4),), {}),
        ("unsupported_operator", UnsupportedOperator(), (x,), {}),
    ]
