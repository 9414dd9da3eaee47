"""Names and order of nodes, sizes, settings of layers, what runs passes; values are PyTorch 2.13's."""

import logging
import operator

import pytest

import rushlight as torch
from rushlight import fx, nn
from rushlight.fx.passes import pass_manager
from rushlight.fx.passes.canonicalize import canonicalize_graph
from rushlight.fx.passes.fake_tensor_prop import FakeTensorProp
from rushlight.fx.passes.graph_manipulation import (
    get_size_of_all_nodes,
    get_tensor_meta,
    replace_target_nodes_with,
)
from rushlight.fx.passes.infra.pass_base import PassBase, PassResult
from rushlight.fx.passes.infra.pass_manager import (
    PassManager,
    pass_result_wrapper,
    this_before_that_pass_constraint,
)
from rushlight.fx.passes.operator_support import OperatorSupport, OpSupports, any_chain, chain
from rushlight.fx.passes.param_fetch import extract_attrs_for_lowering, lift_lowering_attrs_to_nodes
from rushlight.fx.passes.shape_prop import ShapeProp
from rushlight.fx.passes.tools_common import (
    FxNetAccFusionsFinder,
    get_node_target,
    legalize_graph,
    stable_topological_sort,
)


def program(x, y):
    """Sums, and what is made of them."""
    s = torch.relu(x) + y
    return torch.sin(s), s.size(0) * s


@pytest.fixture
def seen():
    """A trace that ShapeProp has seen."""
    graph = fx.symbolic_trace(program)
    ShapeProp(graph).propagate(torch.rand(2), torch.rand(2))
    return graph


def named(graph):
    """The names of a graph's nodes."""
    return [node.name for node in graph.nodes]


def test_targets_have_names():
    graph = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    modules = dict(graph.named_modules())
    called = [get_node_target(modules, n) for n in graph.graph.nodes if n.op == "call_module"]
    assert called == ["torch.nn.modules.linear.Linear", "torch.nn.modules.activation.ReLU"]
    graph = fx.symbolic_trace(program)
    called = [get_node_target({}, n) for n in graph.graph.nodes if n.op.startswith("call")]
    assert called == ["torch.relu", "_operator.add", "torch.sin", "size", "_operator.mul"]
    with pytest.raises(AssertionError, match="but found placeholder"):
        get_node_target({}, next(iter(graph.graph.nodes)))


def test_support_by_name_and_dtype(seen):
    support = chain(
        OperatorSupport({"torch.relu": (([torch.float32],), {}), "torch.sin": (([torch.int64],), {})}),
        OpSupports.decline_if_node_in_names({"size"}),
    )
    found = {node.name: support.is_node_supported({}, node) for node in seen.graph.nodes}
    assert [name for name, allowed in found.items() if allowed] == ["x", "y", "relu", "output"]
    either = any_chain(OpSupports.decline_if_input_dtype(torch.float32), OperatorSupport({"torch.sin": None}))
    sin, relu = (next(n for n in seen.graph.nodes if n.name == name) for name in ("sin", "relu"))
    assert either.is_node_supported({}, sin)
    assert not either.is_node_supported({}, relu)


def test_topological_orders():
    def wide(a, b):
        return torch.relu(torch.relu(a)) + torch.sin(b)

    graph = legalize_graph(fx.symbolic_trace(wide))
    assert named(graph.graph) == ["a", "b", "relu", "sin", "relu_1", "add", "output"]
    graph = fx.symbolic_trace(wide)
    nodes = list(graph.graph.nodes)
    nodes[-1].append(nodes[2])
    assert named(stable_topological_sort(graph).graph) == ["a", "b", "sin", "relu", "relu_1", "add", "output"]
    circle = fx.symbolic_trace(wide)
    first, second = (n for n in circle.graph.nodes if n.target is torch.relu)
    first.args = (second,)
    with pytest.raises(RuntimeError, match="Input graph has cycles"):
        legalize_graph(circle)
    with pytest.raises(AssertionError, match="Input graph has cycles"):
        stable_topological_sort(circle)


def test_canonical_order_does_not_depend_on_the_trace():
    def one(x):
        return torch.sin(x) + torch.cos(x)

    def other(x):
        c = torch.cos(x)
        return torch.sin(x) + c

    def key(node, places):
        kind = ("placeholder", "get_attr", "call_function", "output").index(node.op)
        return kind, str(getattr(node.target, "__name__", "")), tuple(places[n] for n in node.all_input_nodes)

    graphs = [fx.symbolic_trace(f).graph for f in (one, other)]
    renamed = [canonicalize_graph(graph, key, lambda node: True) for graph in graphs]
    assert [named(graph) for graph in graphs] == [["x", "cos", "sin", "add", "output"]] * 2
    assert renamed == [{}, {}]
    fixed = fx.symbolic_trace(one).graph
    canonicalize_graph(fixed, key, lambda node: False)
    assert named(fixed) == ["x", "sin", "cos", "add", "output"]


def test_numbers_fuse_their_neighbours(seen):
    called = {node for node in seen.graph.nodes if node.op.startswith("call")}
    groups = FxNetAccFusionsFinder(seen, called)()
    assert {node.name: sorted(n.name for n in group) for node, group in groups.items()} == {
        "size": ["mul", "size"],
        "mul": ["mul", "size"],
    }


def test_sizes_of_nodes():
    graph = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
    get_size_of_all_nodes(graph, [torch.rand(2, 2)])
    found = [tuple(node.size_bytes) for node in graph.graph.nodes if node.op != "output"]
    assert found == [(16, 16), (24, 60), (24, 24)]
    with pytest.raises(RuntimeError, match="has no tensor metadata"):
        get_tensor_meta(next(iter(fx.symbolic_trace(program).graph.nodes)))


def test_targets_are_replaced():
    graph = fx.symbolic_trace(program)
    replace_target_nodes_with(graph, "call_function", torch.relu, "call_function", torch.tanh)
    assert "relu = torch.tanh(x)" in graph.code


def test_settings_of_layers():
    assert extract_attrs_for_lowering(nn.MaxPool2d(2)) == {
        "name": "torch.nn.modules.pooling.MaxPool2d",
        "kernel_size": 2,
        "stride": 2,
        "padding": 0,
        "dilation": 1,
        "return_indices": False,
        "ceil_mode": False,
    }
    with pytest.raises(RuntimeError, match="not in the module_fetch_book"):
        extract_attrs_for_lowering(nn.GELU())
    graph = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
    lift_lowering_attrs_to_nodes(graph)
    found = [list(n.attrs_for_lowering) for n in graph.graph.nodes if n.op == "call_module"]
    assert found == [["name", "weight", "bias"], ["name", "inplace"]]


def test_fake_tensors_are_propagated():
    graph = fx.symbolic_trace(program)
    FakeTensorProp(graph).propagate(torch.rand(4, 2), torch.rand(4, 2))
    found = {node.name: node.meta.get("val") for node in graph.graph.nodes}
    assert repr(found["sin"]) == "FakeTensor(..., size=(4, 2))"
    assert found["size"] == 4
    assert repr(found["output"]) == "(FakeTensor(..., size=(4, 2)), FakeTensor(..., size=(4, 2)))"


# --- passes --------------------------------------------------------------------------------------


class Noting(PassBase):
    """A pass that notes what of it was called."""

    def __init__(self, called, modified):
        self.called, self.modified = called, modified

    def requires(self, graph_module):
        """Noted."""
        self.called.append("requires")

    def call(self, graph_module):
        """Noted."""
        self.called.append("call")
        return PassResult(graph_module, self.modified)

    def ensures(self, graph_module):
        """Noted."""
        self.called.append("ensures")


def plain(gm):
    """A pass that returns nothing."""


def giving(gm):
    """A pass that returns the module."""
    return gm


def test_passes_repeat_until_nothing_changes():
    for modified, rounds in ((True, 2), (False, 1)):
        called = []
        result = PassManager([Noting(called, modified)], steps=2)(fx.symbolic_trace(program))
        assert result.modified is modified
        assert called == ["requires", "call", "ensures"] * rounds


def test_passes_are_put_in_order():
    a, b = pass_result_wrapper(plain), pass_result_wrapper(giving)
    wrong = PassManager([a, b], [this_before_that_pass_constraint(b, a)])
    with pytest.raises(RuntimeError, match="pass schedule constraint violated"):
        wrong.validate_constraints()
    wrong.solve_constraints()
    assert wrong.passes == [b, a]
    assert wrong(fx.symbolic_trace(program)).modified
    both = [this_before_that_pass_constraint(b, a), this_before_that_pass_constraint(a, b)]
    with pytest.raises(RuntimeError, match="Circular dependency"):
        PassManager([a, b], both).solve_constraints()


def test_a_failing_pass_is_named():
    graph = fx.symbolic_trace(program)
    with pytest.raises(Exception, match="An error occurred when running the 'plain' pass") as error:
        PassManager([plain])(graph)
    assert isinstance(error.value.__cause__, TypeError)
    manager = PassManager([pass_result_wrapper(plain)], run_checks_after_each_pass=True)
    with pytest.raises(TypeError, match="only take in one variable"):
        manager.add_checks(operator.add)

    def refuse(module):
        raise ValueError("no")

    manager.add_checks(refuse)
    with pytest.raises(ValueError, match="no"):
        manager(graph)


def test_the_manager_of_plain_functions(caplog):
    def inc(x):
        return x + 1

    def double(x):
        return 2 * x

    manager = pass_manager.PassManager([inc, pass_manager.loop_pass(double, 3)])
    assert manager(1) == 16
    manager.add_constraint(pass_manager.these_before_those_pass_constraint(double, inc))
    with pytest.raises(RuntimeError, match="pass schedule constraint violated"):
        manager(1)
    manager = pass_manager.PassManager.build_from_passlist([inc, double])
    manager.remove_pass(["inc"])
    assert manager(1) == 2
    manager.replace_pass(double, inc)
    assert manager(4) == 5
    with caplog.at_level(logging.INFO):
        changed = pass_manager.inplace_wrapper(pass_manager.log_hook(lambda d: d.update(a=1)))({})
    assert changed == {"a": 1}
    assert "Return value: None" in caplog.text
    assert pass_manager.loop_pass(double, predicate=lambda x: x < 9)(1) == 16
    with pytest.raises(AssertionError, match="Exactly one"):
        pass_manager.loop_pass(double)
    with pytest.raises(RuntimeError, match="positive int n_iter"):
        pass_manager.loop_pass(double, 0)(1)
