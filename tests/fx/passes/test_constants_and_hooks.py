"""Constants folded, common subexpressions, and who hears of a graph's changes."""

from __future__ import annotations

import copy

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.fx import symbolic_trace
from rushlight.fx.experimental.const_fold import split_const_subgraphs
from rushlight.fx.experimental.proxy_tensor import make_fx
from rushlight.fx.immutable_collections import immutable_list
from rushlight.fx.passes.dialect.common.cse_pass import CSEPass, get_CSE_banned_ops


class Folds(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.randn(2, 2)), nn.Parameter(torch.randn(2, 2))
        self.inner = nn.Linear(2, 2)

    def forward(self, x):
        return self.inner(x - (self.a + self.a)) + self.b.sum(0) + self.b


def test_constants_are_computed_once():
    model, x = Folds(), torch.randn(2, 2)
    folded = split_const_subgraphs(model)
    assert len(folded.const_subgraph_module.graph.output_node().args[0]) == 2
    assert not folded.has_folding_been_run
    torch.testing.assert_close(folded(x), model(x))
    assert folded.has_folding_been_run and isinstance(folded._FX_CONST_FOLDED_ATTRS, nn.ParameterList)
    with pytest.raises(AssertionError, match="already been run"):
        folded.run_folding()
    assert not hasattr(model, "_FX_CONST_FOLDED_ATTRS")
    plain = split_const_subgraphs(nn.ReLU())
    assert plain.const_subgraph_module is None


def test_what_is_computed_twice_of_the_same_is_computed_once():
    def f(x):
        return (x.sin() + 1) * (x.sin() + 1) + torch.rand_like(x) * torch.rand_like(x)

    graph = make_fx(f)(torch.ones(3))
    found = CSEPass(get_CSE_banned_ops())(graph)
    names = [n.target._schema.op_name for n in found.graph_module.graph.nodes if n.op == "call_function"]
    assert found.modified and names.count("sin") == 1 and names.count("rand_like") == 2
    assert not CSEPass(get_CSE_banned_ops())(found.graph_module).modified


def test_hooks_hear_of_nodes():
    heard = []
    gm = symbolic_trace(nn.Sequential(nn.ReLU()))
    made, gone = (lambda n: heard.append("made")), (lambda n: heard.append("gone"))
    gm._register_create_node_hook(made)
    gm._register_erase_node_hook(gone)
    node = next(n for n in gm.graph.nodes if n.op == "call_module")
    with gm._set_replace_hook(lambda old, new, user: heard.append((old.name, new, user.op))):
        with gm.graph.inserting_after(node):
            other = gm.graph.node_copy(node)
        node.replace_all_uses_with(other)
        gm.graph.erase_node(node)
        other.name = "renamed"
    assert heard == ["made", ("_0", "_0_1", "output"), "gone", ("_0_1", "renamed", "output")]
    gm._unregister_create_node_hook(made)
    gm._unregister_erase_node_hook(gone)
    assert gm._create_node_hooks == gm._erase_node_hooks == []


def test_lists_of_nodes_hold_tensors_without_numbers():
    x = torch.empty(3, 2, device="meta")
    assert torch.cat(immutable_list([x, x])).shape == (6, 2)


def test_hooks_hear_of_single_inputs_and_stay_with_copies():
    module, heard = symbolic_trace(lambda x, y: x.sin() + y), []
    module._register_replace_node_hook(lambda old, new, user: heard.append((old.name, new, user.name)))
    x, y, sin, add, _ = module.graph.nodes
    add.replace_input_with(sin, x)
    assert heard == [("sin", "x", "add")]
    copied = copy.deepcopy(module)
    x, y, sin, add, _ = copied.graph.nodes
    y.replace_all_uses_with(x)
    assert heard[1:] == [("y", "x", "add")]
