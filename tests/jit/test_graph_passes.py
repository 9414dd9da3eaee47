"""Graphs that are built, read from text and changed by passes; what is found out about their tensors."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight.testing import FileCheck

C: Any = torch._C


def test_parse_ir_reads_what_a_graph_prints() -> None:
    @torch.jit.script
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        for i in range(n):
            x = x + i
        while n > 0:
            x, n = x * 2, n - 1
        return x

    made = C._create_function_from_graph("f", C.parse_ir(str(f.graph)))
    assert made(torch.ones(2), 3).equal(f(torch.ones(2), 3))
    text = "graph(%0 : Double(5, *)):\n  %1 : Tensor = aten::relu(%0)\n  return (%1)"
    assert "%0 : Double(5, *)" in str(C.parse_ir(text))
    with pytest.raises(RuntimeError, match="variable with name 'a'"):
        C.parse_ir("graph():\n  return (%a)")


def test_shapes_are_numbers_or_symbols() -> None:
    @torch.jit.script
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * y

    one, other = f.graph.inputs()
    a, b = C._new_symbolic_shape_symbol(), C._new_symbolic_shape_symbol()
    one.setType(one.type().with_sizes([a, 1, 3]))
    other.setType(other.type().with_sizes([1, b, 3]))
    C._jit_pass_propagate_shapes_on_graph(f.graph)
    assert next(f.graph.outputs()).type().symbolic_sizes() == [a, b, 3]


def test_complete_shape_analysis() -> None:
    @torch.jit.script
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

    args = torch.randn(3, 1, 5, requires_grad=True), torch.randn(4, 1, 8, 5, requires_grad=True)
    C._jit_pass_complete_shape_analysis(f.graph, args, False)
    assert "Float(4, 3, 8, 5, strides=[120, 40, 5, 1], device=cpu)" in str(f.graph)


def test_devices_follow() -> None:
    @torch.jit.script
    def f(x: torch.Tensor, c: bool) -> torch.Tensor:
        return x.cuda() if c else x + 1

    value = next(f.graph.inputs())
    value.setType(value.type().with_device(torch.device("cuda")))
    C._jit_pass_propagate_device(f.graph)
    assert next(f.graph.outputs()).type().device().type == "cuda"


def test_patterns_are_rewritten() -> None:
    graph = C.parse_ir(
        "graph(%x, %y, %z):\n  %t = aten::mul(%x, %y)\n  %p = aten::mul(%t, %z)\n  return (%p)"
    )
    C._jit_pass_custom_pattern_based_rewrite_graph(
        "graph(%a, %b, %c):\n  %q = aten::mul(%a, %b)\n  %r = aten::mul(%q, %c)\n  return (%r)",
        "graph(%a, %b, %c):\n  %r = my::fused(%a, %b, %c)\n  return (%r)",
        graph,
    )
    FileCheck().check_not("aten::mul").check("my::fused(%x, %y, %z)").run(graph)


def test_writing_is_taken_out_where_nobody_sees_it() -> None:
    @torch.jit.script
    def f() -> tuple[torch.Tensor, list[int]]:
        x = torch.tensor([2, 2])
        x.add_(1)
        n = [1, 2]
        n.append(3)
        return x, n

    C._jit_pass_remove_mutation(f.graph)
    FileCheck().check_not("add_").check_not("append").run(f.graph)
    assert f()[0].tolist() == [3, 3]
    assert f()[1] == [1, 2, 3]


def test_a_list_that_is_written_to_is_no_constant() -> None:
    @torch.jit.script
    def f() -> list[int]:
        n = [1, 2, 3, 4]
        n[0] = n[0] - 1
        return n[0:2]

    C._jit_pass_constant_propagation(f.graph)
    assert f() == f() == [0, 2]


def test_loops_and_ifs_that_change_nothing() -> None:
    @torch.jit.script
    def f(n: int) -> int:
        a, b = 1, 2
        for i in range(n):
            if i == 1 and 1 == 2:
                b = 10
            a = a + i
        return a + b

    C._jit_pass_constant_propagation(f.graph)
    assert f.graph.findNode("prim::Loop").outputsSize() == 1
    assert f(3) == 6


def test_small_things_are_said_shorter() -> None:
    @torch.jit.script
    def f(x: torch.Tensor, n: int) -> tuple[int, torch.Tensor, int, bool]:
        d = {"a": n}
        return len([x, x]), [x, x + 1][1], d["a"] + 2 - 2, n == 1 and True

    C._jit_pass_peephole(f.graph)
    FileCheck().check_not("DictConstruct").check_not("ListConstruct").check_not("prim::If").run(f.graph)
    assert f(torch.ones(1), 1)[2:] == (1, True)


def test_products_are_computed_together() -> None:
    @torch.jit.script
    def f(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.mm(a, b) + torch.mm(b, a) + torch.mm(a, a) + torch.mm(b, b)

    a, b = torch.randn(3, 3), torch.randn(3, 3)
    wanted = f(a, b)
    C._jit_pass_batch_mm(f.graph)
    FileCheck().check_count("prim::MMTreeReduce", 1, exactly=True).check_not("aten::mm").run(f.graph)
    torch.testing.assert_close(f(a, b), wanted)


def test_a_graph_is_built_by_hand() -> None:
    graph = C.Graph()
    x = graph.addInput("x")
    with graph.insert_point_guard(graph.return_node()):
        two = graph.insertConstant(2)
        total = graph.insert("aten::mul", [x, two])
    graph.registerOutput(total)
    made = C._create_function_from_graph("twice", graph)
    assert made(torch.ones(2)).tolist() == [2, 2]
    node = graph.findNode("aten::mul")
    C._jit_pass_dce(graph)
    assert node.matches("aten::mul(Tensor self, Scalar other) -> Tensor")


def test_what_shares_memory() -> None:
    graph = C.parse_ir(
        "graph(%a : Tensor):\n  %x : Tensor = aten::relu(%a)\n  %y : Tensor = aten::relu_(%x)\n  return (%y)"
    )
    aliases, nodes = graph.alias_db(), list(graph.nodes())
    assert aliases.may_contain_alias(nodes[0].output(), nodes[1].output())
    assert not aliases.has_writers(next(graph.inputs()))
    assert aliases.has_writers(nodes[0].output())
