"""torch._dynamo.optimize, registered backends, and backends that count."""

from __future__ import annotations

import operator

import pytest

import rushlight as torch
from rushlight import _dynamo as dynamo
from rushlight._dynamo import registry
from rushlight._dynamo.testing import CompileCounter, CompileCounterWithBackend, EagerAndRecordGraphs
from rushlight._dynamo.utils import clone_inputs, counters, same
from rushlight.fx.experimental.symbolic_shapes import ConstraintViolationError


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
        "call_method",
        "output",
    ]
    behind = CompileCounterWithBackend("eager")
    assert torch.compile(f, backend=behind)(torch.ones(3)) == 6
    assert len(behind.graphs) == behind.frame_count == 1


def test_optimize_is_no_context():
    with pytest.raises(RuntimeError, match="context manager"), dynamo.optimize("eager"):
        pass


def test_optimize_that_is_disabled(monkeypatch):
    assert dynamo.optimize(disable=True)(f) is f
    monkeypatch.setenv("TORCHDYNAMO_DISABLE", "1")
    assert torch.compile(f, backend=CompileCounter()) is f
    assert dynamo.run(f) is f


def test_run_compiles_nothing_new():
    counter = CompileCounter()
    compiled = dynamo.optimize(counter)(f)
    compiled(torch.ones(3))
    assert dynamo.run(compiled)(torch.ones(3)) == 6
    assert dynamo.run(compiled)(torch.ones(2, 2)) == 8
    assert counter.frame_count == 1
    layer = dynamo.optimize(counter)(torch.nn.Linear(2, 2))
    assert dynamo.run()(layer)(torch.ones(1, 2)).shape == (1, 2)
    assert counter.frame_count == 1


def test_who_compiles_a_function_for_a_backend_again_finds_its_graphs():
    counter, other = CompileCounter(), CompileCounter()
    for _ in range(3):
        dynamo.optimize(counter)(f)(torch.ones(3))
    dynamo.optimize(other)(f)(torch.ones(3))
    assert (counter.frame_count, other.frame_count) == (1, 1)
    torch.compiler.reset()
    dynamo.optimize(counter)(f)(torch.ones(3))
    assert counter.frame_count == 2


def _first(args, flag=True):
    first, second = args.values() if isinstance(args, dict) else args
    return first - second if flag else second - first


def test_arguments_of_another_kind_have_graphs_of_their_own():
    a, b = torch.ones(2), torch.zeros(2)
    counter = CompileCounter()
    compiled = torch.compile(_first, backend=counter, fullgraph=True)
    kinds = [([a, b],), ((a, b),), ([a, b], False), ({"a": a, "b": b},), ({"b": b, "a": a},), ([a, a],)]
    for number, args in enumerate(kinds, 1):
        for _ in range(2):
            assert compiled(*args).equal(_first(*args))
            assert counter.frame_count == number


@pytest.mark.parametrize(("dynamic", "graphs"), [(None, 2), (True, 1), (False, 4)])
def test_a_graph_that_was_given_back_serves_other_sizes(dynamic, graphs):
    counter = CompileCounter()
    compiled = torch.compile(lambda x: x.sin() + x, backend=counter, dynamic=dynamic)
    for size in (3, 4, 5, 6, 3, 6):
        x = torch.randn(size, 2)
        assert compiled(x).equal(x.sin() + x)
    assert counter.frame_count == graphs
    compiled(torch.randn(1, 2))  # never free
    assert counter.frame_count == graphs + 1


def test_what_was_known_of_a_call_that_goes_another_way_is_no_graph():
    keeper = EagerAndRecordGraphs()
    compiled = torch.compile(lambda x, way: way(x + 1), backend=keeper)
    for way in (torch.sin, torch.sin, torch.sin, torch.cos):
        compiled(torch.ones(3), way)
    assert [len(g.graph.nodes) for g in keeper.graphs] == [4, 4]


def test_written_results_and_gradients_are_graphs_that_run():
    def written(a, b):
        made = torch.empty(3)
        made.copy_(a)
        made -= b
        return made

    def trained(a, b):
        (a * b).sum().backward()
        return torch.sigmoid(a.grad + b)

    a, b = torch.ones(3), torch.full((3,), 2.0)
    keeper = EagerAndRecordGraphs()
    compiled = dynamo.optimize(keeper)(written)
    for _ in range(4):
        assert compiled(a, b).tolist() == [-1.0] * 3
        assert a.tolist() == [1.0] * 3
    assert [n.target for n in keeper.graphs[0].graph.nodes][3:5] == ["copy_", operator.isub]
    a.requires_grad_()
    assert dynamo.optimize(keeper)(trained)(a, b).allclose(torch.sigmoid(b + b))


def test_refusals_of_what_is_compiled():
    compiled = torch.compile(f, backend="eager")
    compiled(torch.ones(3))
    with pytest.raises(RuntimeError, match="Detected that you are using FX"):
        torch.fx.symbolic_trace(compiled)
    with dynamo.config.patch(error_on_recompile=True), pytest.raises(dynamo.exc.RecompileError):
        compiled(torch.ones(4))
    with pytest.raises(AssertionError, match="Attempt to trace forbidden callable"):
        torch.compile(lambda x: dynamo.mark_dynamic(x, 0), backend="eager")(torch.ones(3))


def test_what_ends_no_graph():
    def deterministic(x):
        torch.use_deterministic_algorithms(False)
        return x + 1

    counter = CompileCounter()
    assert torch.compile(deterministic, backend=counter, fullgraph=True)(torch.ones(2)).tolist() == [2, 2]
    assert counter.frame_count == 1

    @torch.library.custom_op("known_here::half", mutates_args=())
    @dynamo.disable
    def half(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(x.numpy() / 2)

    assert torch.compile(lambda x: half(x) + 1, backend=counter, fullgraph=True)(torch.ones(2)).tolist() == [
        1.5,
        1.5,
    ]


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


def test_objects_of_a_programs_own_are_the_same_if_their_attributes_are():
    class Pair:
        def __init__(self, *both):
            self.both = both

    assert same(Pair(torch.ones(2), 1), Pair(torch.ones(2), 1))
    assert not same(Pair(torch.ones(2), 1), Pair(torch.zeros(2), 1))


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


def test_export_has_the_functions_parameters_and_free_sizes():
    def scaled(first, pair, *more):
        return first * first.shape[0] + pair[0] * more[0]

    x = torch.ones(3)
    module, guards = dynamo.export(scaled)(x, (x, x), x)
    assert [n.target for n in module.graph.nodes if n.op == "placeholder"][0] == "first"
    y = torch.ones(4)
    assert (module(y, (y, y), y).tolist(), guards) == ([5.0] * 4, set())
    shapes = ({0: torch.export.Dim("size")},)
    with pytest.raises(ConstraintViolationError):
        dynamo.export(lambda x: x.sin() if x.shape[0] == 3 else x.cos(), dynamic_shapes=shapes)(x)


def test_what_is_assumed_constant_is_kept_by_an_export():
    @dynamo.assume_constant_result
    def chosen(x):
        return x if x.item() > 0 else None

    def scaled(x):
        y = torch.full((1,), 3.0)
        known = chosen(x)
        return y if known is None else y * known

    module, _ = dynamo.export(scaled)(torch.tensor([2.0]))
    assert scaled(torch.tensor([-1.0])).item() == 3
    assert module(torch.tensor([-1.0])).item() == 6


def test_counters_tell_of_graphs_and_why_they_end():
    counters.clear()

    def broken(x):
        y = x.sin() + 1
        dynamo.graph_break()
        return y * 2

    compiled = torch.compile(broken, backend=CompileCounter())
    for _ in range(3):
        compiled(torch.ones(2))
    assert dict(counters["frames"]) == {"total": 2, "ok": 2}
    assert dict(counters["stats"]) == {"unique_graphs": 2, "calls_captured": 3}
    assert dict(counters["graph_break"]) == {"graph_break() was called": 1}


def test_gradients_of_other_formulas_are_other_graphs():
    def trained(x, f):
        f(x).sum().backward()
        return x.grad * 1

    keeper = EagerAndRecordGraphs()
    compiled = torch.compile(trained, backend=keeper, dynamic=True)
    for f in (torch.sinh, torch.cosh, torch.sinh, torch.cosh):
        for size in (3, 3, 4, 5):
            x, y = torch.rand(2, size).unbind()
            x, y = x.clone().requires_grad_(), x.clone().requires_grad_()
            assert compiled(x, f).allclose(trained(y, f))


def test_equal_graphs_at_two_places_are_two():
    def twice(x):
        y = x.sin() * 2
        dynamo.graph_break()
        return y.sin() * 2

    counter = CompileCounter()
    torch.compile(twice, backend=counter)(torch.ones(3))
    assert counter.frame_count == 2
