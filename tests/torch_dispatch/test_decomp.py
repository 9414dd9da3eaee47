"""torch._decomp: tables of functions that stand for ops."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight._decomp import get_decompositions, register_decomposition, remove_decompositions
from rushlight.fx.experimental.proxy_tensor import make_fx

aten = torch.ops.aten


def test_tables_take_ops_apart():
    table = get_decompositions([aten._softmax, aten.addmm.default, aten.silu, aten.native_layer_norm, aten.t])
    assert aten.addmm.default in table and aten.relu.default not in table
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.SiLU(), torch.nn.LayerNorm(4))
    x = torch.randn(2, 3)
    traced = make_fx(lambda x: torch.softmax(model(x), -1), table)(x)
    targets = {str(n.target) for n in traced.graph.nodes}
    assert not targets & {"aten.addmm.default", "aten.silu.default", "aten._softmax.default"}
    assert torch.allclose(traced(x), torch.softmax(model(x), -1), atol=1e-6)


def test_own_tables():
    table = {}

    @register_decomposition(aten.relu, table)
    def relu(x):
        return torch.clamp(x, min=0)

    assert table[aten.relu.default] is relu
    with pytest.raises(RuntimeError, match="duplicate registrations"):
        register_decomposition(aten.relu.default, table)(relu)
    remove_decompositions(table, [aten.relu])
    assert aten.relu.default not in table


def test_decompositions_are_not_of_themselves():
    aten = torch.ops.aten
    table = torch._decomp.get_decompositions([aten.rsub.Scalar, aten.rsub.Tensor])
    x = torch.randn(2, 3)
    graph = make_fx(lambda x: torch.rsub(1 - x, 2, alpha=3), decomposition_table=table)(x)
    assert [n.target for n in graph.graph.nodes if n.op == "call_function"] == [aten.sub.Tensor] * 2
    torch.testing.assert_close(graph(x), 2 - 3 * (1 - x))
    whole = torch._decomp.decomposition_table
    bounded = whole[aten.hardtanh.default](torch.arange(3, dtype=torch.int16), -0.5, 0.5)
    assert bounded.dtype is torch.int16 and not bounded.any()
    for name in ("_softmax", "_log_softmax"):
        assert whole[getattr(aten, name).default](torch.empty(2, 0), 1, False).shape == (2, 0)
