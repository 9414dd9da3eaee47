"""Passes leave what a program gives as it is: random numbers, lists that others write to, sums that are no layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import rushlight as torch
from rushlight.testing import FileCheck

C: Any = torch._C


def after(function: Any, *passes: str) -> Callable[..., Any]:
    """What a function is once passes went over its program."""
    graph = torch.jit.script(function).graph.copy()
    for name in passes:
        getattr(C, "_jit_pass_" + name)(graph)
    made: Callable[..., Any] = C._create_function_from_graph("made", graph)
    return made


class Dropping(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(1, 4, 6))

    def forward(self) -> list[torch.Tensor]:
        w = self.w
        return [
            torch.alpha_dropout(w.expand(9, 4, 6), 0.5, True),
            torch.feature_alpha_dropout(w.expand(40, 4, 6), 0.5, True),
            torch.feature_dropout(w.expand(40, 4, 6), 0.5, True),
            torch.native_dropout(w.expand(9, 4, 6), 0.5, True)[0],
            torch.nn.functional.scaled_dot_product_attention(w, w, w, dropout_p=0.5),
        ]


def test_frozen_layers_that_drop_draw_every_time() -> None:
    frozen = torch.jit.freeze(torch.jit.script(Dropping().eval()))
    for one, other in zip(frozen(), frozen(), strict=True):
        assert not one.equal(other)


def test_two_draws_stay_two() -> None:
    def f(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.alpha_dropout(x, 0.5, True) + 1, torch.alpha_dropout(x, 0.5, True) + 1

    one, other = after(f, "cse", "constant_propagation")(torch.ones(60))
    assert not one.equal(other)


def add_to(a: list[int]) -> None:
    a.append(1)


@pytest.mark.parametrize("name", ["peephole", "constant_propagation", "cse"])
def test_a_called_function_may_write_to_what_it_gets(name: str) -> None:
    def f(x: int) -> tuple[int, int]:
        a = [x, 2]
        before = len(a)
        add_to(a)
        return before, len(a)

    assert after(f, name)(4) == (2, 3)


def test_lists_that_passes_made_are_written_to_later() -> None:
    def f(x: int) -> tuple[int, int]:
        c = [x] + [2]
        c.append(3)
        d = [x, 1, 2][0:2]
        d.append(5)
        return len(c), len(d)

    assert after(f, "peephole")(1) == (3, 3)


def test_rounding_by_one_stays() -> None:
    def f(x: float, y: torch.Tensor) -> tuple[float, torch.Tensor, torch.Tensor]:
        return x // 1, torch.div(y, 1, rounding_mode="floor") * 2, (y // 1) * 2

    found = after(f, "peephole")(2.5, torch.tensor([1.5]))
    assert found[0] == 2.0
    assert found[1].tolist() == found[2].tolist() == [2.0]


def test_a_linear_layer_is_neither_scaled_nor_of_a_matrix() -> None:
    def f(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> list[torch.Tensor]:
        return [
            torch.matmul(x, w.t()).add(b, alpha=2),
            torch.addmm(b, x, w.t(), beta=2),
            torch.matmul(x, w.t()) + 3,
            torch.addmm(b, x, w.t()),
        ]

    graph = torch.jit.script(f).graph.copy()
    C._jit_pass_fuse_linear(graph)
    FileCheck().check_count("aten::linear", 3, exactly=True).check_not("matmul").run(graph)
    x, w, b = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5)
    made = C._create_function_from_graph("made", graph)
    for one, other in zip(made(x, w, b), f(x, w, b), strict=True):
        torch.testing.assert_close(one, other)


def test_a_replacement_may_hold_its_pattern() -> None:
    graph = C.parse_ir("graph(%x):\n  %a = aten::relu(%x)\n  %b = aten::relu(%a)\n  return (%b)")
    C._jit_pass_custom_pattern_based_rewrite_graph(
        "graph(%x):\n  %r = aten::relu(%x)\n  return (%r)",
        "graph(%x):\n  %r = aten::relu(%x)\n  %s = aten::neg(%r)\n  return (%s)",
        graph,
    )
    FileCheck().check("relu").check("neg").check("relu").check("neg").check_not("relu").run(graph)


def test_products_of_a_chain_stay_apart() -> None:
    def f(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        h = x
        h = torch.tanh(torch.mm(w, h))
        h = torch.tanh(torch.mm(w, h))
        h = torch.tanh(torch.mm(w, h))
        h = torch.tanh(torch.mm(w, h))
        h = torch.tanh(torch.mm(w, h))
        h = torch.tanh(torch.mm(w, h))
        h = torch.tanh(torch.mm(w, h))
        return torch.tanh(torch.mm(w, h))

    w, x = torch.randn(3, 3), torch.randn(3, 3)
    torch.testing.assert_close(after(f, "batch_mm")(w, x), f(w, x))


def test_relu_of_a_sum_writes_where_it_wrote() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        z = torch.relu(torch.add(x, y))
        return z, torch.relu(x.add_(y)), x

    found = after(f, "fuse_add_relu")(torch.tensor([-3.0, 1.0]), torch.ones(2))
    assert [t.tolist() for t in found] == [[0.0, 2.0], [0.0, 2.0], [-2.0, 2.0]]

    def g(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu_(torch.add(x, y, out=x))

    x = torch.tensor([-3.0, 1.0])
    assert after(g, "fuse_add_relu")(x, torch.ones(2)).tolist() == x.tolist() == [0.0, 2.0]


class One(NamedTuple):
    a: int


class Other(NamedTuple):
    b: int


def test_tuples_of_two_names_stay_two() -> None:
    def f(x: int) -> tuple[One, Other]:
        return One(x), Other(x)

    one, other = after(f, "cse")(3)
    assert (one.a, other.b) == (3, 3)


def test_what_is_switched_on_is_asked_again() -> None:
    def f() -> tuple[bool, bool]:
        before = torch.is_grad_enabled()
        with torch.no_grad():
            inside = torch.is_grad_enabled()
        return before, inside

    assert after(f, "cse")() == (True, False)


def test_finding_shapes_draws_no_numbers() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.randn([2, 3]) + x

    graph = torch.jit.script(f).graph.copy()
    before = torch.get_rng_state()
    C._jit_pass_complete_shape_analysis(graph, (torch.ones(2, 3),), False)
    FileCheck().check("Float(2, 3").run(graph)
    assert torch.get_rng_state().equal(before)
