"""What PyTorch's own tests of TorchScript found."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn


def again(module: Any) -> Any:
    file = io.BytesIO()
    torch.jit.save(module, file)
    file.seek(0)
    return torch.jit.load(file)


def test_modules_get_types_anew_when_the_registry_is_cleared() -> None:
    torch.jit.script(nn.Sequential(nn.Identity()))
    torch._C._jit_clear_class_registry()
    nested = torch.jit.script(nn.Sequential(nn.Sequential(nn.Identity())))
    assert again(nested)(torch.ones(1)).item() == 1.0


def test_lists_without_elements_say_what_a_tensor_of_them_holds() -> None:
    unit = torch.jit.CompilationUnit("""
    def of_ints():
        empty: List[int] = []
        return torch.tensor(empty), torch.as_tensor([empty, empty])

    def of_nothing():
        return torch.tensor([])

    def of_rows():
        return torch.tensor([[1, 2], [3]])

    def of_parts(parts: List[List[int]], as_they_are: bool):
        return torch.as_tensor(parts) if as_they_are else torch.tensor(parts)

    def of_text(parts: List[str]):
        return torch.tensor(parts)
    """)
    for as_they_are in (False, True):
        assert unit.of_parts([[], [1]], as_they_are).shape == (2, 0)  # the first part says what the sizes are
        with pytest.raises(RuntimeError, match="Expected sequence of length 1 at dim 1"):
            unit.of_parts([[1], []], as_they_are)
    with pytest.raises(RuntimeError, match="Input must be of ints, floats, or bools, got str"):
        unit.of_text([])
    one, two = unit.of_ints()
    assert one.dtype is two.dtype is torch.int64 and two.shape == (2, 0)
    with pytest.raises(RuntimeError, match=r"Empty lists default to List\[Tensor\]"):
        unit.of_nothing()
    with pytest.raises(RuntimeError, match="Expected sequence of length 2"):
        unit.of_rows()


@pytest.mark.parametrize(
    "value",
    [
        "torch.tensor(1), torch.jit.annotate(List[str], [])",
        "{0.5: torch.jit.annotate(List[str], [])}",
        "[torch.jit.annotate(List[int], [])]",
    ],
)
def test_constants_keep_their_types_in_files(value: str) -> None:
    function = torch.jit.CompilationUnit(f"def f():\n    return {value}").f
    torch._C._jit_pass_constant_propagation(function.graph)
    assert again(function)() == function()


def test_schemes_of_quantization_are_numbers_and_overloaded_methods_are_there() -> None:
    class Scheme(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scheme = torch.per_tensor_affine

        def forward(self) -> tuple[bool, bool]:
            return self.scheme == torch.per_tensor_symmetric, hasattr(self, "doubled")

        @torch.jit._overload_method
        def doubled(self, x: int) -> int: ...

        def doubled(self, x):  # noqa: F811
            return x * 2

    assert torch.jit.script(Scheme())() == (False, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "def f(x, y):\n    # type: (int, Tuple[int, int[2]]) -> int\n    return x",
            "Unknown type constructor int",
        ),
        ("def f(x: Tuple[int, int][int]):\n    return x", "Subscripted type must be a type identifier"),
        ("def f(x: Tuple[(int,)]):\n    return x", "Tuple literal in Tuple type annotation must not have"),
        ("def f():\n    for *a in [1]:\n        pass", "A Starred expression may only appear on the lhs"),
        ("def f(x: Future):\n    return 1", "Attempted to use Future without a contained type"),
        ("def f():\n    return id(2)", "Expected a value of type 'Optional.AnyClassType.' for argument 'x'"),
    ],
)
def test_texts_are_refused_in_pytorchs_words(text: str, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        torch.jit.CompilationUnit(text)


def test_a_schema_tells_of_each_argument() -> None:
    schema = torch.jit.CompilationUnit("def f(x, n: int=2) -> Tuple[Tensor, int]:\n    return x, n").f.schema
    assert str(schema) == "f(Tensor x, int n=2) -> ((Tensor, int))"
    x, n = schema.arguments
    assert (x.name, str(x.type), x.has_default_value()) == ("x", "Tensor", False)
    assert (n.default_value, n.kwarg_only) == (2, False)
    assert str(schema.returns[0].type) == "Tuple[Tensor, int]"
    assert isinstance(schema, torch._C.FunctionSchema) and schema.arguments[0].alias_info is None
    assert isinstance(torch.ops.aten.add.Tensor._schema, torch._C.FunctionSchema)


def test_traced_values_have_the_names_of_variables_and_tuples_tell_their_parts() -> None:
    def f(bar: torch.Tensor) -> Any:
        quick = bar + 1
        return quick.neg(), quick

    text = str(torch.jit.trace(f, torch.ones(2)).graph)
    known = "Float(2, strides=[1], requires_grad=0, device=cpu)"
    assert (
        f"%quick.1 : {known} = aten::add" in text and f": ({known}, {known}) = prim::TupleConstruct" in text
    )


def test_trees_are_shown_as_pytorch_shows_them() -> None:
    def f(x):
        return not x[1:] or -x

    tree = torch.jit.frontend.get_jit_def(f, "g")
    assert (
        str(tree).split()
        == (
            "(def (ident g) (decl (list (param (ident x) (option) (option) (False))) (option)) (list (return (or "
            "(not (subscript (variable (ident x)) (list (slice expr (option (const 1)) (option) (option))))) "
            "(unary minus (variable (ident x)))))))"
        ).split()
    )
    assert str(tree.range()).startswith("SourceRange at:\n")


def test_trees_of_class_methods_and_texts_and_what_has_none() -> None:
    def made(cls, x):
        return f"a{x}", {k: k << 1 for k in x}

    def otherwise(x):
        for _ in x:
            pass
        else:
            x = 1

    text = "".join(str(torch.jit.frontend.get_jit_def(made, "made", "Pair", is_classmethod=True)).split())
    assert "(assign(list(variable(identcls)))(option(variable(identPair)))(option))" in text
    assert "(apply(.(string_literala{})(identformat))(list(variable(identx)))(list))" in text
    assert "(dictcomprehension(variable(identk))(<<(variable(identk))(const1))" in text
    for function, told in (
        (otherwise, "else branches of for loops aren't supported"),
        (takes_any, "Compiled functions can't take variable number of arguments"),
    ):
        with pytest.raises(torch.jit.frontend.NotSupportedError, match=told):
            torch.jit.frontend.get_jit_def(function, "f")


def takes_any(*args):
    return args


def test_graphs_are_run_and_named() -> None:
    graph = torch._C.parse_ir(
        "graph(%a : Tensor, %b : Tensor):\n  %c : Tensor = aten::mul(%a, %b)\n  return (%c)"
    )
    two = torch.full((2,), 2.0)
    assert torch._C._jit_interpret_graph(graph, (two, two)).tolist() == [4.0, 4.0]
    unit = torch._C.CompilationUnit()
    assert unit.create_function("product", graph).qualified_name == "product"
    assert unit.product(two, two).tolist() == [4.0, 4.0] and unit.find_function("sum") is None
    assert unit.create_function("of.two", graph) is unit.find_function("of.two")
    assert torch._C._jit_get_operation("aten::of_nothing") == (None, None)
    addmm = torch.jit.CompilationUnit("def f(a, b, c):\n    return a.addmm(b, c)").f
    torch._C._jit_pass_decompose_ops(addmm.graph)
    assert "aten::mm(" in str(addmm.graph) and addmm(*[torch.ones(1, 1)] * 3).item() == 2.0


def test_ops_that_are_examples() -> None:
    ops = torch.ops._test
    assert ops.leaky_relu(torch.tensor([-1.0])).item() == pytest.approx(-0.01)
    assert ops.get_first([["a"], ["b"]]) == "a" and ops.cat([torch.ones(1), torch.ones(1)]).shape == (2,)
    with pytest.raises(RuntimeError, match="Unknown keyword argument 'foo' for operator '_test::leaky_relu'"):
        ops.leaky_relu(torch.ones(1), foo=1)
    with pytest.raises(RuntimeError, match="expected at most 2 argument"):
        ops.leaky_relu(torch.ones(1), 1.0, 2.0)


def test_dataclasses_are_compared() -> None:
    @torch.jit.script
    @dataclasses.dataclass(order=True)
    class Size:
        x: int
        y: float | None = None
        z: int = dataclasses.field(default=3, compare=False)

    @torch.jit.script
    def compared(a: int, b: int):
        one, two, three = Size(a, 1.0), Size(b, 2.0), Size(a, 1.0, 9)
        return one == two, one == three, one < two, one <= three, one > two, Size(1) == Size(1, 2.0)

    assert compared(1, 2) == (False, True, True, True, False, False)
    assert compared(2, 1) == (False, True, False, True, True, False)
