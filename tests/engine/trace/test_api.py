"""torch.compile's arguments, torch.compiler, torch._dynamo, compiled modules."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.trace.compiled import Compiled


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"mode": "fast"}, RuntimeError, "Unrecognized mode=fast, should be one of: default, lite"),
        ({"mode": "default", "options": {"a": 1}}, RuntimeError, "Either mode or options"),
        ({"options": {"a": 1}}, RuntimeError, "Unexpected optimization option a"),
        ({"backend": "nope"}, RuntimeError, "Invalid backend: 'nope'"),
    ],
)
def test_bad_arguments(options, error, text):
    with pytest.raises(error, match=text):
        torch.compile(lambda x: x, **options)


def test_only_callables():
    with pytest.raises(AssertionError, match="A callable function is expected"):
        torch.compile(3)


def test_decorators_keep_names():
    @torch.compile
    def f(x):
        """Twice."""
        return x * 2

    @torch.compile(mode="reduce-overhead", dynamic=True)
    def g(x):
        return x * 2

    assert (f.__name__, f.__doc__, g.__name__) == ("f", "Twice.", "g")
    assert f(torch.ones(1)).item() == g(torch.ones(1)).item() == 2
    assert torch.compile(f, disable=True) is f


def test_modules():
    module = nn.Linear(2, 3)
    compiled = torch.compile(module)
    assert repr(compiled) == (
        "OptimizedModule(\n  (_orig_mod): Linear(in_features=2, out_features=3, bias=True)\n)"
    )
    assert list(compiled.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    assert compiled.weight is module.weight and compiled.in_features == 2
    assert torch.equal(compiled(torch.ones(1, 2)), module(torch.ones(1, 2)))
    compiled.eval()
    assert not module.training and not compiled.training
    compiled.extra = 5
    assert module.extra == 5


def test_modules_in_place():
    module = nn.Linear(2, 3)
    expected = module(torch.ones(1, 2))
    assert module.compile() is None
    assert torch.equal(module(torch.ones(1, 2)), expected) and list(module.state_dict()) == ["weight", "bias"]


def test_a_compiled_module_trains():
    module = torch.compile(nn.Linear(2, 1))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    first = None
    for _ in range(20):
        optimizer.zero_grad()
        loss = (module(torch.ones(4, 2)) - 3).square().mean()
        loss.backward()
        optimizer.step()
        first = first or loss.item()
    assert loss.item() < first / 100


def test_the_compiler_namespace():
    assert torch.compiler.is_compiling() is False and torch.compiler.is_dynamo_compiling() is False
    assert torch._dynamo.list_backends() == torch.compiler.list_backends() == ["cudagraphs", "inductor"]
    names = torch._dynamo.list_backends(exclude_tags=None)
    assert {"eager", "aot_eager", "aot_eager_decomp_partition", "eager_noexcept"} < {*names}
    for name in names:
        if callable(torch._dynamo.lookup_backend(name)):
            found = torch.compile(lambda x: x * 2, backend=name, fullgraph=True)(torch.ones(2))
            assert found.tolist() == [2.0, 2.0]

    @torch.compile(mode="reduce-overhead")
    def f(x):
        return x + 1, torch.compiler.is_compiling()

    assert [f(torch.ones(1))[1] for _ in range(5)] == [True] * 5
    torch.compiler.reset()
    assert f(torch.ones(1))[1] is True
    with torch._dynamo.config.patch(suppress_errors=True):
        torch._dynamo.reset()
    with pytest.raises(AttributeError, match="torch.compiler"):
        torch.compiler.nothing


def test_explanations():
    report = torch._dynamo.explain(lambda x: (x * 2).sum())(torch.ones(3))
    assert (
        report.op_count == 2
        and report.break_reasons == []
        and report.graph_count == 1
        and report.ops_per_graph == [["mul", "sum"]]
    )
    eager = torch.compile(lambda x: x * 2, backend="eager")
    eager(torch.ones(2))
    assert "nothing is compiled" in str(torch.explain(eager))


def test_a_budget_of_no_time_fuses_nothing():
    def f(x):
        return (x * 2 + 1).relu().sum()

    x = torch.randn(5)
    reports = []
    for budget in (None, 0.0):
        compiled = torch.compile(f, mode="reduce-overhead", budget_s=budget)
        assert all(torch.equal(compiled(x), f(x)) for _ in range(5))
        reports.append(str(torch.explain(compiled)))
    assert all("replayed 2 times" in r for r in reports)
    assert "= relu %" in reports[0] and "relu" not in reports[1]


def test_verify_writes_down_a_kernel_that_differs(monkeypatch):
    import subprocess
    import sys

    from rushlight._engine.trace.passes import lowering

    node = lowering.node
    monkeypatch.setattr(
        lowering, "node", lambda form, exprs, *rest, **how: node(form, [e + e for e in exprs], *rest, **how)
    )
    compiled = torch.compile(lambda x: x.exp(), mode="reduce-overhead", verify=True)
    x = torch.ones(3)
    assert all(torch.equal(compiled(x), x.exp()) for _ in range(5))
    report = str(torch.explain(compiled))
    script = report.partition("its kernel is wrong: ")[2].partition(" ")[0]
    shown = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout
    assert shown.startswith("0 largest difference: 2.718")


def test_logs(monkeypatch, capsys):
    torch._logging.set_logs(graph_breaks=True, recompiles=True)
    try:
        module = nn.Linear(2, 2)
        compiled = torch.compile(module, mode="reduce-overhead")
        for _ in range(4):
            compiled(torch.ones(1, 2))
        module.eval()
        compiled(torch.ones(1, 2))
        item = torch.compile(lambda x: x.sum().item(), mode="reduce-overhead")
        for _ in range(2):
            item(torch.ones(1))
    finally:
        torch._logging.set_logs(graph_breaks=False, recompiles=False)
    printed = capsys.readouterr().err
    assert "Recompiling function Linear.forward: 'training' is no longer True" in printed
    assert "Graph break: the call stays eager" in printed and "test_api.py" in printed


def test_verbose_prints_graph_breaks(capsys):
    torch._dynamo.config.verbose = True
    try:
        compiled = torch.compile(lambda x: x.sum().item(), mode="reduce-overhead")
        compiled(torch.ones(1)), compiled(torch.ones(1))
    finally:
        torch._dynamo.config.verbose = False
    assert "Graph break" in capsys.readouterr().err and torch._dynamo.config.verbose is False


@pytest.mark.parametrize("mode", [None, "max-autotune-no-cudagraphs"])
def test_a_whole_graph_may_write_to_its_arguments(mode):
    @torch.compile(fullgraph=True, mode=mode)
    def update(p, grad):
        p.add_(grad, alpha=-0.5)

    p = torch.ones(3)
    for n in range(5):
        update(p, torch.ones(3))
        assert p.tolist() == [1 - 0.5 * (n + 1)] * 3


def test_a_new_kind_of_arguments_is_logged(caplog):
    double = torch.compile(lambda x, times=2: x * times)
    double(torch.ones(3))
    said = []
    for call in (
        lambda: double(torch.ones(3, dtype=torch.float64)),
        lambda: double(torch.ones(4, dtype=torch.float64)),
        lambda: double(torch.ones(2, 2, dtype=torch.float64)),
        lambda: double(torch.ones(2, 4, dtype=torch.float64)[:, ::2]),
        lambda: double(torch.ones(2, 4, dtype=torch.float64)[:, ::2].requires_grad_()),
        lambda: double(torch.ones(2, 4, dtype=torch.float64)[:, ::2].requires_grad_(), 3),
        lambda: double(torch.ones(2, 4, dtype=torch.float64)[:, ::2].requires_grad_(), 4),
    ):
        caplog.clear()
        with caplog.at_level("INFO", logger="rushlight.trace.recompiles"):
            call()
        said.append(caplog.messages[0].partition(": ")[2])
    assert said == [
        "tensor 0 dtype mismatch. expected Float, actual Double",
        "tensor 0 size mismatch at index 0. expected 3, actual 4",
        "tensor 0 rank mismatch. expected 1, actual 2",
        "tensor 0 stride mismatch at index 0. expected 2, actual 4",
        "tensor 0 requires_grad mismatch. expected requires_grad=0",
        "other arguments than before, or another order of them",
        "an argument was 3 and is 4",
    ]


def test_names_of_a_compiled_module():
    module = nn.Linear(2, 3)
    compiled = torch.compile(module)
    compiled.extra = 5
    assert {*dir(module), "extra", "weight", "_orig_mod"} <= {*dir(compiled)}


def test_control_flow_is_part_of_a_whole_graph():
    def branches(p, q, x):
        def inner(q, x):
            return torch.cond(q, lambda x: x.sin(), lambda x: x.cos(), [x])

        return torch.cond(p, lambda q, x: x + 1, inner, [q, x * 2]) * 3

    def loop(x):
        return torch.while_loop(lambda x: x.sum() < 100, lambda x: (x * 2,), (x,))[0] + 1

    for how in ({}, {"backend": "eager"}, {"backend": lambda gm, inputs: gm.forward}):
        compiled = [torch.compile(f, fullgraph=True, **how) for f in (branches, loop)]
        for number in range(8):
            p, q = torch.tensor(number % 2 == 0), torch.tensor(number % 3 == 0)
            x = torch.ones(3) * (number + 1)
            assert torch.equal(compiled[0](p, q, x), branches(p, q, x))
            assert torch.equal(compiled[1](x), loop(x))


def test_objects_that_are_new_at_each_turn_are_not_recorded_again_and_again(monkeypatch):
    class Cache:
        def __init__(self):
            self.held = torch.zeros(3)

    recorded = []
    record = Compiled._record
    monkeypatch.setattr(Compiled, "_record", lambda *args: recorded.append(None) or record(*args))
    f = torch.compile(lambda x, cache: cache.held.add_(x) * 2)
    for _ in range(5):
        cache = Cache()
        for _ in range(4):
            f(torch.ones(3), cache)
        assert cache.held.tolist() == [4, 4, 4]
    assert len(recorded) == 2
