"""torch.export: programs print as PyTorch's do, run at other sizes, and say what they cannot tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._dynamo.exc import UserError
from rushlight._engine.core.pytree import flatten
from rushlight.export import Dim, ExportedProgram, export, unflatten
from rushlight.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from tests.export import programs

GOLDENS = Path(__file__).parents[1] / "goldens" / "graphs.json"
RECORD = json.loads(GOLDENS.read_text(encoding="utf-8"))["export"]


@pytest.fixture(scope="module")
def texts():
    return programs.texts(torch)


@pytest.mark.parametrize("name", RECORD)
def test_texts_are_pytorchs(texts, name):
    assert texts[name] == RECORD[name]


@pytest.mark.parametrize("name", programs.modules(torch))
def test_programs_compute_what_modules_do(name):
    mod, args, kwargs, shapes = programs.modules(torch)[name]
    ep = export(mod, args, kwargs, dynamic_shapes=shapes)
    for size in (None, 2, 5, 7) if shapes and name != "two" else (None,):
        given = [torch.randn(size or a.shape[0], *a.shape[1:]) if a.is_floating_point() else a for a in args]
        before = {n: b.clone() for n, b in mod.named_buffers()}
        wanted = flatten(mod(*given, **kwargs))
        for n, b in mod.named_buffers():
            b.copy_(before[n])
        found = flatten(ep.module()(*given, **kwargs))
        assert found[1] == wanted[1]
        for ours, theirs in zip(found[0], wanted[0], strict=True):
            assert torch.equal(ours, theirs) if isinstance(ours, torch.Tensor) else ours == theirs


def test_sizes_outside_of_what_was_exported_are_refused():
    module = export(nn.Linear(4, 2), (torch.ones(3, 4),), dynamic_shapes=({0: Dim("b", max=64)},)).module()
    assert module(torch.ones(64, 4)).shape == (64, 2)
    for wrong, why in (
        (torch.ones(65, 4), r"input.size\(\)\[0\] <= 64"),
        (torch.ones(3, 5), r"size\(\)\[1\] == 4"),
        (torch.ones(4), "dim"),
    ):
        with pytest.raises(AssertionError, match=f"Guard failed: .*{why}"):
            module(wrong)
    with pytest.raises(RuntimeError, match="same dtype"):
        module(torch.ones(3, 4).double())
    with pytest.raises(ValueError, match="tree spec"):
        module((torch.ones(3, 4),))
    with pytest.raises(ValueError, match="tree spec"):
        module(torch.ones(3, 4), torch.ones(2))


class Branch(nn.Module):
    """Looks at a tensor's numbers."""

    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x


class Small(nn.Module):
    """Does something else for large batches."""

    def forward(self, x):
        return x + 1 if x.shape[0] > 5 else x[:2]


def test_what_depends_on_numbers_is_refused_with_its_line():
    with pytest.raises(
        GuardOnDataDependentSymNode, match=r"(?s)Could not guard on data-dependent.*if x.sum\(\) > 0"
    ):
        export(Branch(), (torch.ones(3),))


def test_what_depends_on_sizes():
    with pytest.raises(UserError, match=r"Constraints violated \(b\)"):
        export(Small(), (torch.ones(3, 2),), dynamic_shapes=({0: Dim("b")},))
    ep = export(Small(), (torch.ones(3, 2),), dynamic_shapes=({0: Dim("b", max=5)},))
    assert str(ep.range_constraints) == "{s77: VR[0, 5]}"
    ep = export(Small(), (torch.ones(3, 2),), dynamic_shapes=({0: Dim.AUTO},))
    assert str(ep.range_constraints) == "{s77: VR[2, 5]}"


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="instance of `torch.nn.Module`"):
        export(lambda x: x, (torch.ones(2),))
    with pytest.raises(UserError, match="tuple of example positional inputs"):
        export(nn.ReLU(), torch.ones(2))
    with pytest.raises(UserError, match="top-level keys must be the arg names"):
        export(nn.ReLU(), (torch.ones(2),), dynamic_shapes={"y": None})
    with pytest.raises(UserError, match="Unexpected dimension"):
        export(nn.ReLU(), (torch.ones(2),), dynamic_shapes=({0: "b"},))
    with pytest.raises(AssertionError, match="inconsistent"):
        Dim("b", min=4, max=3)
    with pytest.raises(NotImplementedError, match="positive integer"):
        Dim("b") * -1
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly"):
        export(nn.ReLU(), (torch.ones(2),))(torch.ones(2))


def test_exporting_leaves_the_module_and_the_random_numbers_alone():
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Dropout(0.5))
    state = {k: v.clone() for k, v in model.state_dict().items()}
    torch.manual_seed(3)
    ep = export(model, (torch.randn(4, 4),), dynamic_shapes=({0: Dim("b")},))
    drawn = torch.rand(2)
    torch.manual_seed(3)
    torch.randn(4, 4)
    assert torch.equal(drawn, torch.rand(2))
    assert all(torch.equal(v, state[k]) for k, v in model.state_dict().items())
    ep.module()(torch.randn(8, 4))  # in training: it counts, in the buffers that it shares
    assert model[1].num_batches_tracked == 1 and not torch.equal(
        model[1].running_mean, state["1.running_mean"]
    )
    with pytest.raises(NotImplementedError, match="eval"):
        ep.module().eval()


def test_programs_can_ask_whether_they_are_exported():
    seen = set()

    class Asks(nn.Module):
        def forward(self, x):
            seen.add((torch.compiler.is_compiling(), torch.compiler.is_exporting()))
            return x + 1

    export(Asks(), (torch.ones(2),))
    assert seen == {(True, True)} and not torch.compiler.is_exporting()


def test_sizes_become_expressions():
    class Shapes(nn.Module):
        def forward(self, x, y):
            n, m = x.shape[0], y.shape[0]
            return (
                x.view(n * 2, -1),
                torch.zeros(n * m, n + m),
                torch.arange(n // 2),
                x[: n - 1],
                x.mean(0) * n,
            )

    x, y = torch.ones(6, 4), torch.ones(5)
    ep = export(Shapes(), (x, y), dynamic_shapes={"x": {0: Dim("n", min=2)}, "y": {0: Dim("m", min=2)}})
    for n, m in ((6, 5), (3, 8), (11, 2)):
        ours, theirs = ep.module()(torch.ones(n, 4), torch.ones(m)), Shapes()(torch.ones(n, 4), torch.ones(m))
        assert [t.tolist() for t in ours] == [t.tolist() for t in theirs]


def test_derived_dimensions():
    class Join(nn.Module):
        def forward(self, x, y):
            return x + y[1:]

    b = Dim("b")
    ep = export(Join(), (torch.ones(3), torch.ones(4)), dynamic_shapes=({0: b}, {0: b + 1}))
    assert ep.module()(torch.ones(7), torch.ones(8)).shape == (7,)
    with pytest.raises(UserError, match="to be equal to"):
        export(Join(), (torch.ones(3), torch.ones(5)), dynamic_shapes=({0: b}, {0: 2 * b}))


def test_writes_are_part_of_the_program():
    class Writes(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(2))

        def forward(self, x):
            y = x.clone()
            y[:, 0] = 1
            y[0] = x[1]
            y += 1
            self.seen.add_(x.sum(0))
            return y, self.seen * 2

    mod, x = Writes(), torch.randn(3, 2)
    ep = export(mod, (x,))
    wanted = Writes()(x)
    assert all(torch.equal(a, b) for a, b in zip(ep.module()(x), wanted, strict=True))
    assert torch.equal(mod.seen, x.sum(0))


def test_programs_are_compiled():
    ep = export(nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)), (torch.randn(3, 4),))
    module = ep.module()
    fast = torch.compile(module)
    for _ in range(4):
        x = torch.randn(3, 4)
        assert torch.equal(fast(x), module(x))
    assert "replayed" in str(torch.explain(fast))


def test_signatures():
    signature = export(*programs.modules(torch)["heads"][:3]).graph_signature
    assert signature.inputs_to_buffers == {"b_k": "k", "b_hidden": "hidden"} and signature.parameters == ()
    assert signature.buffers == ("k", "hidden") and signature.non_persistent_buffers == ("hidden",)
    assert signature.lifted_tensor_constants == ("c", "lifted_tensor_0") and signature.buffers_to_mutate == {}
    assert signature.user_inputs == ("x", "d_q") and signature.user_outputs[-4:] == (6, None, 3, "zeros")


def test_gradients_flow_to_the_state():
    model = nn.Linear(4, 2)
    ep = export(model, (torch.ones(3, 4),))
    ep.module()(torch.ones(3, 4)).sum().backward()
    assert torch.equal(model.bias.grad, torch.full((2,), 3.0))
    assert [n for n, _ in unflatten(ep).named_parameters()] == ["weight", "bias"]


def test_decompositions_compute_the_same():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.LogSoftmax(1)).eval()
    x = torch.randn(2, 3, 8, 8)
    ep = export(model, (x,), dynamic_shapes=({0: Dim("b")},))
    smaller = ep.run_decompositions()
    assert len(list(smaller.graph.nodes)) > len(list(ep.graph.nodes))
    assert str(ep.run_decompositions({}).graph) == str(ep.graph)
    for n in (2, 5):
        x = torch.randn(n, 3, 8, 8)
        torch.testing.assert_close(smaller.module()(x), model(x))


def test_overloads():
    add = torch.ops.aten.add.Tensor
    assert str(add) == "aten.add.Tensor" and repr(add) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert add is torch.ops.aten.add.Tensor and add != torch.ops.aten.add.Scalar
    assert add(torch.ones(2), 1, alpha=2).tolist() == [3, 3]
    assert torch.ops.aten.linear.default(torch.ones(1, 2), torch.ones(3, 2)).tolist() == [[2, 2, 2]]
    assert torch.ops.aten.mm.default in {torch.mm} and torch.mm in [torch.ops.aten.mm.default]
    with pytest.raises(AttributeError, match="'_OpNamespace' 'aten' object has no attribute 'nonsense'"):
        torch.ops.aten.nonsense
    with pytest.raises(RuntimeError, match="Unknown keyword argument .beta. for operator .aten::add."):
        add(torch.ones(2), 1, beta=2)
    graph = export(nn.ReLU(), (torch.ones(2),)).graph
    assert [n.target for n in graph.nodes if n.op == "call_function"] == [torch.ops.aten.relu.default]
    assert isinstance(export(nn.ReLU(), (torch.ones(2),)), ExportedProgram)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("indices", [False, True])
def test_adaptive_max_pools_take_what_was_asked_for(dims, indices):
    pool = getattr(torch.nn.functional, f"adaptive_max_pool{dims}d")

    class Pool(torch.nn.Module):
        def forward(self, x):
            return pool(x, 2, return_indices=indices)

    x, other = torch.randn(1, 1, *[4] * dims), torch.randn(1, 1, *[4] * dims)
    program = torch.export.export(Pool(), (x,))
    for run in (program.module(), program.run_decompositions().module()):
        torch.testing.assert_close(run(other), Pool()(other))
    found = getattr(torch.ops.aten, f"adaptive_max_pool{dims}d").default(x, [2] * dims)
    assert isinstance(found, tuple) and len(found) == 2


def test_a_disabled_function_is_exported_like_any_other():
    class Model(torch.nn.Module):
        @torch.compiler.disable
        def forward(self, x):
            return x * 2

    assert torch.export.export(Model(), (torch.ones(2),)).module()(torch.ones(2) * 3).tolist() == [6, 6]


def test_a_schema_tells_its_results():
    assert [r.name for r in torch.ops.aten.max.dim._schema.returns] == ["values", "indices"]
    assert [r.type for r in torch.ops.aten.add.Tensor._schema.returns] == ["Tensor"]
    assert torch.ops.aten._assert_async.default._schema.returns == ()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.vmap(lambda x: (x * x + 1).exp().sum())(x),
        lambda x: torch.vmap(lambda x, y: (x * y + y).sum(0), in_dims=(0, None))(x, x),
        lambda x: torch.func.jvp(lambda x: (x * x).sin(), (x,), (torch.ones_like(x),))[1],
        torch.func.grad(lambda x: (x * x).sin().sum()),
        torch.vmap(torch.func.grad(lambda x: (x * x).sin().sum())),
        torch.func.jacfwd(lambda x: (x * x).sin().sum(0)),
    ],
)
def test_transforms_are_exported_and_not_their_results(function):
    class Transformed(torch.nn.Module):
        def forward(self, x):
            return function(x)

    program = torch.export.export(Transformed(), (torch.randn(4, 4),)).module()
    other = torch.randn(4, 4)
    torch.testing.assert_close(program(other), function(other))


class Gives(torch.nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda x: (y for y in [x]), "generator"),
        (lambda x: {"a": x, "b": {x}}, "set"),
        (lambda x: (x, x.dtype), r".*\.dtype"),
        (lambda x: torch.distributions.Normal(x, x, validate_args=False), r".*\.Normal"),
    ],
)
def test_results_that_no_graph_gives(function: Any, kind: str) -> None:
    with pytest.raises(RuntimeError, match=f"Found <class '{kind}'> in output, which is not a known type"):
        torch.export.export(Gives(function), (torch.ones(2),))


def test_a_question_by_name_is_a_branch_too():
    class Asking(nn.Module):
        def forward(self, x):
            return x * 2 if x.sum().is_nonzero() else x

    with pytest.raises(GuardOnDataDependentSymNode, match="is_nonzero"):
        export(Asking(), (torch.ones(3),))
