"""Functions as compile's backend, what fullgraph=True refuses, and what torch._dynamo.explain counts."""

import operator

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn


def noted(graphs, change=None):
    """A backend that keeps what it is given, and runs it."""

    def backend(module, inputs):
        graphs.append((module, inputs))
        if change is not None:
            change(module)
            module.recompile()
        return module.forward

    return backend


def branching(x):
    y = x.sin()
    if y.sum() > 0:
        y = y * 2
    return y + 1


def targets(module):
    calls = [n for n in module.graph.nodes if n.op in ("call_function", "call_method")]
    return [n.target if n.op == "call_method" else n.target.__name__ for n in calls]


def test_each_segment_is_handed_over_once():
    graphs = []
    compiled = torch.compile(branching, backend=noted(graphs))
    x = torch.tensor([0.5, 1.0])
    for _ in range(5):
        assert compiled(x).tolist() == branching(x).tolist()
    assert [targets(module) for module, _ in graphs] == [["sin", "sum", "gt"], ["mul", "add"]]
    assert graphs[0][1][0].tolist() == x.tolist()
    assert compiled(-x).tolist() == branching(-x).tolist()
    assert [targets(module) for module, _ in graphs[2:]] == [["add"]]


def test_the_backends_values_are_taken():
    def to_products(module):
        for n in module.graph.nodes:
            if n.op == "call_function" and n.target is operator.add:
                n.target = torch.mul

    compiled = torch.compile(lambda x, y: x + y, backend=noted([], to_products))
    x, y = torch.tensor([3.0]), torch.tensor([4.0])
    assert [compiled(x, y).item() for _ in range(4)] == [12.0] * 4


def test_a_training_step():
    def make():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2))
        return model, torch.optim.SGD(model.parameters(), 0.1)

    graphs, losses = [], []
    for backend in (None, noted(graphs)):
        model, optimizer = make()
        called = model if backend is None else torch.compile(model, backend=backend)
        x = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))
        for _ in range(5):
            loss = called(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[:5] == losses[5:]
    assert all(isinstance(module, torch.fx.GraphModule) for module, _ in graphs)


def test_what_breaks_a_graph_is_refused_where_it_is_to_be_whole():
    for options in ({}, {"backend": noted([])}):
        with pytest.raises(torch._dynamo.exc.Unsupported, match=r"a branch on data, at .*test_backends.py:"):
            torch.compile(branching, fullgraph=True, **options)(torch.ones(2))
    assert issubclass(torch._dynamo.exc.Unsupported, torch._dynamo.exc.TorchDynamoException)
    whole = torch.compile(lambda x: x.sin() + 1, fullgraph=True, backend=noted([]))
    assert whole(torch.zeros(2)).tolist() == [1, 1]


def test_a_backend_that_raises_is_named():
    def broken(module, inputs):
        raise ValueError("no such device")

    with pytest.raises(
        torch._dynamo.exc.BackendCompilerFailed, match="backend='broken' raised:\nValueError: no"
    ):
        torch.compile(torch.sin, backend=broken)(torch.ones(2))


def test_segments_are_counted_with_their_ends():
    said = []

    def step(x):
        said.append("called")
        return branching(x)

    told = torch._dynamo.explain(step)(torch.ones(2))
    assert said == ["called"]
    assert (told.graph_count, told.graph_break_count, told.op_count) == (2, 1, 5)
    assert told.ops_per_graph == [["sin", "sum", "gt"], ["mul", "add"]]
    (why,) = told.break_reasons
    assert why.reason == "a branch on data" and why.user_stack[0].filename == __file__
    assert why.user_stack[0].lineno == branching.__code__.co_firstlineno + 2
    assert "Graph Break Count: 1" in str(told)


@pytest.mark.parametrize(
    "how", [{"backend": noted([])}, {"backend": "eager"}, {}, {"mode": "reduce-overhead"}]
)
def test_numbers_arrays_and_shapes_of_values_break_no_whole_graph(how):
    def through_numpy(x):
        return torch.from_numpy(np.flip(x.sin().numpy()).copy()) + 1

    def by_number(x):
        return [x, x + 1, x + 2][torch.as_tensor(2)] * x.sum().item() + len(torch.arange(3).tolist())

    def shaped(x):
        return x[x > 0.7].sum() + torch.nonzero(x).sum()

    for function in (through_numpy, by_number, shaped):
        compiled = torch.compile(function, fullgraph=True, **how)
        for k in (0.5, 0.5, 0.0, 1.0):
            x = torch.tensor([k, 1.0])
            assert compiled(x).tolist() == function(x).tolist()

    for breaking in (branching, lambda x: print(x), lambda x: x.tolist()):
        with pytest.raises(torch._dynamo.exc.Unsupported):
            torch.compile(breaking, fullgraph=True, **how)(x)


def test_graphs_without_results_are_handed_over_too():
    graphs = []
    compiled = torch.compile(lambda x: (x + 1).dtype, backend=noted(graphs))
    x = torch.ones(2)
    assert [compiled(x) for _ in range(3)] == [torch.float32] * 3
    assert [targets(module) for module, _ in graphs] == [["add"]]

    def write():
        return kept.add_(1)

    kept, graphs = torch.zeros(2), []
    compiled = torch.compile(write, backend=noted(graphs))
    assert [compiled().tolist()[0] for _ in range(5)] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert [targets(module) for module, _ in graphs] == [["add_"]]


def test_compiled_distributions_do_not_look_at_values():
    def weigh(x):
        return torch.distributions.Normal(x, torch.tensor(1.0)).log_prob(x)

    x = torch.tensor([0.5, 1.0])
    assert torch.compile(weigh, backend="eager", fullgraph=True)(x).tolist() == weigh(x).tolist()
    with pytest.raises(ValueError, match="scale"):
        torch.distributions.Normal(x, -x)


def test_what_is_no_backend_fails_as_it_is_called():
    with pytest.raises(
        torch._dynamo.exc.BackendCompilerFailed, match="TypeError: 'list' object is not callable"
    ):
        torch.compile(lambda x: x + 1, backend=["x"])(torch.ones(2))


def test_graph_breaks_in_what_is_allowed_in_the_graph_are_not_heard():
    def inner(x):
        torch._dynamo.graph_break()
        return x + 1

    f = torch.compile(lambda x: inner(x) * 2, backend="eager", fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="graph_break"):
        f(torch.ones(2))
    torch.compiler.allow_in_graph(inner)
    f = torch.compile(lambda x: inner(x) * 2, backend="eager", fullgraph=True)
    assert f(torch.ones(2)).tolist() == [4, 4]
    with pytest.raises(AssertionError, match="allow_in_graph expects a callable"):
        torch.compiler.allow_in_graph(3)


@pytest.mark.parametrize("backend", ["inductor", "eager", noted([])])
def test_a_container_that_holds_itself(backend):
    own = [1]
    own.append(own)
    compiled = torch.compile(lambda x, given: x + given[1][0], backend=backend)
    assert [compiled(torch.ones(2), own).tolist() for _ in range(2)] == [[2.0, 2.0]] * 2


OF_PARTS = {
    "multi_dot": lambda a, b: torch.linalg.multi_dot([a, b, a]).sin(),
    "kron": lambda a, b: torch.kron(a, b).sin(),
    "split": lambda a, b: a.split(2)[0].sin() + b[:2],
    "unbind": lambda a, b: a.unbind(0)[1].sin() + b,
    "cartesian_prod": lambda a, b: torch.cartesian_prod(a[0], b[0]).sin(),
    "gumbel_softmax": lambda a, b: torch.nn.functional.gumbel_softmax(a).sin(),
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", OF_PARTS)
def test_what_is_told_by_its_parts_is_so_from_the_first_call_on(name, requires_grad):
    graphs, f = [], OF_PARTS[name]
    a, b = (torch.randn(4, 4, requires_grad=requires_grad) for _ in range(2))
    compiled = torch.compile(f, backend=lambda module, given: graphs.append(module) or module)
    for _ in range(3):
        torch.manual_seed(0)
        wanted, state = f(a, b), torch.get_rng_state()
        torch.manual_seed(0)
        assert torch.equal(compiled(a, b), wanted)
        assert torch.equal(torch.get_rng_state(), state)  # nothing is drawn twice
    assert len(graphs) == 1


def test_graphs_of_a_backend_that_changes_nothing_are_counted_at_the_first_calls():
    counters = torch._dynamo.utils.counters
    counters.clear()
    compiled = torch.compile(branching, backend="eager")
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    for _ in range(3):
        assert torch.equal(compiled(x), branching(x))
    assert dict(counters["stats"]) == {"unique_graphs": 2, "calls_captured": 5}
    assert counters["frames"]["ok"] == 2 and len(counters["graph_break"]) == 1
    (got,), (wanted,) = (torch.autograd.grad(f(x).sum(), x) for f in (compiled, branching))
    assert torch.equal(got, wanted)


def test_a_call_within_other_transforms_is_of_another_kind():
    fn = torch.compile(lambda x: torch.vmap(torch.sin)(x), backend="eager")
    x = torch.zeros(3, 2, 2)
    torch.vmap(fn, randomness="same")(x)
    with torch._dynamo.config.patch(error_on_recompile=True):
        torch.vmap(fn, randomness="same")(x)
        for other in (torch.vmap(fn), torch.vmap(torch.vmap(fn)), fn):
            with pytest.raises(torch._dynamo.exc.RecompileError):
                other(x)


def test_a_backend_is_asked_again_in_another_grad_mode():
    modes = []
    compiled = torch.compile(lambda x: x + 1, backend=lambda m, i: modes.append(torch.is_grad_enabled()) or m)
    for enabled in (True, False, True):
        with torch.set_grad_enabled(enabled):
            compiled(torch.ones(2))
    assert modes == [True, False]


def test_a_backend_may_give_numbers():
    compiled = torch.compile(lambda x: x + 1, backend=lambda module, inputs: lambda *given: (3,))
    assert [compiled(torch.ones(2)).tolist() for _ in range(3)] == [[3, 3]] * 3


def test_metrics_of_the_last_graphs():
    utils = torch._dynamo.utils
    utils.clear_compilation_metrics()
    utils.set_compilation_metrics_limit(3)

    def broken(module, inputs):
        raise RuntimeError("broken backend")

    try:
        torch.compile(branching, backend=noted([]))(torch.ones(2))
        torch.compile(lambda x: x.cos(), backend="eager")(torch.ones(2))
        with torch._dynamo.config.patch(suppress_errors=True):
            torch.compile(lambda x: x.sin(), backend=broken)(torch.ones(2))
        found = utils.get_compilation_metrics()
    finally:
        utils.set_compilation_metrics_limit(utils.DEFAULT_COMPILATION_METRICS_LIMIT)
    assert [m.graph_op_count for m in found] == [2, 1, 1]  # of four the last three
    assert found[-1].fail_reason == "RuntimeError: broken backend" and found[0].fail_reason is None


def test_two_models_are_compared_with_their_gradients():
    from rushlight._dynamo.debug_utils import same_two_models

    class Backward(torch.autograd.Function):
        forward = staticmethod(lambda ctx, x: x * 2)
        backward = staticmethod(lambda ctx, grad: grad)

    class Module(nn.Module):
        def __init__(self, f):
            super().__init__()
            self.f = f

        def forward(self, x):
            return [self.f(x)]

    double, other = Module(lambda x: x * 2), Module(Backward.apply)
    x = torch.ones(2, requires_grad=True)
    assert same_two_models(double, torch.compile(double), [x])
    assert not same_two_models(double, other, [x]) and same_two_models(double, other, [x], only_fwd=True)
