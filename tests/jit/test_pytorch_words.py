"""What scripts say where they cannot be compiled or run, and what else of torch.jit tells: PyTorch's words."""

from __future__ import annotations

import io
import math
import pickle
import sys
import threading
import types
from collections import namedtuple
from typing import Any

import pytest

import rushlight as torch

One, Other = namedtuple("Pair", ["a", "b"]), namedtuple("Pair", ["c"])


class Plain:
    def __init__(self) -> None:
        self.count = 1


class Left:
    @torch.jit.ignore
    def __call__(self, *args: Any) -> str:
        return type(args[0]).__name__


left = Left()


def test_refusals() -> None:
    def keyword(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x, other=3)

    def value() -> Any:
        return io.BytesIO

    def in_place(x: int) -> int:
        plain = Plain()
        plain += Plain()  # type: ignore[operator]
        return x

    def keys() -> Any:
        some = [1, "a"]
        others = ["b", "c"]
        return dict(zip(some, others))

    for function, words, marked in (
        (keyword, "Keyword argument other unknown", "torch.relu"),
        (value, "python value of type 'type' cannot be used as a value", "io.BytesIO"),
        (in_place, "Cannot emit inplace op on __torch__.* since it does not define an __iadd__", ""),
        (keys, r"type of the first generated key was Union\[int, str\]", ""),
    ):
        with pytest.raises(RuntimeError, match=words) as error:
            torch.jit.script(function)
        assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
        if marked:
            assert f"{'~' * len(marked)} <--- HERE" in str(error.value)


@pytest.mark.parametrize(("text", "kind"), [("List[3]", "const"), ("Tuple[3 + 4, Tensor]", r"\+")])
def test_types_that_are_computations(text: str, kind: str) -> None:
    with pytest.raises(RuntimeError, match=f"Expression of type {kind} cannot be used in a type expr"):
        torch.jit.CompilationUnit(f"def f(x: {text}) -> int:\n    return 1\n")


def test_the_least_step_is_out_of_bounds() -> None:
    text = "def f(x: List[int]) -> List[int]:\n    return x[::-9223372036854775808]\n"
    with pytest.raises(RuntimeError, match="List slice step is out of bounds"):
        torch.jit.CompilationUnit(text).f([1, 2])


def test_constants_are_of_a_few_types() -> None:
    class Holder(torch.nn.Module):
        __constants__ = ["held"]

        def __init__(self, held: Any) -> None:
            super().__init__()
            self.held = held

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

    assert torch.jit.script(Holder((1, 2.0, "x"))) is not None
    with pytest.raises(TypeError, match="'dict' object in attribute 'Holder.held' is not a valid constant"):
        torch.jit.script(Holder((3, 4, {})))


def test_hooks_and_named_tuples_have_names_of_their_own() -> None:
    class Inner(torch.nn.Module):
        def helper(self, x: torch.Tensor) -> torch.Tensor:
            return x

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.helper(x)

    def helper(self: Any, input: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        return input

    inner = Inner()
    inner.register_forward_pre_hook(helper)
    with pytest.raises(RuntimeError, match="Can't define hook: helper on class: .*already exists"):
        torch.jit.script(inner)

    def both(x: One, y: Other) -> One:  # type: ignore[valid-type]
        return x

    with pytest.raises(RuntimeError, match="Can't redefine NamedTuple"):
        torch.jit.script(both)


def test_tensors_as_numbers() -> None:
    @torch.jit.script
    def rows(x: torch.Tensor, dim: torch.Tensor) -> torch.Tensor:
        return x.unsqueeze(dim)  # type: ignore[arg-type]

    x = torch.zeros(3)
    assert rows(x, torch.tensor(0)).shape == (1, 3)
    for given, words in (
        (torch.tensor(1.5), "a tensor of type Float as an integral argument"),
        (torch.tensor(1.5, requires_grad=True), "a tensor that requires grad as a scalar argument"),
        (torch.tensor([0]), "a tensor of dimension other than 0 as a scalar argument"),
        (torch.tensor(False), "a tensor of type Bool as an integral argument"),
    ):
        with pytest.raises(RuntimeError, match=f"Cannot input {words}"):
            rows(x, given)


def test_an_object_that_is_left_to_python() -> None:
    def f(x: torch.Tensor) -> str:
        return left(x)

    assert torch.jit.script(f)(torch.ones(2)) == "Tensor"


def test_functions_of_the_library() -> None:
    loss = torch.jit.script(torch.nn.functional.triplet_margin_loss)
    a, b, c = torch.randn(3, 4, 5).unbind()
    assert torch.equal(loss(a, b, c), torch.nn.functional.triplet_margin_loss(a, b, c))
    made = torch.jit.CompilationUnit("def f(x):\n    return torch.nn.init.constant_(x, 2.5)\n")
    assert torch.equal(made.f(torch.zeros(2)), torch.full((2,), 2.5))


def test_results_of_ifs_and_loops_stand_as_they_are_read() -> None:
    @torch.jit.script
    def f(n: int) -> int:
        a = 1
        b = 2
        c = 3
        for _ in range(n):
            c = c + 1
            b = b + 1
            a = a + 1
            print(a, b)
        return c

    assert "%c : int, %a : int, %b : int = prim::Loop" in str(f.graph)
    assert f(2) == 5


def test_counters() -> None:
    from rushlight.jit import _logging as logs

    def f(x: torch.Tensor) -> torch.Tensor:
        torch.jit._logging.add_stat_value("calls", 2)
        return x + 1

    made, traced = torch.jit.script(f), torch.jit.trace(f, torch.ones(1))
    logger = logs.LockingLogger()
    before = logs.set_logger(logger)
    try:
        made(torch.ones(1))
        traced(torch.ones(1))
    finally:
        logs.set_logger(before)
    assert logger.get_counter_val("calls") == 4
    logger.set_aggregation_type("calls", logs.AggregationType.AVG)
    assert logger.get_counter_val("calls") == 2
    assert " = prim::AddStatValue(" in str(made.graph)


def test_lines_are_counted_and_hidden() -> None:
    @torch.jit.script
    def f(x: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            x = x * 2
        return x

    profile = torch.jit._ScriptProfile()
    profile.enable()
    profile.disable()
    assert profile.dump_string() == ""
    profile.enable()
    f(torch.ones(1))
    profile.disable()
    told = profile.dump_string()
    assert "Line Contents" in told
    assert "for _ in range(3):" in told
    other = torch.jit._ScriptProfile()
    thread = threading.Thread(target=other.enable)
    thread.start()
    thread.join()
    followed = sys.gettrace()
    profile.enable()
    profile.disable()
    assert sys.gettrace() is followed
    with torch.jit._hide_source_ranges():
        assert "test_pytorch_words" not in repr(f.graph)
    assert "test_pytorch_words" in repr(f.graph)


def test_classes_of_extensions() -> None:
    with pytest.raises(RuntimeError, match="Tried to instantiate class 'some.Thing', but it does not exist!"):
        torch.classes.some.Thing(3)
    assert torch.classes.some is torch.classes.some


class Counter:
    def __init__(self, count: int) -> None:
        self.count = count


def test_an_object_that_was_scripted_is_shared() -> None:
    @torch.jit.script
    def raise_it(counter: Counter) -> None:
        counter.count = 2

    own, shared = Counter(1), torch.jit.script(Counter(1))
    raise_it(own)
    raise_it(shared)
    assert (own.count, shared.count) == (1, 2)


def test_numbers_of_any_kind_as_integers() -> None:
    def f(x: torch.Tensor, n: torch.Tensor) -> Any:
        return x.view(-1, n.item()), torch.zeros(n.item(), 2), x.repeat(n)  # type: ignore[arg-type]

    found = torch.jit.script(f)(torch.arange(6), torch.tensor(3))
    assert [tuple(t.shape) for t in found] == [(2, 3), (3, 2), (18,)]

    @torch.jit.script
    def whole(n: torch.Tensor) -> int:
        return n.item()

    @torch.jit.script
    def real(n: torch.Tensor) -> float:
        return n  # type: ignore[return-value]

    assert repr((whole(torch.tensor(3)), real(torch.tensor(3)))) == "(3, 3.0)"


def test_traces_without_writes() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x += y
        return torch.nn.functional.leaky_relu_(x * 2)

    traced = torch.jit.trace(f, (torch.ones(2), torch.ones(2)), _force_outplace=True)
    assert "aten::add_" not in str(traced.graph)
    assert "aten::leaky_relu(" in str(traced.graph)
    x = torch.ones(2)
    assert torch.equal(traced(x, x), torch.full((2,), 4.0))
    assert torch.equal(x, torch.ones(2))
    with pytest.warns(torch.jit.TracerWarning, match="might cause the trace to be incorrect"):
        torch.jit.trace(lambda x: x.view(-1).add_(1), torch.ones(2), _force_outplace=True)


@torch.jit.interface
class Step(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


class AddOne(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


class Stepper(torch.nn.Module):
    step: Step

    def __init__(self) -> None:
        super().__init__()
        self.step = AddOne()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.step(x)


def test_traces_of_modules_with_interfaces() -> None:
    class Outer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.jit.script(Stepper())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x) * 2

    traced = torch.jit.trace(Outer(), torch.ones(1))
    assert traced(torch.ones(1)).item() == 4
    assert torch.onnx.producer_version == torch.__version__


def test_modules_are_listed_as_python_lists_them() -> None:
    class Listed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Sequential(torch.nn.Sequential(AddOne()))
            self.second = AddOne()

        @torch.jit.export
        def names(self) -> str:
            found = ""
            for name, _ in self.named_modules():
                found += name + " "
            return found

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

    assert torch.jit.script(Listed()).names() == Listed().names() == " first first.0 first.0.0 second "


def test_a_forward_that_was_replaced_in_one_module() -> None:
    class Base(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x) * 2

    class Replaced(Base):
        def __init__(self, replaced: bool) -> None:
            super().__init__()
            if replaced:
                self.forward = types.MethodType(Base.forward, self)

        def inner(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x - 1

    x = torch.tensor(1)
    assert [torch.jit.script(Replaced(how))(x).item() for how in (True, False)] == [4, 0]
    named = Replaced(False)
    named.forward = named.inner
    assert torch.jit.script(named)(x).item() == 2


@pytest.mark.parametrize("kind", [torch.nn.RNN, torch.nn.GRU, torch.nn.LSTM])
@pytest.mark.filterwarnings("ignore::rushlight.jit.TracerWarning")
def test_traces_of_packed_sequences_take_other_lengths(kind: Any) -> None:
    class Packs(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = kind(3, 4, 2)

        def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> Any:
            packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths)
            return torch.nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0])

    module, file = Packs(), io.BytesIO()
    traced = torch.jit.trace(module, (torch.randn(5, 3, 3), torch.tensor([3, 2, 1])))
    torch.jit.save(traced, file)
    file.seek(0)
    given = torch.randn(7, 4, 3), torch.tensor([7, 3, 2, 1])
    for made in (traced, torch.jit.load(file)):
        for one, other in zip(made(*given), module(*given), strict=True):
            assert torch.equal(one, other)


def test_sizes_in_traces_may_be_tensors() -> None:
    traced = torch.jit.trace(lambda x: torch.zeros((2, x[0])), torch.tensor([3]))
    assert traced(torch.tensor([5])).shape == (2, 5)


def test_text_of_values() -> None:
    @torch.jit.script
    def f(x: torch.Tensor) -> list[str]:
        return [
            str(1.0),
            "{} {}".format(0.1, ["a"]),
            "%s %d" % (2.0, 3),
            f"{x}",
            str((1, 2.5)),
            str({"a": [1.0]}),
            str(1e-7),
            str(1e18),
            str(1e19),
        ]

    assert f(torch.tensor([1.5, -2.25])) == [
        "1.",
        "0.10000000000000001 [a]",
        "2. 3",
        " 1.5000\n-2.2500\n[ CPUFloatType{2} ]",
        "(1, 2.5)",
        "{a: [1.]}",
        "9.9999999999999995e-08",
        "1000000000000000000.",
        "1e+19",
    ]


@pytest.mark.parametrize(
    ("tensor", "wanted"),
    [
        (torch.tensor(0.1, dtype=torch.float64), "0.1\n[ CPUDoubleType{} ]"),
        (torch.arange(6).view(2, 3), " 0  1  2\n 3  4  5\n[ CPULongType{2,3} ]"),
        (torch.tensor([[1e-3, 2e-3]]), "0.001 *\n 1.0000  2.0000\n[ CPUFloatType{1,2} ]"),
        (torch.tensor([1e-5, 1.0]), " 1.0000e-05\n 1.0000e+00\n[ CPUFloatType{2} ]"),
        (
            torch.tensor([[[1, 2]], [[30, 4]]]),
            "(1,.,.) = \n 1  2\n\n(2,.,.) = \n 30   4\n[ CPULongType{2,1,2} ]",
        ),
        (
            torch.arange(4).view(2, 2, 1, 1),
            "(1,1,.,.) = \n 0\n\n(2,1,.,.) = \n 2\n\n(1,2,.,.) = \n 1\n\n(2,2,.,.) = \n 3\n[ CPULongType{2,2,1,1} ]",
        ),
        (torch.zeros(2, 0), "[ CPUFloatType{2,0} ]"),
    ],
)
def test_text_of_tensors(tensor: torch.Tensor, wanted: str) -> None:
    @torch.jit.script
    def f(x: torch.Tensor) -> str:
        return str(x)

    assert f(tensor) == wanted


def test_long_rows_are_printed_in_parts(capsys: pytest.CaptureFixture[str]) -> None:
    @torch.jit.script
    def f(x: torch.Tensor) -> None:
        print(x, True, None)

    f(torch.arange(21).view(1, 21))
    told = capsys.readouterr().out
    assert told.startswith("Columns 1 to 20  0   1   2 ")
    assert told.endswith("\nColumns 21 to 21 20\n[ CPULongType{1,21} ] True None\n")


class Number:
    def __init__(self, value: int) -> None:
        self.value = value

    def __lt__(self, other: Number) -> bool:
        return self.value < other.value

    def __eq__(self, other: Number) -> bool:  # type: ignore[override]
        return self.value == other.value

    def __neg__(self) -> Number:
        return Number(-self.value)

    def __invert__(self) -> Number:
        return Number(self.value + 100)

    def __truediv__(self, other: Number) -> Number:
        return Number(self.value * 10 + other.value)

    def __mod__(self, other: Number) -> Number:
        return Number(self.value % other.value)

    def __setitem__(self, place: int, value: int) -> None:
        self.value = place + value

    def __delitem__(self, place: int) -> None:
        self.value = place


def test_operators_of_classes() -> None:
    class Uses(torch.nn.Module):
        def forward(self) -> tuple[bool, bool, list[int]]:
            one, other = Number(5), Number(2)
            found = [(-one).value, (~one).value, (one / other).value, (one % other).value]
            numbers = [one, other]
            numbers.sort()
            found.append(numbers[0].value)
            one[3] = 4
            found.append(one.value)
            del one[9]
            found.append(one.value)
            return one < other, one == other, found

    scripted, file = torch.jit.script(Uses()), io.BytesIO()
    torch.jit.save(scripted, file)
    file.seek(0)
    for made in (scripted, torch.jit.load(file)):
        assert made() == (False, False, [-5, 105, 52, 1, 2, 7, 9])


def test_the_greatest_of_a_float_and_an_integer() -> None:
    @torch.jit.script
    def f(d: dict[str, int]) -> tuple[float, float, int, tuple[str, int]]:
        return max(1.5, 2), min(3, 2.5), max(1, 2), d.popitem()

    assert list(map(repr, f({"a": 1, "b": 2}))) == ["2.0", "2.5", "2", "('a', 1)"]
    with pytest.raises(RuntimeError, match="dictionary is empty"):
        f({})

    @torch.jit.script
    def lists(a: list[int], b: list[int], x: float) -> tuple[list[int], list[int], int, float]:
        return max(a, b), min(a, b), max(a), max(x, 1.0)

    assert lists([1, 2], [3], math.nan) == ([3], [1, 2], 2, 1.0)


def test_a_tensor_that_is_no_dim() -> None:
    def dot(points, query, dim):  # type: ignore[no-untyped-def]
        return (points * query).sum(dim)

    with pytest.raises(RuntimeError, match="because it was not annotated with an explicit type"):
        torch.jit.script(dot)


def test_functions_of_math() -> None:
    @torch.jit.script
    def f(x: float) -> tuple[float, float, float, float, float, tuple[float, int], float]:
        return (
            math.expm1(x),
            math.asinh(x),
            math.acosh(x + 1),
            math.atanh(x / 2),
            math.remainder(5.0, 3.0),
            math.frexp(x),
            math.ldexp(x, 2),
        )

    wanted = (math.expm1(0.5), math.asinh(0.5), math.acosh(1.5), math.atanh(0.25), -1.0, (0.5, 0), 2.0)
    assert f(0.5) == wanted


def test_writes_at_places_are_told_of() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        x[0] = 4
        return x

    with pytest.warns(torch.jit.TracerWarning, match="might cause the trace to be incorrect"):
        torch.jit.trace(f, torch.rand(3), _force_outplace=True)


def test_numbers_of_two_kinds_are_not_the_same() -> None:
    @torch.jit.script
    def f(a: bool, b: int, c: float) -> tuple[bool, bool, bool]:
        return a is b, b is c, b is 1  # type: ignore[comparison-overlap]  # noqa: F632

    assert f(True, 1, 1.0) == (False, False, True)


def test_what_is_ignored_may_give_nothing() -> None:
    class Ignores(torch.nn.Module):
        @torch.jit.ignore
        def note(self, x: int):  # type: ignore[no-untyped-def]
            return None

        def forward(self) -> int:
            self.note(3)
            return 4

    assert torch.jit.script(Ignores())() == 4
