"""Passes over exported programs, and what modules that are made of programs keep."""

from __future__ import annotations

import operator

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._export.pass_base import _ExportPassBaseDeprecatedDoNotUse as ExportPass
from rushlight._export.utils import node_inline_, sequential_split
from rushlight.export import Dim, default_decompositions, export, unflatten
from rushlight.export.passes import move_to_device_pass
from rushlight.fx.traceback import annotate, preserve_node_meta

aten = torch.ops.aten


class Splits(nn.Module):
    def forward(self, x):
        one, other = torch.ops.aten.tensor_split.sections(torch.cat([x, x]), 2)
        return one + 1, other


def test_a_pass_runs_each_node():
    class Instead(ExportPass):
        def call_operator(self, op, args, kwargs, meta):
            return super().call_operator(aten.mul.Tensor if op == aten.add.Tensor else op, args, kwargs, meta)

    ep = export(Splits(), (torch.ones(3, 2),))
    same = ep._transform_do_not_use(ExportPass())
    assert [n.name for n in same.graph.nodes] == [n.name for n in ep.graph.nodes]
    other = ep._transform_do_not_use(Instead())
    assert other.graph_signature.user_outputs[0] == "mul"
    assert other.module()(torch.full((3, 2), 5.0))[0].tolist() == [[5.0, 5.0]] * 3


def test_parts_of_a_graph_and_back():
    gm = export(Splits(), (torch.ones(3, 2),)).module(check_guards=False)
    count = len(gm.graph.nodes)
    parts = sequential_split(gm, lambda node: node.target == aten.add.Tensor)
    calls = [n for n in parts.graph.nodes if n.op == "call_module"]
    assert len(calls) == 2
    for call in calls:
        node_inline_(call)
    assert len(parts.graph.nodes) == count
    assert parts(torch.ones(3, 2))[0].tolist() == [[2.0, 2.0]] * 3


def test_composite_ops_of_programs_are_taken_apart_by_the_table():
    with torch.library._scoped_library("tests_passes", "DEF") as lib:
        lib.define("sine(Tensor x) -> Tensor")
        lib.impl("sine", lambda x: x.sin(), "CompositeImplicitAutograd")
        op = torch.ops.tests_passes.sine.default

        class Uses(nn.Module):
            def forward(self, x):
                return torch.ops.tests_passes.sine(x)

        ep = export(Uses(), (torch.ones(2),))
        table = default_decompositions()
        assert table.pop(op) is not None
        with pytest.raises(KeyError, match="sine"):
            table.pop(op)
        called = [[n.target for n in e.graph.nodes][1] for e in (ep, ep.run_decompositions(table))]
        assert called == [op, op]
        assert [n.target for n in ep.run_decompositions().graph.nodes][1] == aten.sin.default


def test_bounds_of_sizes_that_hang_on_data():
    class Chosen(nn.Module):
        def forward(self, x):
            return torch.masked_select(x, x.ge(0.5))

    shapes = {"x": {0: Dim("a", max=10), 1: Dim("b", max=7)}}
    ep = export(Chosen(), (torch.rand(3, 4),), dynamic_shapes=shapes)
    assert max(found.upper for found in ep.range_constraints.values()) == 70


def test_what_a_tensor_is_converts_to_itself():
    class Writes(nn.Module):
        def forward(self, x):
            y = x.to("cpu")
            y.add_(1)
            return y

    x = torch.tensor(2)
    assert export(Writes(), (torch.tensor(1),)).module()(x) is x and x.item() == 3
    assert aten.to.dtype(x, x.dtype) is x


def test_modules_within_modules_that_are_called_on_their_own():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
            self.n.register_buffer("kept", torch.ones(2), persistent=False)

        def forward(self, x):
            return self.n(self.n[0](x)) + self.n.kept

    model, x = Outer(), torch.randn(1, 2)
    ep = export(model, (x,))
    torch.testing.assert_close(unflatten(ep)(x), model(x))
    assert "n.kept" not in ep.module().state_dict() and "n.kept" in dict(ep.module().named_buffers())


def test_programs_that_are_exported_again_keep_their_notes():
    class Noted(nn.Module):
        def forward(self, x):
            with annotate({"part": 1}):
                return x + 1

    with preserve_node_meta():
        ep = export(Noted(), (torch.ones(2),))
    again = export(ep.module(), (torch.ones(2),))
    node = next(n for n in again.graph.nodes if n.target == aten.add.Tensor)
    assert node.meta["custom"] == {"part": 1} and node.meta["from_node"][0].name == "add"


def test_moved_programs_are_as_they_were():
    ep = move_to_device_pass(export(nn.Linear(2, 2), (torch.ones(1, 2),)), "cpu")
    assert ep.module()(torch.ones(1, 2)).shape == (1, 2)


def test_scripts_are_not_exported():
    with pytest.raises(ValueError, match="Exporting a ScriptModule is not supported"):
        export(torch.jit.script(nn.ReLU()), (torch.ones(1),))


def test_what_a_conversion_relies_upon_stays_asserted():
    class Converts(nn.Module):
        def forward(self, x):
            return x.to("cpu")

    ep = export(Converts(), (torch.tensor(1),)).run_decompositions({})
    assert [n.target for n in ep.graph.nodes][1] == aten._assert_tensor_metadata.default


def test_an_item_is_there_once_and_before_its_uses():
    class Topmost(nn.Module):
        def forward(self, x):
            values, places = torch.topk(x, 2)
            return values + 1, places

    program = export(Topmost(), (torch.arange(3.0),))
    graph = program.graph
    item = next(n for n in graph.nodes if n.target is operator.getitem)
    add = next(n for n in graph.nodes if n.target == aten.add.Tensor)
    with graph.inserting_before(item):
        same = graph.call_function(operator.getitem, item.args)
        other = graph.call_function(aten.neg.default, (same,))
    add.args = (other, *add.args[1:])
    made = program._update(program.graph_module, program.graph_signature)
    made.graph.lint()
    items = [n for n in graph.nodes if n.target is operator.getitem]
    assert len({n.args for n in items}) == len(items)
    assert made.module()(torch.arange(3.0))[0].tolist() == [-1.0, 0.0]


def test_views_become_copies_and_switches_of_gradients_are_found() -> None:
    from rushlight._export.passes import (  # of what few programs need
        replace_set_grad_with_hop_pass as switches,
        replace_view_ops_with_view_copy_ops_pass as views,
    )
    from rushlight._export.utils import nodes_count, sequential_split

    class Views(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.view(-1).sin() + 1

    x = torch.ones(2, 2)
    copying = torch.export.export(Views(), (x,))._transform_do_not_use(
        views.ReplaceViewOpsWithViewCopyOpsPass()
    )
    assert "aten.view_copy.default" in [str(n.target) for n in copying.graph.nodes]
    assert copying.module()(x).equal(Views()(x))
    assert views.get_view_copy_of_view_op(torch.ops.aten.add.Tensor._schema) is None
    module = torch.export.export(Views(), (x,)).module()
    first = next(n for n in module.graph.nodes if n.op == "call_function")
    with module.graph.inserting_before(first):
        module.graph.call_function(torch._C._set_grad_enabled, (False,), {})
    split = sequential_split(module, switches._is_set_grad_enabled_node)
    assert nodes_count(split.graph.nodes, switches._is_set_grad_enabled_sub_mod) == 1
