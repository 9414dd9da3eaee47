"""TorchScript from text, modules that say which methods are compiled, and what errors of the compiler tell."""

from __future__ import annotations

import copy
import io
from enum import Enum
from typing import NamedTuple

import pytest

import rushlight as torch
from rushlight import Tensor, nn


def test_functions_from_text_call_each_other_and_see_the_callers_names():
    scale = 3
    unit = torch.jit.CompilationUnit(
        """
        def twice(x):
            return once(x) * scale

        def once(x: Tensor) -> Tensor:
            return x + 1
        """
    )
    assert unit.twice(torch.ones(2)).tolist() == [6.0, 6.0]
    assert unit.once(torch.ones(1)).item() == 2
    unit.define("def more(x: List[int]) -> int:\n    return len(x)\n")
    assert unit.more([1, 2]) == 2
    with pytest.raises(AttributeError, match="has no attribute 'missing'"):
        _ = unit.missing
    with pytest.raises(RuntimeError, match="expected def"):
        unit.define("x = 1")
    del scale


class Old(torch.jit.ScriptModule):
    """A module of the older kind: it compiles what is marked, when it is made."""

    __constants__ = ["factor"]

    def __init__(self, n: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))
        self.linear = nn.Linear(n, 2)
        self.factor = 3
        self.define("def more(self, x):\n    return x + self.factor\n")

    @torch.jit.script_method
    def forward(self, x):
        return self.linear(self.more(x) * self.weight) + self.helper(x).sum()

    def helper(self, x):
        return x * self.factor


def test_subclass_of_script_module():
    model = Old(3)
    x = torch.ones(3)
    want = model.linear(x + 3) + 9
    assert torch.equal(model(x), want) and isinstance(model, Old)
    assert [name for name, _ in model.named_parameters()] == ["weight", "linear.weight", "linear.bias"]
    assert "prim::CallMethod" in str(model.forward.graph) and "def forward" in str(model.forward.code)
    assert model._c._has_method("helper") and model._c._get_method("forward").name == "forward"
    buffer = io.BytesIO()
    model.save(buffer)
    buffer.seek(0)
    loaded = torch.jit.load(buffer)
    assert torch.equal(loaded(x), want) and torch.equal(copy.copy(loaded)(x), want)


def inner(x):
    return "a" + 2


def outer(x):
    return inner(x)


class Bad:
    def __init__(self):
        self.a = 1

    def wrong(self):
        return 2 + "s"


def makes(x):
    return Bad()


def test_errors_tell_who_called_whom():
    with pytest.raises(RuntimeError, match="'inner' is being compiled since it was called from 'outer'"):
        torch.jit.script(outer)
    with pytest.raises(RuntimeError, match=r"'Bad.wrong' is being compiled since(.|\n)*from 'makes'"):
        torch.jit.script(makes)

    def imports(x):
        import os  # noqa: F401

        return x

    with pytest.raises(torch.jit.frontend.NotSupportedError, match="import statements aren't supported"):
        torch.jit.script(imports)


def test_lists_and_dicts_have_one_type():
    numbers, table = torch.jit.script([1, 2]), torch.jit.script({"a": 1})
    for wrong in (lambda: numbers.append("x"), lambda: "x" in numbers, lambda: numbers.__setitem__(0, "x")):
        with pytest.raises(TypeError, match="Expected a value of type 'int'"):
            wrong()
    with pytest.raises(KeyError):
        _ = 1 in table
    numbers.append(3)
    table["b"] = 2
    assert numbers == [1, 2, 3] and table == {"a": 1, "b": 2}


def test_what_runs_tells_where_it_failed():
    @torch.jit.script
    def find(x: list[Tensor]) -> int:
        return x.index(torch.tensor(5))

    assert find([torch.tensor(3), torch.tensor(5)]) == 1
    with pytest.raises(RuntimeError, match=r"return x.index(.|\n)*~~~(.|\n)*is not in list"):
        find([torch.tensor(1)])

    @torch.jit.script
    def take(x: dict[str, int]) -> int:
        return x.pop("b")

    with pytest.raises(RuntimeError, match="KeyError: b"):
        take({"a": 1})


class Color(Enum):
    RED = 1
    BLUE = 2


def test_enums_in_graphs():
    def is_red(x: Color) -> bool:
        return x == Color.RED

    text = str(torch.jit.script(is_red).graph)
    assert "Enum<__torch__" in text and "Color.RED]" in text


class Box:
    def __init__(self, a: int) -> None:
        self.a = a

    def __contains__(self, x: int) -> bool:
        return x == self.a

    def __bool__(self) -> bool:
        return self.a > 0

    @property
    def size(self) -> int:
        return self.a

    @size.setter
    def size(self, value: int):
        self.a = value


def test_classes_with_special_methods_and_setters():
    def run(a: int) -> int:
        box = Box(a)
        if box and 3 in box:
            box.size = 7
        return box.size

    compiled = torch.jit.script(run)
    assert [compiled(a) for a in (3, 2, -1)] == [7, 2, -1]


class Replaced(nn.SELU):
    def __prepare_scriptable__(self):
        return nn.ReLU()


def test_prepare_scriptable():
    model = torch.jit.script(nn.Sequential(Replaced()))
    assert model(torch.tensor([-1.0])).item() == 0


class Pair(NamedTuple):
    a: int


class Takes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(1, 1)

    def forward(self, x: Pair) -> Tensor:
        return torch.tensor(3)


def test_types_of_arguments_are_saved():
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(Takes()), buffer)
    buffer.seek(0)
    assert torch.jit.load(buffer)(Pair(5)).item() == 3


def test_a_module_of_another_type_is_refused():
    model = torch.jit.script(Takes())
    model.inner = torch.jit.script(nn.Linear(1, 1))
    with pytest.raises(RuntimeError, match="Expected a value of type .* for field 'inner'"):
        model.inner = torch.jit.script(nn.ReLU())
    with pytest.raises(RuntimeError, match="with non-scripted module"):
        model.inner = nn.ReLU()


def test_no_trace_while_parametrizations_are_cached():
    model = nn.Linear(2, 2)
    nn.utils.parametrize.register_parametrization(model, "weight", nn.Tanh())
    assert torch.jit.trace(model, torch.ones(2))(torch.ones(2)).shape == (2,)
    with (
        nn.utils.parametrize.cached(),
        pytest.raises(RuntimeError, match="Cannot trace a model while caching"),
    ):
        torch.jit.trace(model, torch.ones(2))


def test_unions_are_named_as_pytorch_does():
    def first(x: int | float | str | int) -> int:
        return 1

    def second(x: str | int | None) -> int:
        return 1

    assert "Union(float, int, str)" in str(torch.jit.script(first).schema)
    assert "Union[int, NoneType, str]" in torch.jit.script(second).code
    assert torch.jit.script(second)(None) == 1


def test_any_list_or_tuple_is_asked_for_in_a_file_too() -> None:
    def count(y: torch.Tensor | list[torch.Tensor] | None) -> int:
        if isinstance(y, (list, tuple)):
            return len(y)
        return 0

    made = torch.jit.script(count)
    assert "isinstance(y, (list, tuple))" in made.code
    file = io.BytesIO()
    torch.jit.save(made, file)
    file.seek(0)
    found = torch.jit.load(file)
    assert (found(None), found([torch.ones(1)] * 2), found(torch.ones(1))) == (0, 2, 0)
