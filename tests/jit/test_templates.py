"""Templates: functions that say how ops of TorchScript are spelled in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
from rushlight.jit.program import schema
from rushlight.jit.templates import SCOPE, Table, Template, of_tensors, plain

_ALL = [(kind, template) for table in (plain, of_tensors) for kind, template in table.templates.items()]


@pytest.mark.parametrize(("kind", "template"), _ALL, ids=lambda v: v if isinstance(v, str) else "")
def test_a_template_takes_the_arguments_of_its_op(kind: str, template: Template) -> None:
    op, _, overload = kind.partition(".")
    signatures = [s for s in schema.named(op) if overload in ("", s.overload)]
    try:
        takes = inspect.signature(template.function)
    except ValueError:  # of a builtin that does not say
        return
    for signature in signatures:
        specific = f"{op}.{signature.overload}"
        with_tensors = any(str(p.type) == "Tensor" for p in signature.parameters)
        table = of_tensors if with_tensors else plain
        if table.templates.get(specific, table.templates.get(op)) is not template:
            continue
        if not signature.variadic:
            takes.bind(*signature.parameters)


@pytest.mark.parametrize(("kind", "template"), _ALL, ids=lambda v: v if isinstance(v, str) else "")
def test_a_template_can_be_opened(kind: str, template: Template) -> None:
    function = template.function
    if inspect.isfunction(function):
        assert inspect.getsource(function)
        assert "return" in function.__annotations__


def _written(function: Callable[..., Any], *arguments: str) -> str:
    return Template(function).write(list(arguments), lambda found, name: name)


def test_what_stands_in_a_program_and_what_is_called() -> None:
    def added(x: int, y: int) -> int:
        return x + y

    def turned(x: int, y: int) -> int:
        return y - x

    def largest(x: int, *more: int) -> int:
        return max(x, *more)

    def own(x: Any) -> Any:
        return _written(x)

    def guarded(x: int, y: int) -> int:
        return x // (y or 1)

    def either(x: int, y: int) -> int:
        return x if x else y

    assert _written(added, "f()", "g()") == "(f() + g())"
    assert _written(turned, "a", "(-2)") == "((-2) - a)"
    assert _written(turned, "f()", "g()") == "turned(f(), g())"
    assert _written(largest, "a", "f()", "2") == "max(a, f(), 2)"
    assert _written(own, "a") == "own(a)"
    assert _written(guarded, "f()", "2") == "(f() // (2 or 1))"
    assert _written(guarded, "f()", "g()") == "guarded(f(), g())"
    assert _written(either, "a", "b") == "(a if a else b)"
    assert _written(either, "a", "g()") == "either(a, g())"
    assert set(SCOPE) == {"torch", "F", "math", "rt", "limits"}


def test_an_op_has_one_template() -> None:
    table = Table()
    table("a", "prim::b")(abs)
    assert set(table.templates) == {"aten::a", "prim::b"}
    with pytest.raises(ValueError, match="aten::a has two templates"):
        table("aten::a")(abs)


@torch.jit.script
def containers(d: dict[str, int], numbers: list[int]) -> tuple[list[int], int, int]:
    found = [d.pop("a"), d.get("none", 3), d.setdefault("b", 4), d.pop("none", 5)]
    found.append(numbers.pop())
    found.append(numbers.pop(0))
    known = d.get("b")
    assert known is not None
    return found, known, numbers.count(2)


def test_containers() -> None:
    assert containers({"a": 1}, [7, 2, 2, 8]) == ([1, 3, 4, 5, 8, 7], 4, 2)


@torch.jit.script
def texts(text: str) -> tuple[int, int, bool, bool, int, list[str]]:
    return (
        text.count("a"),
        text.find("a", 1),
        text.startswith("b", 1),
        text.endswith("a", 0, 3),
        text.find("x"),
        text.split("b"),
    )


def test_searches_go_to_the_end() -> None:
    assert texts("abaca") == (3, 2, True, True, -1, ["a", "aca"])


@torch.jit.script
def of_one_tensor(x: torch.Tensor) -> tuple[list[int], int, bool]:
    return x.stride(), x.stride(1), x.is_contiguous(memory_format=torch.channels_last)


def test_strides() -> None:
    x = torch.ones(2, 3, 4, 5)
    assert of_one_tensor(x) == ([60, 20, 5, 1], 20, False)
    assert of_one_tensor(x.to(memory_format=torch.channels_last)) == ([60, 1, 15, 3], 1, True)


@torch.jit.script
def drawn() -> torch.Tensor:
    first, second = torch.rand(4).unsafe_chunk(2)
    return torch.cat([first, second])


def test_an_argument_is_evaluated_once() -> None:
    torch.manual_seed(0)
    found = drawn()
    state = torch.rand(1)
    torch.manual_seed(0)
    assert torch.equal(found, torch.rand(4)) and torch.equal(state, torch.rand(1))


@torch.jit.script
def renormed(weight: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    return torch.embedding_renorm_(weight, indices, 1.0, 2.0)


def test_rows_are_scaled_in_place() -> None:
    weight = torch.full((3, 4), 2.0)
    assert renormed(weight, torch.tensor([0, 2])) is weight
    torch.testing.assert_close(weight.norm(dim=1), torch.tensor([1.0, 4.0, 1.0]), atol=1e-5, rtol=0)
