"""Exported programs: assertions, slices with symbolic ends, and what strict export puts back."""

from __future__ import annotations

import operator
from typing import Any

import pytest

import rushlight as torch
from rushlight._export import wrappers
from rushlight.export import Dim, export

SEEN: list[Any] = []


def _deferred(model: torch.nn.Module) -> Any:
    shapes = {"x": (Dim("dx"),), "y": (Dim("dy"),)}
    given = torch.randn(5), torch.randn(3)
    return export(model, given, dynamic_shapes=shapes, prefer_deferred_runtime_asserts_over_guards=True)


def test_assertions_share_what_they_compute_and_stay() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            far = x.shape[0] ** 2 - y.shape[0] ** 2
            if far >= 4 and x.shape[0] ** 2 - y.shape[0] ** 2 <= 20:
                return x * 2, y * 2
            return None

    program = _deferred(Model())
    for made in (program, program.run_decompositions()):
        targets = [n.target for n in made.graph.nodes]
        assert targets.count(operator.pow) == 2 and sum("sym_size" in str(t) for t in targets) == 2
        with pytest.raises(RuntimeError, match="Runtime assertion failed for expression"):
            made.module()(torch.randn(9), torch.randn(3))
    with torch._dynamo.config.patch(do_not_emit_runtime_asserts=True):
        made = _deferred(Model()).run_decompositions()
    assert not any("_assert_scalar" in str(n.target) for n in made.graph.nodes)
    with pytest.raises(AssertionError, match="Guard failed"):
        made.module()(torch.randn(9), torch.randn(3))


def test_full_slices_beside_symbolic_ends_are_not_told() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            n = y.shape[0] - 1
            return x[:, :n], x[n:], x[:, 1, :]

    free = (Dim.DYNAMIC, Dim.DYNAMIC)
    x, y = torch.arange(24.0).view(4, 6), torch.ones(3, 2)
    program = export(Model(), (x[:, :, None].expand(4, 6, 2), y), dynamic_shapes=((*free, None), free))
    told = [n.args[1:3] for n in program.graph.nodes if "slice" in str(n.target)]
    assert told[0] == (1, None) and len(told) == 3
    other = torch.randn(5, 7, 2), torch.ones(5, 3)
    for found, wanted in zip(program.module()(*other), Model()(*other), strict=True):
        assert found.equal(wanted)


def test_assert_async_is_an_op_of_the_program() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            torch._assert_async(x.sum() > 0, "not above zero")
            torch.ops.aten._assert_async.msg(torch.tensor(True), "never")
            return x + 1

    program = export(Model(), (torch.ones(2),)).run_decompositions()
    assert sum("_assert_async" in str(n.target) for n in program.graph.nodes) == 2
    assert program.module()(torch.ones(2)).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="not above zero"):
        program.module()(-torch.ones(2))


def test_strict_export_puts_back_what_the_program_changes() -> None:
    class Bank:
        def __init__(self) -> None:
            self.kept: dict[str, Any] = {"before": 1}

    bank = Bank()

    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            SEEN.append(x + 1)
            bank.kept["x"] = x + 2
            return x * 2

    with pytest.warns(UserWarning, match=r"cell_contents\.kept\", \"G\['SEEN'\]\"|certain side effects"):
        export(Model(), (torch.ones(2),), strict=True)
    assert SEEN == [] and bank.kept == {"before": 1}


def test_names_of_innards() -> None:
    mark = wrappers.mark_subclass_constructor_exportable_experimental
    with pytest.raises(RuntimeError, match="on fn which is not supported"):

        @mark
        def fn() -> None:
            pass

    every = torch._C._dispatch_get_registrations_for_dispatch_key("")
    assert {"aten::add.Tensor", "aten::sin"} <= {*every}
    assert 0 < len(torch._C._dispatch_get_registrations_for_dispatch_key("CPU")) < len(every)
