"""torch._export.db.examples: the examples, by name."""

from __future__ import annotations

from functools import cache
from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight._export.db import python
from rushlight._export.db.case import ExportCase, SupportLevel
from rushlight.export.symbols import Dim

__all__ = ["all_examples", "filter_examples_by_support_level", "get_rewrite_cases"]


class CondOperands(nn.Module):
    """Both branches of torch.cond become graphs; what they are called with is told as operands."""

    def forward(self, x: Any, y: Any) -> Any:
        """The branch that the first number says."""
        return torch.cond(x.sum() > 2, lambda x, y: x + y, lambda x, y: x - y, (x, y))


class CondBranchClassMethod(nn.Module):
    """A branch may be a method, and call modules."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 3)

    def positive(self, x: Any) -> Any:
        """One branch."""
        return self.inner(x)

    def forward(self, x: Any) -> Any:
        """The branch that the mean says."""
        return torch.cond(x.mean() > 0, self.positive, lambda x: x.sin(), (x,))


class DynamicShapeConstructor(nn.Module):
    """Tensors may be made in sizes that are inputs' sizes."""

    def forward(self, x: Any) -> Any:
        """Ones, twice as many as rows."""
        return torch.ones(x.shape[0] * 2)


class DynamicShapeSlicing(nn.Module):
    """Slices may end at sizes."""

    def forward(self, x: Any) -> Any:
        """Every second row but the last two, and all columns but the first."""
        return x[: x.shape[0] - 2, 1::2]


class DynamicShapeView(nn.Module):
    """Shapes may be made of sizes."""

    def forward(self, x: Any) -> Any:
        """Rows of halves."""
        return x.reshape(x.shape[0], 2, x.shape[1] // 2).permute(1, 0, 2)


class FnWithKwargs(nn.Module):
    """Keyword arguments are inputs like others."""

    def forward(self, pos: Any, pair: Any, *rest: Any, first: Any, **named: Any) -> Any:
        """The sum of all."""
        return sum(rest, pos + pair[0] * pair[1]) + first + sum(named.values())


class ListUnpack(nn.Module):
    """Containers are inputs; they are taken apart while the program is recorded."""

    def forward(self, args: Any) -> Any:
        """The first, and the sum of the others."""
        x, *others = args
        return x + sum(others)


class ModelAttrMutation(nn.Module):
    """Buffers may be written to."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Any) -> Any:
        """The input, times how often it was called."""
        self.calls.add_(1)
        return x * self.calls


class PytreeFlatten(nn.Module):
    """Python's containers of tensors are results as well."""

    def forward(self, x: Any) -> Any:
        """A dict of them."""
        return {"one": x[0] + 1, "others": [t * 2 for t in x[1]]}


class ScalarOutput(nn.Module):
    """Sizes may be results."""

    def forward(self, x: Any) -> Any:
        """One more than the number of rows."""
        return x.shape[0] + 1


class StaticForLoop(nn.Module):
    """Loops of a number that is the same in every call are unrolled."""

    def forward(self, x: Any) -> Any:
        """Ten sums."""
        return [x + i for i in range(10)]


class UserInputMutation(nn.Module):
    """Inputs may be written to."""

    def forward(self, x: Any) -> Any:
        """Its cosine, once it is doubled."""
        x.mul_(2)
        return x.cos()


def _case(name: str, model: nn.Module, *args: Any, **options: Any) -> ExportCase:
    return ExportCase(args, str(type(model).__doc__), model, name, **options)


@cache
def all_examples() -> dict[str, ExportCase]:
    """All examples."""
    x = torch.randn(3, 4)
    rows = {"x": {0: Dim("rows", min=4)}}
    found = [
        _case("cond_operands", CondOperands(), torch.randn(3, 2), torch.randn(2)),
        _case("cond_branch_class_method", CondBranchClassMethod(), torch.randn(3)),
        _case("dynamic_shape_constructor", DynamicShapeConstructor(), x),
        _case("dynamic_shape_slicing", DynamicShapeSlicing(), torch.randn(5, 4), dynamic_shapes=rows),
        _case("dynamic_shape_view", DynamicShapeView(), torch.randn(10, 10)),
        _case(
            "fn_with_kwargs",
            FnWithKwargs(),
            *(torch.randn(4), (torch.randn(4), torch.randn(4)), torch.randn(4)),
            example_kwargs={"first": torch.randn(4), "second": torch.randn(4)},
        ),
        _case("list_unpack", ListUnpack(), [torch.randn(3, 2), torch.tensor(4.0), torch.tensor(5.0)]),
        _case("model_attr_mutation", ModelAttrMutation(), torch.randn(3, 2)),
        _case("pytree_flatten", PytreeFlatten(), (torch.randn(3), [torch.randn(2), torch.randn(4)])),
        _case("scalar_output", ScalarOutput(), x, dynamic_shapes={"x": {0: Dim("rows")}}),
        _case("static_for_loop", StaticForLoop(), x),
        _case("user_input_mutation", UserInputMutation(), x),
    ]
    found += [_case(name, model, *args, **options) for name, model, args, options in python.examples()]
    return {case.name: case for case in found}


def filter_examples_by_support_level(support_level: SupportLevel) -> dict[str, ExportCase]:
    """The examples of a level."""
    return {name: case for name, case in all_examples().items() if case.support_level is support_level}


def get_rewrite_cases(case: ExportCase) -> list[ExportCase]:
    """Other ways to write an example that is not supported: there is none of such."""
    return []
