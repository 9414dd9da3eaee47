"""Static methods, returns on some ways only, statements that stay Python, classes made of tuple, names."""

from __future__ import annotations

import functools
import io
from typing import Any, Dict, List, NamedTuple, Optional

import pytest

import rushlight as torch


def loaded(module):
    file = io.BytesIO()
    torch.jit.save(module, file)
    file.seek(0)
    return torch.jit.load(file)


class Static(torch.nn.Module):
    @staticmethod
    def twice(x, by: int = 2):
        return x * by

    def forward(self, x):
        return self.twice(x) + self.twice(x, by=3)


def test_static_methods_of_modules_have_no_self():
    assert torch.jit.script(Static())(torch.ones(1)).item() == 5


def in_part(x: int) -> int:  # noqa: RET503
    if x > 1:
        return 1


def in_a_loop(x: int) -> int:  # noqa: RET503
    for i in range(x):
        return i


def nothing_in_part(x: int):
    if x > 1:
        return
    print(x)


def maybe(x: int) -> Optional[int]:  # noqa: RET503
    if x > 1:
        return 1


def raising(x: int) -> int:
    if x > 1:
        return 1
    raise RuntimeError("no")


def test_a_function_returns_on_all_ways():
    for function in (in_part, in_a_loop, maybe):
        with pytest.raises(RuntimeError, match="does not return along all paths"):
            torch.jit.script(function)
    assert torch.jit.script(nothing_in_part)(1) is None
    assert torch.jit.script(raising)(2) == 1


class Keeps(torch.nn.Module):
    def forward(self, n: int):
        a: int = n
        b: int = 0
        c: List[int] = []
        with torch.jit._IgnoreContextManager(a="inp:int", b="out:int", c="out:List[int]"):
            c = sorted([i for i in range(a) if i % 2], key=lambda i: -i)
            b = functools.reduce(max, c)
        return b, c


def test_statements_that_stay_python():
    assert torch.jit.script(Keeps())(6) == Keeps()(6) == (5, [5, 3, 1])


class Pair(tuple):
    """A tuple that answers nothing."""

    def __len__(self):
        raise NotImplementedError


class Path(NamedTuple):
    shape: tuple
    name: str


class Holds(torch.nn.Module):
    paths: List[Any]

    def __init__(self):
        super().__init__()
        self.pair = Pair((1, Pair((2, 3))))
        self.paths = [Path((1, 2), "a")]
        self.known: Dict[str, List[int]] = {"a": [1]}
        self.__note__ = "kept"

    def forward(self, x):
        return x + self.pair[0] + self.pair[1][1]


def test_classes_made_of_tuple_are_tuples():
    found = loaded(torch.jit.script(Holds()))
    assert found(torch.zeros(1)).item() == 4
    assert found.pair == (1, (2, 3))
    assert found.paths == [((1, 2), "a")]
    assert found.__note__ == "kept"


def untyped(x, n=1):
    return x


def test_a_default_of_an_argument_without_annotation_is_a_tensor():
    with pytest.raises(
        RuntimeError, match='Tensor \\(inferred\\) on parameter "n".Because "n" was not annotated'
    ):
        torch.jit.script(untyped)


def scripts_while_tracing(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    wrapper.__original_fn = function
    setattr(wrapper, "__script_if_tracing_wrapper", True)
    return wrapper


@scripts_while_tracing
def marked(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def calls_marked(x):
    return marked(x)


def test_functions_that_a_library_marks_as_script_if_tracing_does():
    assert torch.jit.script(calls_marked)(torch.zeros(1)).item() == 1


class Zips(torch.nn.Module):
    def __init__(self, count):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.ReLU() for _ in range(3)])
        self.count = count

    def forward(self, x):
        for layer, i in zip(self.layers, range(self.count)):
            x = layer(x) + i
        return x


def test_modules_go_with_what_has_a_known_length():
    with pytest.raises(RuntimeError, match="does not have a statically determinable length"):
        torch.jit.script(Zips(2))


def test_arguments_that_are_called_as_constants_of_the_code():
    class Named(torch.nn.Module):
        def forward(self, infj: int, nanj: int):
            return infj + nanj

    assert loaded(torch.jit.script(Named()))(1, 2) == 3


def test_parameters_on_meta_stay_there():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2, device="meta"), torch.nn.Linear(2, 2))
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(model), file)
    file.seek(0)
    found = torch.jit.load(file, map_location="cpu")
    assert [p.device.type for p in found.parameters()] == ["meta", "meta", "cpu", "cpu"]


def test_names_are_marked_once_and_begin_anew():
    found = torch.jit.script(Static())
    again = loaded(loaded(found))
    assert again._c.qualified_name.count("___torch_mangle_") == 1


def test_only_other_names_make_a_starred_one():
    with pytest.raises(RuntimeError, match="within the presence of another non-starred"):
        torch.jit.CompilationUnit("def f(x):\n    a = (x, x)\n    *b, = a\n    return b\n")


@torch.jit.ignore
def gives_a_tuple(x):
    return (x,)


def calls_it(x):
    return gives_a_tuple(x)


def test_what_stays_python_gives_what_it_says():
    with pytest.raises(RuntimeError, match="expected value of type Tensor for return value but instead got"):
        torch.jit.script(calls_it)(torch.ones(1))


class Raises(torch.nn.Module):
    def forward(self, x):
        raise ValueError("no")


def test_exceptions_of_loaded_programs_tell_both_places():
    with pytest.raises(
        torch.jit.Error, match=r"serialized code(.|\n)*code/__torch__(.|\n)*original code(.|\n)*test_more"
    ):
        loaded(torch.jit.script(Raises()))(torch.ones(1))
    with pytest.raises(torch.jit.Error, match=r"Traceback of TorchScript \(most recent call last\)"):
        torch.jit.script(Raises())(torch.ones(1))


def test_shufflenet_is_scriptable():
    from rushlight_vision.models.shufflenetv2 import InvertedResidual

    block = InvertedResidual(8, 8, 1).eval()
    x = torch.randn(1, 8, 4, 4)
    assert torch.equal(torch.jit.script(block)(x), block(x))


def zip_of_both(x: int):
    s = 0
    for a, b in zip((1, 2, 3), range(x)):
        s += a * b
    return s


def test_tuples_go_with_what_has_a_known_length():
    with pytest.raises(RuntimeError, match="does not have a statically determinable length"):
        torch.jit.script(zip_of_both)


def test_programs_may_be_deeper_than_the_stack():
    lines = "    x = torch.relu(x - 0.5) + 0.5\n" * 400
    found = torch.jit.CompilationUnit(f"def f(x):\n{lines}    return x\n").f
    assert found(torch.tensor([2.0, -1.0])).tolist() == [2.0, 0.5]


class Symmetric(torch.nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT


def test_scripts_of_parametrized_modules_refuse_to_run():
    layer = torch.nn.Linear(3, 3)
    torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    scripted = torch.jit.script(layer)
    with pytest.raises(torch.jit.Error, match="Parametrization is not working with scripting"):
        scripted(torch.ones(1, 3))


def giving_a_number():
    class Pair(NamedTuple):
        a: int

    class Gives(torch.nn.Module):
        def forward(self, x):
            return x, Pair(5)

    return Gives()


def giving_a_text():
    class Pair(NamedTuple):
        a: str

    class Gives(torch.nn.Module):
        def forward(self, x):
            return x, Pair("five")

    return Gives()


def test_files_have_named_tuples_of_their_own():
    """Two files may have other ones of one name; a module that holds both keeps both."""
    files = [io.BytesIO(), io.BytesIO()]
    for file, module in zip(files, (giving_a_number(), giving_a_text()), strict=True):
        torch._C._jit_clear_class_registry()  # as if each were written by a program of its own
        torch.jit.save(torch.jit.script(module), file)
        file.seek(0)
    torch._C._jit_clear_class_registry()

    class Both(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = map(torch.jit.load, files)

        def forward(self, x):
            y, number = self.first(x)
            z, text = self.second(y)
            return z, number.a, text.a

    both = loaded(torch.jit.script(Both()))
    assert both(torch.ones(1)) == (torch.ones(1), 5, "five")


class Named(torch.nn.Module):
    """Its attributes have names of a scripted module's methods and properties."""

    def __init__(self):
        super().__init__()
        self.save, self.code, self.graph_for = [1, 2], 3, "x"

    def forward(self, x):
        self.save.append(4)
        return x * self.code + len(self.save)


def test_attributes_do_not_hide_methods_of_scripted_modules(tmp_path):
    """As in PyTorch: programs have the attribute, Python the method, and a trace of attributes nothing."""
    x = torch.ones(1)
    script, trace = torch.jit.script(Named()), torch.jit.trace(Named(), x, check_trace=False)
    assert (
        "return" in script.code and script.graph_for(x) is not None and script._c.getattr("save") == [1, 2, 4]
    )
    assert [script(x).item(), script(x).item(), trace(x).item(), trace(x).item()] == [7, 8, 6, 6]
    for made, value in ((script, 9), (trace, 6)):
        made.save(str(tmp_path / "file"))
        assert torch.jit.load(str(tmp_path / "file"))(x).item() == value
    frozen = torch.jit.freeze(torch.jit.script(Named()).eval())
    assert [frozen(x).item(), frozen(x).item()] == [6, 7]
    assert not trace._c.hasattr("code")

    class Exporting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.named = Named()

        def forward(self, x):
            return self.named(x)

        @torch.jit.export
        def own(self) -> int:
            return 3

    whole = torch.jit.trace(Exporting(), x, check_trace=False)  # of a class that exports, all are there
    assert whole.named._c.getattr("code") == 3 and whole.own() == 3


@pytest.mark.parametrize("norm", [2, 1.5])
@pytest.mark.parametrize(
    ("pool", "shape"),
    [
        (torch.nn.LPPool1d, (1, 2, 9)),
        (torch.nn.LPPool2d, (1, 2, 9, 9)),
        (torch.nn.LPPool3d, (1, 2, 9, 9, 9)),
    ],
)
def test_the_norm_of_a_pool_is_any_number(tmp_path, pool, shape, norm):
    made, x = pool(norm, 3), torch.rand(*shape)
    script = torch.jit.script(made)
    assert torch.allclose(script(x), made(x))
    script.save(str(tmp_path / "file"))
    assert torch.allclose(torch.jit.load(str(tmp_path / "file"))(x), made(x))


def test_tuples_of_what_has_no_order_are_not_sorted():
    def in_place():
        found = [({1: 2}, {2: 3})]
        found.sort()
        return found

    def anew():
        return sorted([(1, {2: 3})])

    for f, kind in (
        (in_place, r"\(Dict\(int, int\), Dict\(int, int\)\)"),
        (anew, r"\(int, Dict\(int, int\)\)"),
    ):
        with pytest.raises(RuntimeError, match=f"Contained elements in {kind} are not sortable. Only Int"):
            torch.jit.script(f)()

    def within():
        return sorted([(2, (1, [2])), (1, (1, [3]))])

    def lists():
        return sorted([[2], [1]])

    def numbers():
        return sorted([2j, 1j])

    for f, words in (
        (within, r"Contained elements in \(int, int\[\]\) are not sortable"),
        (lists, r"can be sorted, got list of List\[int\]"),
        (numbers, "Only list of Tensors, ints, .* can be sorted, got list of complex"),
    ):
        with pytest.raises(RuntimeError, match=words):
            torch.jit.script(f)()

    def sound():
        found = [(2, "b", (1.0, True)), (1, "a", (2.0, False))]
        found.sort()
        return found, sorted(found)

    assert torch.jit.script(sound)() == sound()
