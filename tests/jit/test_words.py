"""What programs are told by the compiler, and what Python and a program hand each other."""

from __future__ import annotations

import io
import typing
from enum import Enum
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn


def compiled_from(text: str) -> Any:
    return torch.jit.CompilationUnit(text)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("    a, *b, *c = [1, 2, 3]\n    return a", "Only one starred expression is allowed on the lhs"),
        ("    x + 1 = x\n    return x", "unexpected expression on left-hand side of assignment"),
        ("    a, *1 = (3, 4, 5)\n    return x", "Cannot pack a tuple into a non-variable"),
        ("    return [x x]", "expected \\] but found 'ident' here"),
        ("    break", "SyntaxError: 'break' outside loop"),
        ("    for a, b in x, x:\n        pass", "List of iterables"),
        ("    a, b = (1, 2, 3)\n    return a", "too many values to unpack: need 2 but found 3"),
        ("    a, b, c, d = (1, 2, 3)\n    return a", "need 4 values to unpack but found only 3"),
        ("    a, b = x + x\n    return a", "Tensor cannot be used as a tuple"),
        ("    return x.unsqueeze.myattr", "attribute lookup is not defined on builtin"),
        ("    return torch.unsqueeze(3, 4, 5, 6)", "but instead found type 'int'"),
        (
            "    return torch.jit.annotate(int, [y for y in [1]])",
            "Expected an annotation of type List but got int",
        ),
        (
            '    return {"a": 1, 2: "c"}',
            "Dict keys must contain only a single type. Expected: str but found int",
        ),
    ],
)
def test_what_texts_are_told(body: str, told: str) -> None:
    with pytest.raises(RuntimeError, match=told):
        compiled_from(f"def f(x):\n{body}\n")


def test_types_that_are_refused() -> None:
    with pytest.raises(RuntimeError, match="Unknown type constructor Tensor"):
        compiled_from("def f(x: Tensor[Tensor]):\n    return x\n")
    with pytest.raises(RuntimeError, match="Attempted to use List without a contained type"):
        torch.jit.isinstance([1], typing.List)

    def set_item(a: tuple[int, int]) -> None:
        a[0] = 1  # type: ignore[index]

    def add_item(a: tuple[int, int]) -> None:
        a[0] += 1  # type: ignore[index]

    def number(x: int = 0.5) -> int:  # type: ignore[assignment]
        return x

    def leave(x: bool) -> int:
        for i in (1, 2):
            if x:
                break
            print(i)
        return 1

    for function, told in (
        (set_item, "does not support subscripted assignment"),
        (add_item, "does not support augmented assignment"),
        (number, 'Expected a default value of type int on parameter "x"'),
        (leave, "do not support break or continue inside"),
    ):
        with pytest.raises(RuntimeError, match=told):
            torch.jit.script(function)


def test_comments_that_tell_types() -> None:
    @torch.jit.script
    def by_argument(
        a,  # type: int
        b,  # type: List[int]
    ):
        # type: (...) -> int
        return a + b[0]

    @torch.jit.script
    def without_result(a, b):
        # type: (int, int)
        return a + b

    assert by_argument(1, [2]) == 3 and without_result(1, 2) == 3
    with pytest.raises(RuntimeError, match="Return type line"):

        @torch.jit.script
        def two_lines(a):
            # type: (int) -> int
            # type: another
            return a


class Held(nn.Module):
    __constants__ = ["fixed"]

    def __init__(self) -> None:
        super().__init__()
        self.numbers, self.fixed = [1, 2], 5

    def forward(self, add: bool) -> list[int]:
        if add:
            self.numbers.append(9)
        return self.numbers


def test_lists_are_handed_over_as_copies() -> None:
    module = torch.jit.script(Held())
    module(False).append(3)
    module.numbers.append(4)
    assert module(False) == module.numbers == [1, 2]
    assert module(True) == module.numbers == [1, 2, 9]
    given = [7]
    module.numbers = given
    given.append(8)
    assert module(False) == [7]
    for name, value, told in (
        ("numbers", ["a"], "Could not cast attribute"),
        ("fixed", 6, "Can't set constant"),
    ):
        with pytest.raises(RuntimeError, match=told):
            setattr(module, name, value)
    with pytest.raises(NotImplementedError):
        list(module)
    assert len(torch.jit.script(nn.Sequential(nn.ReLU()))) == 1
    with pytest.raises(TypeError, match="'TopLevelTracedModule' object is not iterable"):
        list(torch.jit.trace(nn.Sequential(nn.ReLU()), torch.ones(1)))


@torch.jit.script
class Count:
    def __init__(self, n: int) -> None:
        self.n = n

    def up(self) -> None:
        self.n += 1


def test_objects_are_handed_over_as_copies() -> None:
    def up(c: Count) -> Count:
        c.up()
        return c

    mine = Count(1)
    assert torch.jit.script(up)(mine).n == 2 and mine.n == 1


def test_numbers_that_stand_for_others() -> None:
    def same(a: int, b: float, c: list[bool]) -> tuple[int, float, list[bool]]:
        return a, b, c

    found = torch.jit.script(same)(True, torch.tensor(3), [True, 1, 0.0])
    assert repr(found) == "(1, 3.0, [True, True, False])"


class Named(nn.Module):
    def forward(self, a: int, *, b: int) -> int:
        return a - b


def test_arguments_by_name_only() -> None:
    module = torch.jit.script(Named())
    assert module(3, b=1) == 2
    with pytest.raises(RuntimeError, match=r"takes 2 positional argument\(s\) but 3 was/were given"):
        module(3, 1)
    assert "int a, *, int b" in str(module.forward.schema)


def test_lists_of_several_types() -> None:
    def several(x: bool) -> list[int | str]:
        found = [1, "a"]
        y: int | str = 1
        if x:
            y = "b"
        found.append(y)
        return found

    function = torch.jit.script(several)
    buffer = io.BytesIO()
    torch.jit.save(function, buffer)
    buffer.seek(0)
    for one in (function, torch.jit.load(buffer)):
        assert one(True) == [1, "a", "b"] and one(False) == [1, "a", 1]

    def pairs() -> dict[str, int]:
        return dict(zip(["a"], [1], strict=False)) if False else dict(zip(["a", "b"], [1, 2]))

    assert torch.jit.script(pairs)() == {"a": 1, "b": 2}


def test_what_ignored_functions_give() -> None:
    @torch.jit.ignore
    def wrong():
        # type: () -> Tuple[Tensor]
        return torch.ones(1), torch.ones(1)

    @torch.jit.unused
    def never(x):
        # type: (Tensor) -> Tuple[Tensor, int]
        return x, 1

    def calls():
        return wrong()

    def unused(x):
        return never(x)

    with pytest.raises(RuntimeError, match="but instead got value of type tuple"):
        torch.jit.script(calls)()
    with pytest.raises(torch.jit.Error, match="annotated to be ignored and cannot be run"):
        torch.jit.script(unused)(torch.ones(1))


class Color(Enum):
    RED = 1
    GREEN = 2


def test_enums_in_files() -> None:
    class Pick(nn.Module):
        def forward(self, x: torch.Tensor, c: Color) -> torch.Tensor:
            return x if c == Color.RED else -x

    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(Pick()), buffer)
    buffer.seek(0)
    loaded, x = torch.jit.load(buffer), torch.ones(1)
    assert loaded(x, Color.RED).item() == 1 and loaded(x, Color.GREEN).item() == -1


def test_ops_and_constants_of_a_program() -> None:
    @torch.jit.script
    def one(x=torch.ones(1)):
        return x

    class Calls(nn.Module):
        def forward(self, x):
            return 2 * x + one()

    module = torch.jit.script(Calls())
    text, constants = module.code_with_constants
    assert text == module.code and torch.equal(constants.c0, torch.ones(1))
    assert torch.jit.export_opnames(module) == ["aten::add.Tensor", "aten::mul.Scalar"]
    with pytest.raises(RuntimeError, match="is missing value for argument 'other'"):
        torch.ops.aten.type_as(torch.ones(1))


def test_sparse_attributes_stay_when_frozen() -> None:
    class Adds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.eye(2).to_sparse()

        def forward(self, x):
            return x + self.a

    buffer = io.BytesIO()
    torch.jit.save(torch.jit.freeze(torch.jit.script(Adds().eval())), buffer)
    buffer.seek(0)
    assert torch.equal(torch.jit.load(buffer)(torch.eye(2).to_sparse()).to_dense(), 2 * torch.eye(2))


def test_more_words() -> None:
    def index(i: int) -> int:
        return (1, 2, 3)[i]

    def several(i: int):
        return (1, "2")[i]

    def default(x=[]):  # noqa: B006
        return x

    def named(x: Any) -> bool:
        return hasattr(x, 1)  # type: ignore[arg-type]

    def listed() -> list[int]:
        found: list[int] = [1, "a"]  # type: ignore[list-item]
        return found

    def keyed() -> dict[str, int]:
        found: dict[int | str, int] = {}
        return found  # type: ignore[return-value]

    def letter(x: str) -> str:
        return "%a" % x

    def step(x: list[int]) -> list[int]:
        return x[::0]

    assert torch.jit.script(index)(1) == 2
    for function, told in (
        (several, "with a non-integer literal because we cannot resolve the output type"),
        (default, "Mutable default parameters are not supported"),
        (named, "hasattr's second argument must be a string literal"),
        (listed, "were unified to Union\\[int, str\\]"),
        (keyed, "only int, float, complex, Tensor, device and string keys are supported"),
    ):
        with pytest.raises(RuntimeError, match=told):
            torch.jit.script(function)
    with pytest.raises(RuntimeError, match="specifier %a is not supported"):
        torch.jit.script(letter)("x")
    with pytest.raises(RuntimeError, match="should have non-zero step"):
        torch.jit.script(step)([1])


class Pair(typing.NamedTuple):
    a: int


def test_conditions_on_containers_and_attributes_with_a_default() -> None:
    def full(x: list[int], y: str, z: dict[str, int]) -> tuple[bool, bool, bool]:
        return bool(1 if x else 0), bool(1 if y else 0), bool(1 if z else 0)

    def attributes(x: Pair) -> tuple[int, int]:
        return getattr(x, "a", 5), getattr(x, "b", 7)

    assert torch.jit.script(full)([1], "", {"a": 1}) == (True, False, True)
    assert torch.jit.script(attributes)(Pair(2)) == (2, 7)


def test_modules_of_python_and_forks_in_graphs() -> None:
    layer = nn.Linear(2, 2)

    @torch.jit.script
    def inner(x):
        return x + 1

    def calls(x):
        return layer(x) + torch.jit.wait(torch.jit.fork(inner, x))

    function, x = torch.jit.script(calls), torch.ones(1, 2)
    torch.testing.assert_close(function(x), layer(x) + x + 1)
    text = str(function.graph)
    assert "^<python_value>()" in text and "prim::fork_0(" in text and "with prim::fork_0 = graph(" in text


class Echo(nn.Module):
    def forward(self, input: str) -> str:
        return input


def test_hooks_that_do_not_fit() -> None:
    def inner(self, input: tuple[int]) -> tuple[str]:
        return ("a",)

    def count(self, input: tuple[str, str]) -> tuple[str]:
        return ("a",)

    def result(self, input: tuple[str]) -> tuple[int]:
        return (1,)

    def output(self, input: tuple[str], output: int) -> str:
        return "a"

    for hook, behind, told in (
        (
            inner,
            False,
            "Pre-hook 'inner' on module 'Echo' has the wrong inner types for the input tuple argument",
        ),
        (count, False, "has the wrong number of contained types for the input argument's Tuple"),
        (result, False, "returned the wrong type of: 'Tuple\\[int\\]'"),
        (output, True, "Hook 'output' on module 'Echo' has the wrong type for the output argument"),
    ):
        module: Any = Echo()
        (module.register_forward_hook if behind else module.register_forward_pre_hook)(hook)
        with pytest.raises(RuntimeError, match=told):
            torch.jit.script(module)


def test_traces_by_names_and_objects_behind_interfaces() -> None:
    class Picks(nn.Module):
        def forward(self, a=None, b=None, c=None, d=None):
            return d - b

    given = {"d": torch.tensor(3.0), "b": torch.tensor(1.0)}
    traced = torch.jit.trace(Picks(), example_kwarg_inputs=given)
    assert traced(**given).item() == 2

    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(HasAdder()), buffer)
    buffer.seek(0)
    assert torch.jit.load(buffer)(torch.ones(1)).item() == 2


@torch.jit.interface
class Adder:
    def add(self, x: torch.Tensor) -> torch.Tensor:
        pass


@torch.jit.script
class AddsOne:
    def __init__(self) -> None:
        pass

    def add(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


class HasAdder(nn.Module):
    adder: Adder

    def __init__(self) -> None:
        super().__init__()
        self.adder = AddsOne()

    def forward(self, x):
        return self.adder.add(x)


def test_uses_in_order_and_text_of_functions_in_files() -> None:
    @torch.jit.script
    def twice(x, flag: bool):
        y = x + 1
        if flag:
            y = y * x
        return y

    first, second = next(twice.graph.inputs()).uses()
    assert second.isAfter(first) and not first.isAfter(second)
    buffer = io.BytesIO()
    torch.jit.save(twice, buffer)
    buffer.seek(0)
    assert "torch.mul" in torch.jit.load(buffer).code


def test_modules_of_a_container_one_by_one() -> None:
    class Unpacks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.ReLU(), nn.Sigmoid(), nn.Tanh()])

        def forward(self, x):
            first, *others = self.layers
            _, _, last = self.layers
            y = first(x)
            for layer in others:
                y = layer(y)
            return y + last(x)

    module, x = Unpacks(), torch.randn(2)
    assert torch.equal(torch.jit.script(module)(x), module(x))


def test_traced_modules_are_printed_by_their_own_names() -> None:
    outer = torch.jit.trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.ones(1, 2))
    assert repr(outer).splitlines()[0] == "Sequential("
    assert [repr(inner) for inner in outer.children()] == [
        "Linear(original_name=Linear)",
        "ReLU(original_name=ReLU)",
    ]
    assert type(outer).__name__ == "TopLevelTracedModule"
    assert {type(inner).__name__ for inner in outer.children()} == {"TracedModule"}
