"""torch.compile's arguments, torch.compiler, torch._dynamo, compiled modules."""
import pytest

import rushlight as torch
from rushlight import nn


@pytest.mark.parametrize(("options", "error", "text"), [
    ({"mode": "fast"}, RuntimeError, "Unrecognized mode=fast, should be one of: default, lite"),
    ({"mode": "default", "options": {"a": 1}}, RuntimeError, "Either mode or options"),
    ({"options": {"a": 1}}, RuntimeError, "Unexpected optimization option a"),
    ({"backend": "nope"}, RuntimeError, "Invalid backend: 'nope'"),
    ({"backend": lambda graph, inputs: graph}, NotImplementedError, "FX graph")])
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
    assert repr(compiled) == ("OptimizedModule(\n  (_orig_mod): Linear(in_features=2, out_features=3, "
                              "bias=True)\n)")
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
    assert torch._dynamo.list_backends() == torch.compiler.list_backends() == ["inductor", "eager", "aot_eager"]

    @torch.compile(mode="reduce-overhead")
    def f(x):
        return x + 1, torch.compiler.is_compiling()

    assert [f(torch.ones(1))[1] for _ in range(5)] == [False, True, True, True, True]
    torch.compiler.reset()
    assert f(torch.ones(1))[1] is False
    torch._dynamo.config.suppress_errors = True
    torch._dynamo.reset()
    with pytest.raises(AttributeError, match="torch.compiler"):
        torch.compiler.nothing  # noqa: B018


def test_explanations():
    report = torch._dynamo.explain(lambda x: (x * 2).sum())(torch.ones(3))
    assert report.op_count == 2 and report.refusals == [] and "test_api.py" in str(report)
    eager = torch.compile(lambda x: x * 2, backend="eager")
    eager(torch.ones(2))
    assert "nothing is compiled" in str(torch.explain(eager))
