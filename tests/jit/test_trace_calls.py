"""Traces keep calls: of submodules, of compiled functions; and are recorded twice, to be compared."""

from __future__ import annotations

import io

import pytest

import rushlight as torch
from rushlight import nn


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x, y):
        a = self.linear(x)
        return a + y, a


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.act = Inner(), nn.ReLU()
        self.scale = nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x):
        b, a = self.inner(x, x * 2)
        return self.act(self.act(b + a * self.scale)) + self.inner.linear.bias


def test_submodules_of_a_trace_are_called():
    model, x = Outer(), torch.randn(4, 3)
    traced = torch.jit.trace(model, x)
    other = torch.randn(7, 3)
    assert torch.equal(traced(other), model(other))
    assert torch.equal(traced.inner(other, other)[0], model.inner(other, other)[0])
    code = str(traced.code)
    assert "(inner).forward(x" in code and "(act0).forward1(" in code
    assert "prim::CallMethod" not in str(traced.inlined_graph)
    buffer = io.BytesIO()
    torch.jit.save(traced, buffer)
    buffer.seek(0)
    assert torch.equal(torch.jit.load(buffer)(other), model(other))


@torch.jit.script
def choose(a, c):
    b = 0.0
    if bool(a == 0.0):
        b = 1.0
    return b + c


def test_a_compiled_function_decides_anew_in_each_call():
    ones = torch.ones(1)
    traced = torch.jit.trace(lambda b: choose(b - 1.0, ones) + 1.0, torch.zeros(1))
    assert traced(torch.ones(1)).item() == 3 and traced(torch.zeros(1)).item() == 2


def test_conversions_hold_for_other_dtypes():
    traced = torch.jit.trace(lambda x: x.float(), torch.ones(2))
    assert traced(torch.ones(2, dtype=torch.float64)).dtype == torch.float32


def test_a_parameter_as_input_is_an_input():
    class Adds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.x = nn.Parameter(torch.rand(3))

        def forward(self, y):
            return self.x + y

    model, other = Adds(), torch.rand(3)
    assert torch.equal(torch.jit.trace(model, model.x)(other), model.x + other)


def test_inputs_and_results_in_dicts():
    traced = torch.jit.trace(lambda d: d["x"][1] * 2, ({"x": {1: torch.tensor(1)}},))
    assert traced({"x": {1: torch.tensor(4)}}).item() == 8
    with pytest.raises(RuntimeError, match=r"Type 'Tuple\[int\]' cannot be traced"):
        torch.jit.trace(lambda x: x, (1,))
    with pytest.raises(RuntimeError, match="List trace inputs must have elements"):
        torch.jit.trace(lambda x: x, ([],))

    class Named(nn.Module):
        def forward(self, x, y):
            return x - y

    traced = torch.jit.trace(Named(), example_kwarg_inputs={"y": torch.ones(1), "x": torch.ones(1)})
    assert traced(torch.ones(1) * 5, torch.ones(1)).item() == 4


def test_a_second_recording_must_be_the_same():
    def branches(x):
        return x + 1 if float(x.sum()) > 0 else x * 2

    with (
        pytest.warns(torch.jit.TracerWarning),
        pytest.raises(torch.jit.TracingCheckError, match="Graphs differed across invocations"),
    ):
        torch.jit.trace(branches, torch.ones(2), check_inputs=[-torch.ones(2)])
    with pytest.warns(torch.jit.TracerWarning, match="nondeterministic nodes"):
        torch.jit.trace(lambda x: torch.dropout(x, 0.5, True), torch.ones(30))


def test_in_place_ops_return_the_tensor_itself():
    seen = []

    def writes(x):
        y = x * 1
        seen.append(y.add_(1) is y)
        y.detach_()
        return y

    x = torch.ones(2, requires_grad=True)
    traced = torch.jit.trace(writes, x)
    assert all(seen) and not traced(x).requires_grad


def test_values_with_leading_ones():
    def put(t, i, v):
        t = t.clone()
        t[i] = v
        return t

    args = torch.zeros(5), torch.tensor([1, 2]), torch.ones(1, 1, 2)
    assert torch.equal(torch.jit.trace(put, args)(*args), put(*args))
    mapped = torch.vmap(put, (0, None, 0))(torch.zeros(3, 5), torch.tensor([0, 1]), torch.ones(3, 1, 2))
    assert mapped[:, :2].eq(1).all() and mapped[:, 2:].eq(0).all()


def test_passes_over_graphs():
    traced = torch.jit.trace(Outer(), torch.randn(2, 3))
    graph = torch._C._jit_pass_canonicalize(traced.graph)
    torch._C._jit_pass_inline(graph)
    assert "CallMethod" not in str(graph) and "CallMethod" in str(traced.graph)
    torch._C._jit_pass_erase_shape_information(graph)
    assert "Float(" not in str(graph)
    graph, _ = torch.jit._get_trace_graph(lambda x: (x + 1) * 2, (torch.ones(2),))
    torch._C._jit_pass_dce(graph)
    function = torch._C._create_function_from_graph("f", graph)
    assert function(torch.ones(2)).tolist() == [4.0, 4.0]


@pytest.mark.parametrize("method", ["resize_", "resize_as_"])
def test_what_a_trace_cannot_follow_is_said(method):
    def changed(x, y):
        z = x.clone()
        getattr(z, method)(y if method == "resize_as_" else y.shape)
        return z * y

    with pytest.warns(torch.jit.TracerWarning, match=f"{method} can't be represented in the JIT"):
        torch.jit.trace(changed, (torch.ones(2, 3), torch.ones(3, 2)), check_trace=False)


class Scaled(torch.autograd.Function):
    """Its gradient is not that of what its forward runs."""

    @staticmethod
    def forward(ctx, x, scale):
        return x * scale, x + scale

    @staticmethod
    def backward(ctx, first, second):
        return first * 100 + second, None


def test_a_custom_function_keeps_its_gradient():
    traced = torch.jit.trace(lambda x: Scaled.apply(x, 3.0)[0] + 1, torch.rand(2))
    x = torch.ones(2, requires_grad=True)
    found = traced(x)
    found.sum().backward()
    assert found.tolist() == [4.0, 4.0] and x.grad.tolist() == [100.0, 100.0]
    node = traced.graph.findNode("prim::PythonOp")
    assert (node.pyname(), node.scalar_args()) == ("Scaled", [3.0])
    assert "^Scaled(3.0)(%x" in str(traced.graph) and "^Scaled(3.0)(x)" in traced.code
    with pytest.raises(RuntimeError, match="Could not export Python function call 'Scaled'"):
        traced.save(io.BytesIO())


def test_what_went_to_python_only_is_not_in_the_graph():
    def branching(x):
        return x + 2 if (x * 3).sum() < 1e9 else x

    with pytest.warns(torch.jit.TracerWarning):
        traced = torch.jit.trace(branching, torch.rand(2), check_trace=False)
    assert [n.kind() for n in traced.graph.nodes() if n.kind() != "prim::Constant"] == ["aten::add"]


def test_a_module_whose_result_nobody_reads_gives_it_when_called():
    class Idle(nn.Module):
        def __init__(self):
            super().__init__()
            self.idle = nn.Linear(3, 3)

        def forward(self, x):
            self.idle(x)
            return x * 2

    traced = torch.jit.trace(Idle(), torch.rand(2, 3))
    assert traced(torch.ones(2, 3)).sum().item() == 12.0 and traced.idle(torch.ones(1, 3)).shape == (1, 3)


def test_the_trace_of_a_modules_forward_is_a_module():
    layer = torch.nn.Linear(2, 3)
    traced = torch.jit.trace(layer.forward, torch.ones(1, 2))
    assert isinstance(traced, torch.jit.ScriptModule)
    assert torch.equal(traced(torch.ones(4, 2)), layer(torch.ones(4, 2)))


@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
@pytest.mark.parametrize(
    "of",
    [
        lambda x, i: x[..., i],
        lambda x, i: x[..., i, i],
        lambda x, i: x[:, i, ..., i],
        lambda x, i: x[..., None, i],
        lambda x, i: x[0, ..., [0, 1], :],
        lambda x, i: x[..., x[0, 0] > 0],
        lambda x, i: x[..., (x[0, 0] > 0).to(torch.uint8)],
    ],
)
def test_a_trace_gathers_behind_dots(of):
    x, i = torch.randn(4, 4, 4, 4), torch.tensor([0, 2])
    assert torch.equal(torch.jit.trace(of, (x, i))(x, i), of(x, i))


def _words_drawn(run) -> int:
    """How many numbers of 24 bits a call takes of the generator."""
    torch.manual_seed(0)
    numbers = torch.rand(2000)
    torch.manual_seed(0)
    run()
    return int((numbers == torch.rand(1)).nonzero()[0])


@pytest.mark.filterwarnings("ignore")
def test_the_check_draws_random_numbers_as_any_run() -> None:
    def noisy(x):
        return torch.rand(100) + x

    x = torch.zeros(100)
    assert _words_drawn(lambda: torch.jit.trace(noisy, (x,), check_trace=False)) == 100
    assert _words_drawn(lambda: torch.jit.trace(noisy, (x,))) == 400
    assert _words_drawn(lambda: torch.jit.trace(noisy, (x,), check_inputs=[(x,), (x + 1,)])) == 700
    # Dropout of zeros is the same each time, so the repeated trace is run, too.
    assert _words_drawn(lambda: torch.jit.trace(nn.Dropout(), (x,))) == 1000


def test_the_check_moves_statistics_as_any_run() -> None:
    x = torch.arange(12.0).view(4, 3)
    for options, runs in (({}, 5), ({"check_trace": False}, 1), ({"check_inputs": [(torch.ones(4, 3),)]}, 5)):
        norm = nn.BatchNorm1d(3)
        torch.jit.trace(norm, (x,), **options)
        assert int(norm.num_batches_tracked) == runs
    norm = nn.BatchNorm1d(3)
    torch.jit.trace(norm, (x,))
    torch.testing.assert_close(norm.running_mean, torch.tensor([1.8427952, 2.2523048, 2.6618152]))


def test_which_runs_are_recorded_and_know_gradients() -> None:
    seen = []

    class Two(nn.Module):
        def forward(self, x):
            return x + 1

        def other(self, x):
            seen.append((torch.is_grad_enabled(), torch.jit.is_tracing()))
            return x * 1

    x = torch.ones(3)
    torch.jit.trace_module(Two(), {"forward": x, "other": x})
    assert seen == [(False, True), (True, True), (False, True), (False, False)]
    calls = []
    torch.jit.trace(lambda x: (calls.append(1), x * 2)[1], (x,), check_inputs=[(x,), (x,)])
    assert len(calls) == 5


def test_each_result_that_differs_is_told() -> None:
    with pytest.warns(torch.jit.TracerWarning) as told:
        torch.jit.trace(lambda x: (torch.rand(3) + x, x * 2, torch.rand(2)), (torch.ones(3),))
    starts = [str(each.message)[:13] for each in told]
    assert starts == ["Trace had non", "Output nr 1. ", "Output nr 3. "]
