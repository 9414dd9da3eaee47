"""torch._dynamo.optimize, registered backends, and backends that count."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight import _dynamo as dynamo
from rushlight._dynamo import registry
from rushlight._dynamo.testing import CompileCounter, CompileCounterWithBackend, EagerAndRecordGraphs
from rushlight._dynamo.utils import clone_inputs, same


def f(x):
    return (x * 2).sum()


def test_optimize_hands_graphs_on():
    counter, keeper = CompileCounter(), EagerAndRecordGraphs()
    assert dynamo.optimize(counter)(f)(torch.ones(3)) == 6
    assert (counter.frame_count, counter.op_count) == (1, 2)
    assert dynamo.optimize_assert(keeper)(f)(torch.ones(3)) == 6
    assert [n.op for n in keeper.graphs[0].graph.nodes] == [
        "placeholder",
        "call_function",
        "call_function",
        "output",
    ]
    behind = CompileCounterWithBackend("eager")
    assert torch.compile(f, backend=behind)(torch.ones(3)) == 6
    assert len(behind.graphs) == behind.frame_count == 1


def test_optimize_is_no_context():
    with pytest.raises(RuntimeError, match="context manager"), dynamo.optimize("eager"):
        pass


def test_optimize_that_is_disabled():
    assert dynamo.optimize(disable=True)(f) is f
    assert dynamo.run(f) is f


def test_registered_backends(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    calls = []

    @dynamo.register_backend(name="counts_here")
    def counting(gm, example_inputs):
        calls.append(gm)
        return gm.forward

    assert torch.compile(f, backend="counts_here")(torch.ones(3)) == 6
    assert len(calls) == 1
    assert "counts_here" in dynamo.list_backends()
    assert dynamo.lookup_backend("counts_here") is counting
    with pytest.raises(AssertionError, match="duplicate"):
        dynamo.register_backend(counting, name="counts_here")
    with pytest.raises(RuntimeError, match="Invalid backend"):
        torch.compile(f, backend="no_such")


def test_a_compiled_module_tells_how_it_was_made():
    assert hasattr(torch.compile(torch.nn.Linear(2, 2)), "dynamo_ctx")


def test_same():
    a = torch.tensor([1.0, 2.0])
    assert same([a, {"x": 1.0}], (a + 1e-7, {"x": 1.0}))
    assert not same(a, a + 1)
    assert not same(a, a.double())
    assert same(torch.tensor([1]), torch.tensor([1]))
    assert same(a.numpy(), a.numpy() + 1e-7)
    assert not same(a.numpy(), a.numpy() + 1)
    copies = clone_inputs({"a": a.requires_grad_(), "n": 3})
    assert copies["a"].requires_grad
    assert copies["a"] is not a
    assert copies["n"] == 3


@pytest.mark.parametrize("backend", ["inductor", "eager", lambda gm, inputs: gm.forward])
def test_is_compiling_at_every_call(backend):
    @torch._dynamo.disable
    def outside():
        return torch.compiler.is_compiling()

    seen = []

    def branching(x):
        seen.append((torch.compiler.is_compiling(), outside()))
        return x + 1 if torch.compiler.is_compiling() else x - 1

    compiled = torch.compile(branching, backend=backend)
    assert [compiled(torch.zeros(1)).item() for _ in range(5)] == [1.0] * 5
    assert set(seen) == {(True, False)}
    assert not torch.compiler.is_compiling()


def test_export_of_a_function():
    def f(x, y):
        return {"sum": x.sin() + y, "x": [x]}

    found = dynamo.export(f)(torch.ones(2), torch.ones(2))
    given = found.graph_module(torch.zeros(2), torch.ones(2))
    assert given["sum"].tolist() == [1.0, 1.0]
    assert given["x"][0].tolist() == [0.0, 0.0]
    graph_module, guards = dynamo.export(f, torch.ones(2), torch.ones(2), aten_graph=True)
    assert not guards
    assert graph_module(torch.zeros(2), torch.ones(2))["sum"].tolist() == [1.0, 1.0]


def test_limits_can_be_lifted_for_a_while():
    before = torch._dynamo.config.recompile_limit
    with torch._dynamo.utils.disable_cache_limit():
        assert torch._dynamo.config.recompile_limit > before
    assert torch._dynamo.config.recompile_limit == before
