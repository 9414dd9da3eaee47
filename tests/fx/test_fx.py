"""torch.fx: what is printed of graphs is what PyTorch printed; graphs run, are edited, copied and checked."""

from __future__ import annotations

import builtins
import copy
import json
import operator
import pickle
from pathlib import Path
from typing import Any, Optional

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import fx, nn
from rushlight.fx.passes.shape_prop import ShapeProp
from rushlight.fx.proxy import TraceError
from tests.fx import programs

RECORD = json.loads((Path(__file__).parents[1] / "goldens" / "graphs.json").read_text(encoding="utf-8"))["fx"]


@pytest.fixture(scope="module")
def texts():
    return programs.texts(torch)


@pytest.mark.parametrize("name", RECORD)
def test_texts_are_pytorchs(texts, name):
    assert texts[name] == RECORD[name]


def test_a_trace_computes_what_the_module_does():
    net = programs.net(torch).eval()
    gm = fx.symbolic_trace(net)
    x = torch.randn(2, 3, 8, 8)
    for ours, theirs in zip(gm(x)["r"], net(x)["r"], strict=True):
        same = ours == theirs if not isinstance(ours, list) else torch.stack(ours) == torch.stack(theirs)
        assert same if isinstance(same, bool) else same.all()
    assert gm.state_dict().keys() >= net.state_dict().keys() and copy.deepcopy(gm).code == gm.code
    gm.w.grad = None
    gm(x)["a"].sum().backward()
    assert net.w.grad is not None


def test_a_module_is_pickled_by_its_text():
    gm = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
    again = pickle.loads(pickle.dumps(gm))
    x = torch.randn(4, 2)
    assert again.code == gm.code and torch.equal(again(x), gm(x))


def test_nodes_know_their_users():
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    z = graph.call_function(operator.add, (x, [y, 1], {"k": slice(y, None)}))
    assert list(y.users) == [z] and z.all_input_nodes == [x, y]
    z.replace_input_with(y, x)
    assert not y.users and z.args == (x, [x, 1], {"k": slice(x, None)})
    z.args = (y,)
    assert not x.users and list(y.users) == [z] and z.prev is y and z.next is x
    z.update_kwarg("other", x)
    assert z.kwargs == {"other": x}
    y.append(x)
    assert [n.name for n in graph.nodes] == ["y", "x", "add"]


def test_lint_finds_what_is_wrong():
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_method("relu", (x,))
    graph.lint()
    x.prepend(y)
    with pytest.raises(RuntimeError, match="used before it has been defined"):
        graph.lint()
    other = fx.Graph()
    other.call_method("relu", (x,))
    with pytest.raises(RuntimeError, match="does not belong to this Graph"):
        other.lint()
    with pytest.raises(RuntimeError, match="nonexistent attribute weight"):
        gm = fx.GraphModule({}, fx.Graph())
        gm.graph.get_attr("weight")
        gm.graph.lint()
    with pytest.raises(RuntimeError, match="was not provided"):
        broken = fx.Graph()
        broken.get_attr("weight")
        fx.GraphModule({}, broken)


def test_shapes_are_noted():
    gm = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
    ShapeProp(gm).propagate(torch.zeros(4, 2))
    assert [tuple(n.meta["tensor_meta"].shape) for n in gm.graph.nodes] == [(4, 2), (4, 3), (4, 3), (4, 3)]
    assert '"f32[4, 3]"' in gm.print_readable(print_output=False)


def halved(x):
    return x / 2 if isinstance(x, float) else torch.mul(x, 0.5)


fx.wrap("halved")
fx.wrap("len")


def test_wrapped_functions_are_nodes():
    gm = fx.symbolic_trace(lambda x: halved(x) + len(x))
    assert [n.target for n in gm.graph.nodes if n.op == "call_function"] == [halved, len, operator.add]
    assert gm(torch.ones(2)).tolist() == [2.5, 2.5]


def test_tracers_are_told_what_is_a_leaf():
    class Through(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return False

    model = nn.Sequential(nn.Linear(2, 2))
    graph = Through().trace(model)
    assert [n.op for n in graph.nodes] == ["placeholder", "get_attr", "get_attr", "call_function", "output"]
    assert fx.GraphModule(model, graph)(torch.ones(1, 2)).shape == (1, 2)


def test_errors_are_pytorchs():
    with pytest.raises(TraceError, match="symbolically traced variables cannot be used as inputs to control"):
        fx.symbolic_trace(lambda x: 1 if x else 2)
    with pytest.raises(ValueError, match="Callable is expected"):
        fx.Graph().call_function("relu")
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter x"):
        fx.Interpreter(fx.symbolic_trace(lambda x: x + 1)).run()


def test_annotations_are_written_by_their_names():
    class Typed(torch.nn.Module):
        def forward(self, x, y=None):
            return x[0]

    Typed.forward.__annotations__ = {"x": list[torch.Tensor], "y": Optional[int], "return": torch.Tensor}
    assert (
        fx.symbolic_trace(Typed())
        .code.strip()
        .startswith(
            "def forward(self, x : list[torch.Tensor], y : typing_Union[int,NoneType] = None) -> torch.Tensor:"
        )
    )
    assert "def forward(self, input):" in fx.symbolic_trace(nn.Sequential(nn.ReLU())).code


class Annotated(torch.nn.Module):
    def forward(self, x, sizes=()):
        return x.relu()

    forward.__annotations__ = {"x": torch.Tensor, "sizes": tuple[int, ...], "return": torch.Tensor}


def test_annotations_of_inputs(monkeypatch):
    monkeypatch.delattr(
        builtins, "_", raising=False
    )  # which doctests set; a graph's code avoids names in use
    traced = torch.fx.symbolic_trace(Annotated())
    assert "def forward(self, x : torch.Tensor, sizes : tuple[int,_] = ()) -> torch.Tensor:" in traced.code
    assert "def forward(self, x : torch.Tensor, sizes" in traced.print_readable(print_output=False)
    assert traced(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]


def test_a_call_of_inserting_after_alone_moves_where_nodes_go():
    graph = fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh())).graph
    first = next(node for node in graph.nodes if node.op == "call_module")
    graph.inserting_after(first)
    added = graph.call_function(torch.sigmoid, (first,))
    assert [node.name for node in graph.nodes][:3] == ["input_1", first.name, added.name]


def test_arguments_are_inserted() -> None:
    graph = torch.fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    node = graph.call_function(torch.add, (x,))
    node.insert_arg(0, y)
    assert node.args == (y, x)
    assert list(y.users) == [node]
    with pytest.raises(AssertionError, match="between 0 and len"):
        node.insert_arg(4, y)


def test_calls_that_write_in_place_keep_their_names() -> None:
    """Every time, not only before calls of that form are known: the node is relu(x, inplace=True)."""

    def function(x: Any) -> Any:
        return F.relu(x, inplace=True)

    for _ in range(3):
        node = list(fx.symbolic_trace(function).graph.nodes)[1]
        assert (node.name, node.kwargs) == ("relu", {"inplace": True})
