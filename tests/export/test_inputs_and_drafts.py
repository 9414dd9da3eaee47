"""Dataclasses as inputs, sizes told by inputs, tables of decompositions, drafts, and programs as modules again."""

from __future__ import annotations

import dataclasses

import pytest

import rushlight as torch
from rushlight import export as ex, nn
from rushlight.export import Dim, export, unflatten
from rushlight.export._draft_export import FailureType


@dataclasses.dataclass
class Sample:
    a: torch.Tensor
    b: torch.Tensor
    k: int


ex.register_dataclass(Sample, serialized_type_name="tests.export.Sample")


class Twice(nn.Module):
    """A layer that is called twice, and a Sequential."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)
        self.seq = nn.Sequential(nn.Linear(3, 4), nn.ReLU())

    def forward(self, x):
        y = self.l(x.a)
        y = self.l(y.relu()) + x.b * x.k
        return self.seq(y)


def sample(n=2):
    return Sample(torch.randn(n, 3), torch.randn(n, 3), 2)


def test_fields_of_a_dataclass_are_inputs():
    mod, x = Twice(), sample()
    ep = export(mod, (x,))
    assert ep.graph_signature.user_inputs == ("x_a", "x_b", 2)
    assert torch.equal(ep.module()(x), mod(x))


def test_a_collection_says_sizes_by_tensor():
    mod, x = Twice(), sample()
    shapes = ex.ShapesCollection()
    shapes[x.a] = {0: Dim.DYNAMIC}
    shapes[x.b] = {0: Dim.DYNAMIC}
    assert len(shapes) == 2
    assert shapes.dynamic_shapes(mod, (x,)) == {"x": [{0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}, None]}
    ep = export(mod, (x,), dynamic_shapes=shapes)
    assert len(ep.range_constraints) == 1  # the two are one size, since they are added
    other = sample(7)
    assert torch.equal(ep.module()(other), mod(other))
    with pytest.raises(AssertionError, match="do not match"):
        shapes[x.a] = {1: Dim.DYNAMIC}
    with pytest.raises(AssertionError, match="non-tensor"):
        shapes[3] = {}
    with pytest.raises(ValueError, match="not found in args"):
        shapes.dynamic_shapes(mod, (sample(),))


def test_more_inputs_say_which_sizes_change():
    mod, x = Twice(), sample()
    more = ex.AdditionalInputs()
    more.add((sample(5),))
    d = Dim.DYNAMIC
    assert more.dynamic_shapes(mod, (x,)) == {"x": [(d, None), (d, None), None]}
    ep = export(mod, (x,), dynamic_shapes=more)
    other = sample(9)
    assert torch.equal(ep.module()(other), mod(other))
    more.add((Sample(torch.randn(5, 3), torch.randn(5, 3), "two"),))
    with pytest.raises(ValueError, match="differing types"):
        more.dynamic_shapes(mod, (x,))
    with pytest.raises(AssertionError, match="must be a tuple"):
        more.add([x])


def test_a_table_of_decompositions():
    class Norm(nn.Module):
        def forward(self, x):
            return nn.functional.layer_norm(x, (3,)).relu()

    x, aten = torch.randn(2, 3), torch.ops.aten
    ep = export(Norm(), (x,))
    table = ex.default_decompositions()
    assert isinstance(table, ex.CustomDecompTable)
    assert aten.linear.default in table and aten.layer_norm.default in table
    assert aten.relu.default not in table
    assert aten.layer_norm.default not in [n.target for n in ep.run_decompositions(table).graph.nodes]
    del table[aten.layer_norm.default]
    assert aten.layer_norm.default in [n.target for n in ep.run_decompositions(table).graph.nodes]
    table[aten.relu.default] = lambda x: torch.clamp(x, min=0)
    smaller = ep.run_decompositions(table)
    targets = [n.target for n in smaller.graph.nodes if n.op == "call_function"]
    assert targets == [aten.layer_norm.default, aten.clamp.default]
    assert torch.equal(smaller.module()(x), Norm()(x))
    kept = table.copy()
    kept.pop(aten.relu.default)
    assert aten.relu.default in table and aten.relu.default not in kept


def test_a_draft_is_made_where_export_refuses():
    class Branch(nn.Module):
        def forward(self, x):
            return x * 2 if x.sum() > 0 else x

    x = torch.ones(3)
    ep = ex.draft_export(Branch(), (x,))
    assert torch.equal(ep.module()(x), x * 2)
    assert not ep._report.successful()
    assert ep._report.failures[0].failure_type is FailureType.DATA_DEPENDENT_ERROR
    assert "x.sum() > 0" in str(ep._report)

    class Sized(nn.Module):
        def forward(self, x):
            return x * 2 if x.shape[0] > 3 else x

    draft = ex.draft_export(Sized(), (torch.ones(3),), dynamic_shapes=({0: Dim("n")},))
    assert [f.failure_type for f in draft._report.failures] == [FailureType.GUARD_ADDED]
    assert str(draft.range_constraints) == "{s77: VR[2, 3]}"
    assert ex.draft_export(nn.ReLU(), (x,))._report.successful()


def test_unflattened_programs_have_their_submodules():
    mod, x = Twice(), sample()
    ep = export(mod, (x,))
    found = unflatten(ep)
    assert isinstance(found, ex.UnflattenedModule)
    assert [name for name, _ in found.named_modules()] == ["", "l", "seq", "seq.0", "seq.1"]
    assert [entry.fqn for entry in ep.module_call_graph] == ["", "l", "seq", "seq.0", "seq.1"]
    assert ep.module_call_graph[0].signature.forward_arg_names == ["x"]
    assert torch.equal(found(x), mod(x))
    assert found.state_dict().keys() == mod.state_dict().keys()
    assert str(found.l.graph) == (
        "graph():\n"
        "    %x_a : [num_users=1] = placeholder[target=x_a]\n"
        "    %weight : [num_users=1] = get_attr[target=weight]\n"
        "    %bias : [num_users=1] = get_attr[target=bias]\n"
        "    %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default]"
        "(args = (%x_a, %weight, %bias), kwargs = {})\n"
        "    return linear"
    )
    assert [n.target for n in found.graph.nodes if n.op == "call_module"] == ["l", "l", "seq"]
    before = mod(x)
    with torch.no_grad():
        found.l.weight.zero_()
    assert torch.equal(mod(x), before)  # it has parameters of its own
    with pytest.raises(TypeError, match="no flat args adapter"):
        found(x.a)
    found(x).sum().backward()
    assert found.seq.get_submodule("0").weight.grad is not None


def test_unflattened_programs_run_what_modules_do():
    class Head(nn.Module):
        def __init__(self, shared):
            super().__init__()
            self.shared, self.norm = shared, nn.BatchNorm1d(3)
            self.register_buffer("step", torch.zeros(()), persistent=False)

        def forward(self, x, more):
            self.step.add_(1)
            return self.norm(self.shared(x)), more * self.step

    class Tree(nn.Module):
        def __init__(self):
            super().__init__()
            self.shared = nn.Linear(3, 3)
            self.heads = nn.ModuleList([Head(self.shared), Head(self.shared)])

        def forward(self, x, more=None):
            for head in self.heads:
                x, more = head(x, more)
            return {"x": x.sin(), "more": more}

    mod = Tree().eval()
    x, more = torch.randn(4, 3), torch.randn(4)
    found = unflatten(export(mod, (x,), {"more": more}))
    wanted = mod(x, more=more)
    for head in mod.heads:
        head.step.zero_()
    given = found(x, more=more)
    assert given.keys() == wanted.keys()
    assert all(torch.equal(given[key], wanted[key]) for key in wanted)
    assert found.state_dict().keys() == export(mod, (x,), {"more": more}).state_dict.keys()


def test_an_adapter_takes_other_structures():
    class ToSample(ex.FlatArgsAdapter):
        def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
            return [*input_args, 2]

    mod, x = Twice(), sample()
    found = unflatten(export(mod, (x,)), ToSample())
    assert torch.equal(found(x.a, x.b), mod(x))
    with pytest.raises(TypeError, match="Flat args adapter failed"):
        found(x.a)


def test_drafts_tell_of_fake_functions_that_are_missing_or_wrong() -> None:
    with torch.library._scoped_library("drafted", "FRAGMENT"):

        @torch.library.custom_op("drafted::bare", mutates_args={})
        def bare(x: torch.Tensor) -> torch.Tensor:
            return x + 1

        @torch.library.custom_op("drafted::wrong", mutates_args={})
        def wrong(x: torch.Tensor) -> list[torch.Tensor]:
            return [x * 2, x.repeat(2, 2), x.to(torch.bfloat16)]

        wrong.register_fake(lambda x: [torch.empty_like(x) for _ in range(3)])

        class Both(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
                found: list[torch.Tensor] = torch.ops.drafted.wrong(torch.ops.drafted.bare(bare(x)))
                return found

        x = torch.randn(3, 3)
        draft = torch.export.draft_export(Both(), (x,))
        assert [f.failure_type.name for f in draft._report.failures] == [
            "MISSING_FAKE_KERNEL",
            "MISMATCHED_FAKE_KERNEL",
            "MISMATCHED_FAKE_KERNEL",
        ]
        assert [f.data.get("reason") for f in draft._report.failures] == [
            None,
            "mismatch between fake value 3 and real value 6 ",
            "Dtypes torch.bfloat16 and torch.float32 are not equal!",
        ]
        assert "drafted.bare.default is missing a fake kernel" in str(draft._report)
        assert draft.module()(x)[1].shape == (6, 6)
