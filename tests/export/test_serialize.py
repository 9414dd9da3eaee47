"""Exported programs as objects and bytes, their constructor and verifiers, and decompositions to core ops."""

from __future__ import annotations

import copy
import io
import tempfile

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._export.serde import schema
from rushlight._export.serde.serialize import (
    ExportedProgramDeserializer,
    ExportedProgramSerializer,
    SerializeError,
    canonicalize,
    deserialize,
    serialize,
)
from rushlight._export.verifier import SpecViolationError, Verifier
from rushlight.export import Dim, ExportedProgram, export, load, save
from rushlight.fx.graph_module import GraphModule


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)

    def forward(self, x, y):
        found = torch.cond(x.sum() > 0, lambda a: self.inner(a), lambda a: a - 1, (x,))
        return found, x.shape[0] + y.sum()


def targets(ep):
    return [str(n.target) for n in ep.graph.nodes if n.op == "call_function"]


def test_programs_with_branches_come_back():
    ep = export(Branches(), (torch.ones(4, 3), torch.ones(2)), dynamic_shapes=({0: Dim("rows")}, None))
    again = deserialize(serialize(ep))
    assert targets(again) == targets(ep)
    for x in (torch.ones(5, 3), -torch.ones(2, 3)):
        torch.testing.assert_close(again.module()(x, torch.ones(2)), ep.module()(x, torch.ones(2)))
    add = next(n for n in again.graph.nodes if n.name == "add")
    own = next(n for n in ep.graph.nodes if n.name == "add")
    assert add.meta["nn_module_stack"] == own.meta["nn_module_stack"]
    assert add.meta["stack_trace"] == own.meta["stack_trace"]


def test_objects_tell_what_files_hold():
    ep = export(Branches(), (torch.ones(4, 3), torch.ones(2)))
    told = ExportedProgramSerializer().serialize(ep)
    node = next(n for n in told.exported_program.graph_module.graph.nodes if "cond" in n.target)
    assert node.inputs[1].arg.type == "as_graph" and node.inputs[1].arg.value.name == "true_graph_0"
    with pytest.raises(AttributeError):
        _ = node.inputs[1].arg.as_int
    one = canonicalize(told.exported_program)
    assert one == canonicalize(one)
    told.exported_program.schema_version.major = -1
    with pytest.raises(SerializeError, match="does not match our current"):
        ExportedProgramDeserializer().deserialize(
            told.exported_program, told.state_dict, told.constants, told.example_inputs
        )
    assert schema.Argument.create(as_int=1) == schema.Argument.create(as_int=1)


def test_a_graph_within_a_loop_bears_its_own_name():
    class Nested(nn.Module):
        def forward(self, x):
            def body(c, a):
                return torch.cond(c.sum() > 0, lambda v: v + 1, lambda v: v - 1, (c,)), a * 2

            return torch._higher_order_ops.scan(body, x[0], x)

    ep = export(Nested(), (torch.ones(3, 2),))
    outer = ep.graph_module.scan_combine_graph_0
    assert type(outer).__name__ == "scan_combine_graph_0" and hasattr(outer, "true_graph_0")


def test_a_program_is_made_of_its_parts():
    ep = export(nn.Linear(3, 2), (torch.ones(4, 3),), dynamic_shapes=({0: Dim("rows")},))
    parts = (ep.graph_signature, ep.state_dict, ep.range_constraints, ep.module_call_graph)
    made = ExportedProgram(GraphModule(ep.graph_module, ep.graph), ep.graph, *parts, ep.example_inputs)
    assert made.module()(torch.ones(5, 3)).shape == (5, 2) and made.verifier is Verifier
    assert ep.dialect == "TRAINING" and ep.run_decompositions().dialect == "ATEN"
    del ep.state_dict["bias"]
    with pytest.raises(SpecViolationError, match="not in the state dict"):
        ep.validate()


def test_verifiers_of_dialects():
    class Only(Verifier):
        dialect = "ONLY"

        def check_valid_op(self, op):
            if "add" in str(op):
                raise SpecViolationError(f"{op} is not for this")

    with pytest.raises(SyntaxError):
        type("Bad", (Verifier,), {"dialect": "BAD", "check": None})
    ep = export(Branches(), (torch.ones(4, 3), torch.ones(2)))
    Verifier().check(ep)
    with pytest.raises(SpecViolationError, match="not for this"):
        Only().check(ep)


def test_programs_own_ops_are_nodes():
    @torch.library.custom_op("tests_export::twice", mutates_args=())
    def twice(x: torch.Tensor, n: int = 2) -> torch.Tensor:
        return x * n

    class Uses(nn.Module):
        def forward(self, x):
            return twice(x) + torch.ops.tests_export.twice(x, n=3)

    ep = export(Uses(), (torch.ones(2),))
    own = torch.ops.tests_export.twice.default
    nodes = [n for n in ep.graph.nodes if n.target == own]
    assert len(nodes) == 2 and nodes[1].args[1] == 3 and isinstance(own, torch._ops.OpOverload)
    file = io.BytesIO()
    save(ep.run_decompositions(), file)
    again = load(file)
    assert targets(again).count("tests_export.twice.default") == 2
    assert again.module()(torch.ones(2)).tolist() == [5.0, 5.0]


def test_decomposed_programs_have_core_ops():
    class Many(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.norm, self.bn = nn.Linear(4, 4), nn.LayerNorm(4), nn.BatchNorm2d(1)

        def forward(self, x):
            y = self.norm(self.linear(x)).softmax(-1)
            z = nn.functional.max_pool2d(self.bn(x[None, None]), 2)
            return nn.functional.silu(y), z, torch.stack([x, x]), x.std(0), x.split(1), x.var_mean(0)

    model = Many().eval()
    x = torch.randn(2, 4)
    ep = export(model, (x,))
    core = ep.run_decompositions()
    told = {t.split(".")[1] for t in targets(core) if t.startswith("aten")}
    assert {"addmm", "permute", "native_layer_norm", "_softmax", "sigmoid", "split_with_sizes"} <= told
    assert {"_native_batch_norm_legit_no_training", "max_pool2d_with_indices", "cat", "var_mean"} <= told
    assert not any("rushlight" in t for t in targets(core))
    torch.testing.assert_close(core.module()(x), model(x))
    assert "linear" in {t.split(".")[1] for t in targets(ep.run_decompositions({})) if "." in t}


def test_notes_go_through_decompositions():
    ep = export(nn.Sequential(nn.Linear(2, 2)), (torch.ones(1, 2),))
    gm = copy.deepcopy(ep.graph_module)
    gm.meta["custom"] = {"of": "all"}
    for node in gm.graph.nodes:
        if node.op == "call_function":
            node.meta["custom"] = {"tag": 1}
    noted = ep._update(gm, ep.graph_signature).run_decompositions()
    nodes = [n for n in noted.graph.nodes if n.op == "call_function"]
    assert len(nodes) > 1 and all(n.meta["custom"] == {"tag": 1} for n in nodes)
    assert all("nn_module_stack" in n.meta and n.meta["from_node"] for n in nodes)
    again = deserialize(serialize(noted))
    assert again.graph_module.meta["custom"] == {"of": "all"}
    assert [n.meta.get("custom") for n in again.graph.nodes] == [
        n.meta.get("custom") for n in noted.graph.nodes
    ]


def test_views_of_one_memory_stay_such(tmp_path):
    class Views(nn.Module):
        def __init__(self):
            super().__init__()
            self.whole = torch.ones(3, 3)
            self.part = self.whole.diagonal()

        def forward(self, x):
            return x + self.whole + self.part

    with tempfile.NamedTemporaryFile(suffix=".pt2") as file:
        save(export(Views(), (torch.ones(3),)), file.name)
        held = load(file).constants
    held["whole"][0, 0] = 5
    assert held["part"].tolist() == [5.0, 1.0, 1.0]
