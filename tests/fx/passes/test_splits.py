"""split_module, split_by_tags, CapabilityBasedPartitioner: what comes out is what PyTorch 2.13 makes."""

import pytest

import rushlight as torch
from rushlight import fx, nn
from rushlight.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from rushlight.fx.passes.operator_support import OperatorSupport
from rushlight.fx.passes.shape_prop import ShapeProp
from rushlight.fx.passes.split_module import split_module, split_module_simple
from rushlight.fx.passes.split_utils import move_non_tensor_nodes_on_boundary, split_by_tags


class Both(nn.Module):
    """Two ways that meet."""

    def __init__(self):
        super().__init__()
        self.param = nn.Parameter(torch.rand(3, 4))
        self.linear = nn.Linear(4, 5)

    def forward(self, x, y):
        """The sum of both, and the first."""
        z = self.linear(x + self.param).clamp(min=0.0, max=1.0)
        w = self.linear(y).clamp(min=0.0, max=1.0)
        return torch.relu(z + w), z


def lines(module):
    """The statements of a module's text."""
    return [line.strip() for line in module.code.strip().split("\n")]


@pytest.fixture
def traced():
    """(the module, its trace, inputs, what it gives for them)."""
    module = Both()
    given = torch.rand(3, 4), torch.rand(3, 4)
    return module, fx.symbolic_trace(module), given, module(*given)


def by_place(graph, size):
    """A function of a node: its place divided by `size`."""
    places = {node.name: i // size for i, node in enumerate(graph.nodes)}
    return lambda node: places[node.name]


def same(module, given, wanted):
    """Whether a module gives these tensors."""
    return all(torch.equal(a, b) for a, b in zip(module(*given), wanted, strict=True))


def test_split_module_calls_its_parts(traced):
    module, graph, given, wanted = traced
    renamed = {}
    split = split_module(graph, module, by_place(graph.graph, 4), renamed)
    assert lines(split) == [
        "def forward(self, x, y):",
        "param = self.param",
        "submod_0 = self.submod_0(x, param);  x = param = None",
        "submod_1 = self.submod_1(submod_0, y);  submod_0 = y = None",
        "getitem = submod_1[0]",
        "getitem_1 = submod_1[1];  submod_1 = None",
        "submod_2 = self.submod_2(getitem, getitem_1);  getitem_1 = None",
        "return (submod_2, getitem)",
    ]
    assert renamed == {"submod_1.linear": "linear"}
    assert split.meta["partition_names"] == {"submod_0", "submod_1", "submod_2"}
    assert same(split, given, wanted)


@pytest.mark.parametrize(
    "options",
    [
        {"keep_original_order": True},
        {"partition_affix": "pp"},
        {"tuple_return": True, "keep_original_node_name": True},
        {"keep_original_input_name": False},
    ],
)
def test_options_of_split_module_leave_the_result(traced, options):
    module, graph, given, wanted = traced
    split = split_module(graph, module, by_place(graph.graph, 3), **options)
    assert same(split, given, wanted)
    if "partition_affix" in options:
        assert [name for name, _ in split.named_children()] == ["submod_pp_1", "submod_pp_2", "submod_pp_3"]
    if "keep_original_input_name" in options:
        assert "def forward(self, arg_0" in split.submod_1.code


def test_parts_that_need_each_other_are_refused(traced):
    module, graph, _, _ = traced
    turns = {node.name: i % 2 for i, node in enumerate(graph.graph.nodes)}
    with pytest.raises(RuntimeError, match="cycle exists between partitions!"):
        split_module(graph, module, lambda node: turns[node.name])


def test_split_module_simple(traced):
    _, graph, given, wanted = traced
    part = by_place(graph.graph, 4)
    called = [node for node in graph.graph.nodes if node.op.startswith("call")]
    assert same(split_module_simple(graph, {node: part(node) for node in called}), given, wanted)


def test_split_by_tags(traced):
    _, graph, given, wanted = traced
    called = [node for node in graph.graph.nodes if node.op.startswith("call")]
    for i, node in enumerate(called):
        node.tag = "ab"[i > 2]
    split, names = split_by_tags(graph, ["a", "b"], return_fqn_mapping=True)
    assert lines(split) == [
        "def forward(self, x, y):",
        "a = self.a(x);  x = None",
        "b = self.b(y, a);  y = None",
        "return (b, a)",
    ]
    assert names == {"param": "a.param", "linear": "b.linear"}
    assert same(split, given, wanted)
    called[0].tag = "b"
    with pytest.raises(AssertionError, match="order must be >= max of its upstream components"):
        split_by_tags(graph, ["a", "b"])
    del called[0].tag
    with pytest.raises(AssertionError, match="Node does not have tag"):
        split_by_tags(graph, ["a", "b"])


def chained(a, b, c):
    """A program with parts that are supported."""
    x = torch.relu(a)
    y = torch.relu(b)
    z = torch.sigmoid(c)
    s = x + y
    u = torch.relu(torch.sin(s)) + z
    w = torch.relu(u * s)
    p = torch.split(w, 2, dim=0)
    q = p[0] + p[1]
    return torch.sigmoid(q) + x.sum(), torch.cos(w)


class Named(OperatorSupport):
    """Supports functions of these names."""

    def __init__(self, *names):
        super().__init__(dict.fromkeys(names))

    def is_node_supported(self, submodules, node):
        """Whether the node calls such a function."""
        return node.op.startswith("call") and super().is_node_supported(submodules, node)


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (
            ["_operator.add", "torch.relu"],
            [["relu_2", "add_1"], ["relu", "relu_1", "add"]],
        ),
        (
            ["_operator.add", "torch.relu", "_operator.getitem", "torch.functional.split"],
            [
                ["relu_3", "split", "getitem", "getitem_1", "add_2"],
                ["relu_2", "add_1"],
                ["relu", "relu_1", "add"],
            ],
        ),
        (["_operator.mul", "torch.sin"], []),
    ],
)
def test_partitions(names, wanted, alone):
    graph = fx.symbolic_trace(chained)
    partitioner = CapabilityBasedPartitioner(graph, Named(*names), allows_single_node_partition=alone)
    parts = partitioner.propose_partitions()
    found = [[node.name for node in part.nodes] for part in parts]
    assert [part for part in found if len(part) > 1] == wanted
    assert alone or found == wanted
    given = [torch.rand(4) for _ in range(3)]
    fused = partitioner.fuse_partitions(parts)
    assert [name for name, _ in fused.named_children()] == [f"fused_{i}" for i in range(len(parts))]
    assert same(fused, given, chained(*given))


def test_numbers_move_to_their_readers():
    def program(x):
        n = x.size(0)
        return torch.relu(x).sum() + n

    class Part:
        def __init__(self, nodes, is_acc):
            self.nodes, self.is_acc = nodes, is_acc

    graph = fx.symbolic_trace(program)
    ShapeProp(graph).propagate(torch.rand(2))
    size, relu, total, add = (node for node in graph.graph.nodes if node.op.startswith("call"))
    parts = [Part([size, relu], True), Part([total, add], False)]
    move_non_tensor_nodes_on_boundary(parts)
    assert [part.nodes for part in parts] == [[relu], [total, add, size]]
