"""torch.fx.traceback, scopes and parameters in traces: what PyTorch 2.13 notes."""

import pytest

import rushlight as torch
from rushlight import fx, nn
from rushlight.fx import traceback
from rushlight.fx.annotate import annotate
from rushlight.fx.graph_module import reduce_graph_module
from rushlight.fx.proxy import Scope, ScopeContextManager


def program(x):
    """Two calls."""
    return torch.sin(torch.relu(x))


def test_annotations_are_kept_where_meta_is_preserved():
    with traceback.preserve_node_meta(), traceback.annotate({"a": 1}), traceback.annotate({"b": 2}):
        kept = fx.symbolic_trace(program)
    assert all(node.meta["custom"] == {"a": 1, "b": 2} for node in kept.graph.nodes)
    with traceback.annotate({"a": 1}):
        plain = fx.symbolic_trace(program)
    assert all("custom" not in node.meta for node in plain.graph.nodes)
    assert traceback.get_current_meta() == {}

    @traceback.annotate_fn({"stage": 1})
    def noted(x):
        return torch.relu(x)

    with traceback.preserve_node_meta():
        found = fx.symbolic_trace(lambda x: torch.sin(noted(x)))
    stages = {node.name: node.meta.get("custom") for node in found.graph.nodes}
    assert stages == {"x": None, "relu": {"stage": 1}, "sin": None, "output": None}


def test_a_transformer_says_where_nodes_come_from():
    graph = fx.symbolic_trace(program)
    for node in graph.graph.nodes:
        node.meta["custom"] = node.name
    made = fx.Transformer(graph).transform().graph
    assert [node.meta.get("custom") for node in made.nodes] == [None, "relu", "sin", "output"]
    (source,) = next(node for node in made.nodes if node.name == "sin").meta["from_node"]
    assert (source.name, source.pass_name, source.graph_id) == (
        "sin",
        "Interpreter_Transformer",
        id(graph.graph),
    )
    assert traceback.NodeSource._from_dict(source.to_dict()) == source
    assert list(traceback.get_graph_provenance_json(made)) == ["relu", "sin"]


def test_places_and_numbers_of_backward_nodes():
    assert "test_traceback" in traceback.format_stack()[-1]
    with traceback.preserve_node_meta():
        traceback.set_stack_trace(["a\n", "b"])
        assert traceback.format_stack() == ["a\nb"]
        traceback.set_grad_fn_seq_nr(3)
        traceback.set_grad_fn_seq_nr(4)
        made = fx.symbolic_trace(program)
        assert {(n.meta["seq_nr"], n.stack_trace) for n in made.graph.nodes} == {(4, "a\nb")}
        traceback.reset_grad_fn_seq_nr()
        traceback.reset_grad_fn_seq_nr()
        with pytest.raises(AssertionError):
            traceback.reset_grad_fn_seq_nr()
    assert traceback.get_current_meta() == {}
    assert not traceback.has_preserved_node_meta()


class Inner(nn.Module):
    """A layer that is gone through."""

    def forward(self, x):
        """One call."""
        return torch.relu(x)


class Outer(nn.Module):
    """One layer, called twice."""

    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        """Both calls."""
        return self.inner(self.inner(x)) + 1


def test_nodes_say_in_which_module_they_were_made():
    tracer = fx.Tracer()
    graph = tracer.trace(Outer())
    stacks = [node.meta.get("nn_module_stack") for node in graph.nodes]
    assert stacks == [None, {"inner": ("inner", Inner)}, {"inner@1": ("inner", Inner)}, None, None]
    assert tracer.node_name_to_scope["relu"] == ("inner", Inner)
    scope = Scope("a", int)
    with ScopeContextManager(scope, Scope("b", str)) as inside:
        assert inside is scope
        assert (scope.module_path, scope.module_type) == ("b", str)
    assert (scope.module_path, scope.module_type) == ("a", int)


class Branching(nn.Module):
    """Asks for its parameter's sizes."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 3))

    def forward(self, x):
        """One way or the other."""
        w = self.weight
        if (
            w.shape[0] == 2
            and w.dim() == w.ndim == 2
            and w.numel() == w.nelement() == 6
            and w.size() == (2, 3)
        ):
            return x + w
        return x


def test_programs_may_branch_on_sizes_of_parameters():
    graph = fx.Tracer(param_shapes_constant=True).trace(Branching())
    assert [node.name for node in graph.nodes] == ["x", "weight", "add", "output"]
    with pytest.raises(fx.proxy.TraceError):
        fx.Tracer().trace(Branching())


def test_types_are_annotated():
    made = fx.symbolic_trace(lambda x: annotate(x + 1, torch.Tensor))
    assert "add : torch.Tensor = x + 1" in made.code.replace("torch.tensor.tensor", "torch")
    with pytest.raises(RuntimeError, match="already had a type"):
        fx.symbolic_trace(lambda x: annotate(annotate(x + 1, torch.Tensor), int))


def test_what_pickling_kept_is_a_module_again():
    module = Branching()
    traced = fx.GraphModule(module, fx.Tracer(param_shapes_constant=True).trace(module))
    body = {name: value for name, value in traced.__dict__.items() if name != "_graph"}
    made = reduce_graph_module(body, "import torch\n")
    assert made.code == traced.code
    assert torch.equal(made(torch.ones(3)), traced(torch.ones(3)))
