"""SubgraphMatcher and source partitions: what is found is what PyTorch 2.13 finds."""

import pytest

import rushlight as torch
from rushlight import fx, nn
from rushlight.fx.passes.utils import compare_graphs
from rushlight.fx.passes.utils.matcher_utils import SubgraphMatcher
from rushlight.fx.passes.utils.matcher_with_name_node_map_utils import SubgraphMatcherWithNameNodeMap
from rushlight.fx.passes.utils.source_matcher_utils import check_subgraphs_connected, get_source_partitions


def graph_of(program):
    """A program's graph."""
    return fx.symbolic_trace(program).graph


def program(a, b):
    """Sums and sines."""
    s = a + b
    t = torch.relu(torch.sin(s))
    return t + 1, (t + 2) * torch.relu(s)


def found(pattern, graph, **options):
    """For each match, {node of the pattern: what stands for it}."""
    matches = SubgraphMatcher(graph_of(pattern), **options).match(graph)
    return [{node.name: str(other) for node, other in m.nodes_map.items()} for m in matches]


def test_patterns_are_found_where_nothing_inside_is_read_outside():
    graph = graph_of(program)
    assert found(lambda x: torch.relu(torch.sin(x)), graph) == [{"relu": "relu", "sin": "sin", "x": "add"}]
    assert found(lambda x, y: torch.sin(x + y), graph) == []
    assert found(lambda x, y: (torch.sin(z := x + y), z), graph) == [
        {"sin": "sin", "add": "add", "x": "a", "y": "b"}
    ]


def test_numbers_are_compared_unless_ignored():
    graph = graph_of(program)
    assert found(lambda x: x + 1, graph) == [{"add": "add_1", "x": "relu"}]
    assert found(lambda x: x + 1, graph, ignore_literals=True) == [
        {"add": "add", "x": "a"},
        {"add": "add_1", "x": "relu"},
        {"add": "add_2", "x": "relu"},
    ]
    assert len(found(lambda x, y: x + y, graph)) == 3


def test_overlapping_matches():
    graph = graph_of(lambda x: torch.relu(torch.relu(torch.relu(x))))
    twice = lambda x: torch.relu(torch.relu(x))  # noqa: E731 (a pattern)
    assert len(found(twice, graph)) == 1
    assert len(found(twice, graph, remove_overlapping_matches=False)) == 2


def test_graphs_are_compared():
    assert compare_graphs(graph_of(program), graph_of(program))
    assert not compare_graphs(graph_of(lambda x: x + 1), graph_of(lambda x: x + 2))
    with pytest.raises(ValueError, match="empty pattern"):
        SubgraphMatcher(fx.Graph())


def test_patterns_may_name_their_nodes():
    def pattern(x):
        s = torch.sin(x)
        r = torch.relu(s)
        return r, {"sine": s, "positive": r}

    (match,) = SubgraphMatcherWithNameNodeMap(fx.symbolic_trace(pattern)).match(graph_of(program))
    assert {name: node.name for name, node in match.name_node_map.items()} == {
        "sine": "sin",
        "positive": "relu",
    }


class Block(nn.Module):
    """A layer that is gone through."""

    def forward(self, x):
        """Two calls."""
        return torch.relu(x).sin()


class Net(nn.Module):
    """Two of them."""

    def __init__(self):
        super().__init__()
        self.first, self.second = Block(), Block()

    def forward(self, x):
        """One after the other."""
        return self.second(torch.relu(self.first(x)))


def test_source_partitions():
    graph = graph_of(Net())
    for node in graph.nodes:
        stack = node.meta.get("nn_module_stack")
        if stack:
            node.meta["source_fn_stack"] = list(stack.values())
    first, second = get_source_partitions(graph, [Block])[Block]
    assert [node.name for node in first.nodes] == ["relu", "sin"]
    assert [[n.name for n in part] for part in (first.input_nodes, first.output_nodes)] == [["x"], ["sin"]]
    assert not check_subgraphs_connected(first, second)
    assert get_source_partitions(graph, [nn.Linear]) == {}
    assert (
        get_source_partitions(graph, [Block], lambda node: node.name != "sin")[Block][0].nodes == second.nodes
    )
