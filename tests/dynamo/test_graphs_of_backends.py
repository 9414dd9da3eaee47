"""What a function that is given as compile()'s `backend` sees, and how often it is asked."""

from __future__ import annotations

import linecache
import operator
import warnings
from types import MethodType
from typing import Any

import numpy as np
import pytest
from rushlight._dynamo.backends.common import aot_autograd

import rushlight as torch
from rushlight._dynamo.exc import BackendCompilerFailed, FailOnRecompileLimitHit
from rushlight._functorch.aot_autograd import make_boxed_func
from rushlight._subclasses.fake_tensor import FakeTensorMode
from rushlight.nn import functional as F


class Model(torch.nn.Module):
    """Layers that tell their ops by parts."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(4, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.last = torch.nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self.last(self.norm(self.fc(x)).relu()), torch.tensor([0, 1, 2]))


class Asked:
    """A backend that remembers what it was given."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.inputs: list[Any] = []

    def __call__(self, module: Any, inputs: Any) -> Any:
        self.graphs.append(module)
        self.inputs.append(inputs)
        return module.forward


@pytest.mark.parametrize(
    "make",
    [
        Model,
        lambda: torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GroupNorm(2, 4), torch.nn.RMSNorm(4)),
        lambda: torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval(),
        lambda: torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5), torch.nn.Softmax(-1)),
    ],
)
def test_one_graph_from_the_first_call_on(make: Any) -> None:
    model, asked = make(), Asked()
    x = torch.randn(3, 4)[None] if isinstance(model, torch.nn.TransformerEncoderLayer) else torch.randn(3, 4)
    compiled = torch.compile(model, backend=asked, fullgraph=True)
    for _ in range(4):
        compiled(x)
        assert len(asked.graphs) == 1


def test_explain_has_one_graph() -> None:
    told = torch._dynamo.explain(Model())(torch.randn(3, 4))
    assert (told.graph_count, told.graph_break_count, len(told.graphs)) == (1, 0, 1)
    assert len(told.graphs[0].graph.nodes) > told.op_count


def test_inputs_have_the_programs_names() -> None:
    asked, weight = Asked(), torch.nn.Parameter(torch.ones(2))
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))

    def f(x: torch.Tensor, pair: Any, by: Any) -> torch.Tensor:
        return model(x) * weight + pair[1] - by["a"]

    torch.compile(f, backend=asked)(torch.ones(2), [1, torch.ones(2)], {"a": torch.ones(2)})
    names = {n.name: n.target for n in asked.graphs[0].graph.nodes if n.op == "placeholder"}
    assert names["l_x_"] == "L_x_"
    assert {"l_weight_", "l_pair_1_", "l_by_a_", "l_model_modules_0_parameters_bias_"} < set(names)
    given = dict(zip(names, asked.inputs[0], strict=True))
    assert given["l_weight_"] is weight and type(given["l_x_"]) is torch.Tensor


class Linked(torch.nn.Module):
    """Layers that hold each other, and the model."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))
        self.model, self.others = [model], model.all
        model.all.append(self)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


class Links(torch.nn.Module):
    """A model of such layers."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[Any] = []
        self.layers = torch.nn.Sequential(*[Linked(self) for _ in range(30)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def test_what_holds_itself_is_looked_into_once() -> None:
    asked, model = Asked(), Links()
    assert torch.compile(model, backend=asked)(torch.ones(2)).equal(torch.ones(2))
    names = [n.target for n in asked.graphs[0].graph.nodes if n.op == "placeholder"]
    weights = [f"L_self_modules_layers_modules_{i}_parameters_weight_" for i in range(30)]
    assert sorted(names) == sorted(["L_x_", *weights])


def test_two_inputs_of_one_memory() -> None:
    asked = Asked()
    compiled = torch.compile(lambda x: x + x.data.view(2, 2), backend=asked)
    x = torch.ones(2, 2)
    for _ in range(3):
        assert compiled(x).equal(x * 2)


def test_shapes_are_told() -> None:
    asked = Asked()
    torch.compile(lambda x, y: (x @ y).relu(), backend=asked)(torch.ones(5, 3), torch.ones(3, 2))
    shapes = [tuple(n.meta["example_value"].shape) for n in asked.graphs[0].graph.nodes if n.op != "output"]
    assert shapes == [(5, 3), (3, 2), (5, 2), (5, 2)]


def test_backends_compute_as_they_like() -> None:
    asked = []

    def backend(module: Any, inputs: Any) -> Any:
        asked.append(module(*inputs)[-1])  # ops of its own are no part of the call
        return module.forward

    weight = torch.ones(3)

    def f(x: torch.Tensor) -> torch.Tensor:
        found = torch.zeros(3)
        found.add_(x)
        return (found * weight).sum()

    compiled = torch.compile(f, backend=backend)
    x = torch.arange(3.0)
    assert [compiled(x).item() for _ in range(4)] == [3.0] * 4
    assert len(asked) == 1 and asked[0].item() == 3.0


def test_errors_are_suppressed_if_that_is_set() -> None:
    def failing(module: Any, inputs: Any) -> Any:
        raise ValueError("not this one")

    x = torch.ones(2)
    with pytest.raises(BackendCompilerFailed, match="not this one"):
        torch.compile(lambda x: x + 1, backend=failing)(x)
    with torch._dynamo.config.patch(suppress_errors=True):
        compiled = torch.compile(lambda x: x + 2, backend=failing)
        assert all(compiled(x).equal(x + 2) for _ in range(4))


def test_limit_of_recompilations() -> None:
    asked = Asked()
    compiled = torch.compile(lambda x, name: x + len(name), backend=asked)
    with torch._dynamo.config.patch(recompile_limit=2):
        for i in range(5):
            assert compiled(torch.ones(2), "a" * i).equal(torch.ones(2) + i)
        assert len(asked.graphs) == 2
        with torch._dynamo.config.patch(fail_on_recompile_limit_hit=True):
            with pytest.raises(FailOnRecompileLimitHit, match="due to fail_on_recompile_limit_hit"):
                compiled(torch.ones(2), "another")
        whole = torch.compile(lambda x, name: x + len(name), backend=asked, fullgraph=True)
        with pytest.raises(FailOnRecompileLimitHit, match="due to fullgraph=True"):
            for i in range(3):
                whole(torch.ones(2), "a" * i)


def test_graphs_of_aten_ops() -> None:
    graphs = []

    def compiler(module: Any, inputs: Any) -> Any:
        graphs.append([str(n.target) for n in module.graph.nodes if n.op == "call_function"])
        return make_boxed_func(module.forward)

    weight = torch.randn(4, requires_grad=True)
    compiled = torch.compile(lambda x: (x * weight).sin().sum(), backend=aot_autograd(fw_compiler=compiler))
    x = torch.randn(4)
    for _ in range(3):
        weight.grad = None
        compiled(x).backward()
        assert weight.grad is not None
        torch.testing.assert_close(weight.grad, (x * weight).cos().detach() * x)
    assert graphs[0] == ["aten.mul.Tensor", "aten.sin.default", "aten.sum.default"]
    assert len(graphs) == 2 and "aten.cos.default" in graphs[1]
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), (x * weight).sin().sum())


@pytest.mark.parametrize("fullgraph", [False, True])
def test_the_first_call_counts_a_batch_once(fullgraph: bool) -> None:
    layer = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 2))
    compiled = torch.compile(layer, backend=lambda graph, _: graph.forward, fullgraph=fullgraph)
    for calls in (1, 2, 3):
        compiled(torch.randn(4, 2))
        assert layer[0].num_batches_tracked.item() == calls


def test_numpys_numbers_and_arrays_in_graphs() -> None:
    texts = []

    def backend(graph: Any, _: Any) -> Any:
        texts.append(graph.code)
        return graph.forward

    compiled = torch.compile(lambda x, n: torch.full((2,), n) + x * n, backend=backend)
    assert compiled(torch.ones(2), np.int64(4)).tolist() == [8.0, 8.0]
    assert compiled(torch.ones(2), np.float32(0.5)).tolist() == [1.0, 1.0]
    assert "np." not in "".join(texts) and "torch.full((2,), 4)" in texts[0]

    def repeated(lengths: list[int]) -> torch.Tensor:
        return torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths)) + 1

    compiled = torch.compile(repeated, backend=backend)
    for lengths in ([2, 3], [4, 4], [1, 2]):
        assert compiled(lengths).equal(repeated(lengths))
    assert "array(" not in "".join(texts)


@pytest.mark.parametrize("size", [5, 4])
def test_data_that_is_replaced(size: int) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        z = torch.zeros(size)
        z.data = x.data
        return z * x

    compiled = torch.compile(function, backend=lambda graph, _: graph.forward)
    for i in range(3):
        x = torch.arange(5.0) + i
        assert compiled(x).equal(x * x)


def test_settings_that_are_sets() -> None:
    config = torch._dynamo.config
    for name in (
        "traceable_tensor_subclasses",
        "nontraceable_tensor_subclasses",
        "reorderable_logging_functions",
    ):
        assert getattr(config, name) == set()
    with config.patch(reorderable_logging_functions={print}):
        assert print in config.reorderable_logging_functions


@pytest.fixture
def foo() -> Any:
    """An op of a program's own, whose function reads values; how often it was called."""
    calls: list[int] = []

    @torch.library.custom_op("told_whole::foo", mutates_args=())
    def foo(x: torch.Tensor, n: int = 2) -> torch.Tensor:
        calls.append(n)
        return torch.from_numpy(np.asarray(x.numpy() * n + 1)) + torch.rand(3)

    foo.register_fake(lambda x, n=2: torch.empty_like(x))
    foo.calls = calls
    return foo


def test_an_op_of_a_programs_own_is_one_node(foo: Any) -> None:
    asked = Asked()

    def f(x: torch.Tensor) -> torch.Tensor:
        return foo(x + 1, 3) * 2 + torch.ops.told_whole.foo.default(x)

    compiled = torch.compile(f, backend=asked, fullgraph=True)
    for _ in range(5):
        x = torch.randn(3)
        torch.manual_seed(3)
        wanted = f(x)
        torch.manual_seed(3)
        foo.calls.clear()
        assert compiled(x).equal(wanted)
        assert foo.calls == [3, 2]
    assert len(asked.graphs) == 1
    called = [n.target for n in asked.graphs[0].graph.nodes if n.op == "call_function"]
    assert called.count(torch.ops.told_whole.foo.default) == 2
    assert "torch.ops.told_whole.foo.default(add, 3)" in asked.graphs[0].code
    assert compiled(torch.ones(3, requires_grad=True)).shape == (3,)


def test_an_op_made_of_others_is_one_node() -> None:
    lib, asked = torch.library.Library("told_whole", "FRAGMENT"), Asked()
    lib.define("twice(Tensor x, float by=2.0) -> Tensor")
    lib.impl("twice", lambda x, by=2.0: x * by + 1, "CompositeImplicitAutograd")
    compiled = torch.compile(lambda x: torch.ops.told_whole.twice(x, by=4.0), backend=asked)
    for _ in range(3):
        assert compiled(torch.ones(2)).tolist() == [5, 5]
    assert [n.op for n in asked.graphs[0].graph.nodes] == ["placeholder", "call_function", "output"]


def test_an_op_that_does_not_tell_its_shape() -> None:
    @torch.library.custom_op("told_whole::most", mutates_args=())
    def most(x: torch.Tensor) -> torch.Tensor:
        return x[x > 0].clone()

    most.register_fake(lambda x: torch.empty_like(x))
    compiled = torch.compile(lambda x: most(x) + 1, backend=Asked())
    for x in (torch.ones(3), torch.ones(3), torch.ones(3), torch.tensor([1.0, -1.0, 1.0]), -torch.ones(3)):
        assert compiled(x).equal(x[x > 0] + 1)


class Option:
    """An object that holds a number."""

    by = 0


def _by_attribute(x: torch.Tensor, i: int) -> Any:
    given = Option()
    given.by = i
    return x, given


class Own(torch.nn.Module):
    """Counts its calls."""

    n = 1

    def forward(self, x: torch.Tensor, i: int) -> torch.Tensor:
        self.n += i - i + 1
        return x * self.n


@pytest.mark.parametrize(
    ("f", "numbers", "wanted"),
    [  # as often as PyTorch asks
        (lambda x, i: x[i] * (i + 2), range(6), [1, 2, 2, 2, 2, 2]),
        (lambda x, i: x * i, (0.5, 1.5, 0.0, 1.0), [1, 2, 2, 2]),
        (lambda x, i: x[: i + 1].reshape(-1).expand(i, -1).sum(), (2, 3, 4, 5), [1, 2, 2, 2]),
        (lambda x, i: x * i if i > 4 else x + i, (2, 3, 4, 5, 6), [1, 2, 2, 3, 3]),
        (lambda x, i: x.sum(i), (0, 1), [1, 2]),
        (lambda x, i: F.dropout(x, i, True), (0.25, 0.5, 0.75), [1, 2, 3]),
        (Own(), (1, 1, 1), [1, 2, 3]),
    ],
)
def test_numbers_that_differ(f: Any, numbers: Any, wanted: list[int]) -> None:
    asked, told = Asked(), []
    compiled = torch.compile(f, backend=asked)
    for i in numbers:
        x = torch.randn(8, 3)
        found = compiled(x, i)
        told.append(len(asked.graphs))
        if not isinstance(f, Own) and isinstance(numbers[0], int):
            assert found.equal(f(x, i))
    assert told == wanted


def test_numbers_of_an_object_and_of_a_closure() -> None:
    asked, held = Asked(), [2]
    compiled = torch.compile(lambda x, given: x * given.by, backend=asked)
    for i in range(2, 6):
        assert compiled(*_by_attribute(torch.ones(2), i)).tolist() == [i, i]
    assert len(asked.graphs) == 2
    compiled = torch.compile(lambda x: x * held[0], backend=asked)
    for i in range(2, 6):
        held[0] = i
        assert compiled(torch.ones(2)).tolist() == [i, i]
    assert len(asked.graphs) == 2 + 4


def test_a_number_and_a_backend_that_changes_its_graph() -> None:
    graphs: list[Any] = []

    def doubling(module: Any, inputs: Any) -> Any:
        graphs.append(module)
        out = next(n for n in module.graph.nodes if n.op == "output")
        with module.graph.inserting_before(out):
            out.args = ((module.graph.call_function(torch.add, (out.args[0][0], out.args[0][0])),),)
        module.recompile()
        return module.forward

    compiled = torch.compile(lambda x, i: x * i, backend=doubling)
    for i in (2, 3, 4, 5):
        assert compiled(torch.ones(2), i).tolist() == [2 * i, 2 * i]
    assert len(graphs) == 4  # what it would make of another number's is not known


def test_views_are_what_a_program_writes() -> None:
    asked = Asked()

    def f(x: torch.Tensor) -> Any:
        return (
            x[0],
            x[:, 1:],
            x[..., None],
            x[-1, 1],
            x[...],
            x.view(-1),
            x.view(3, 2),
            x.double(),
            x[None, :1],
        )

    compiled = torch.compile(f, backend=asked)
    for i in range(3):
        x = torch.arange(6.0).view(2, 3) + i
        assert [(t.tolist(), t.stride()) for t in compiled(x)] == [(t.tolist(), t.stride()) for t in f(x)]
    (graph,) = asked.graphs
    told = [line.partition(";")[0].partition(" = ")[2] for line in graph.code.splitlines() if "l_x_" in line]
    assert told[1:9] == [
        "l_x_[0]",
        "l_x_[(slice(None, None, None), slice(1, 3, 1))]",
        "l_x_.unsqueeze(2)",
        "l_x_[(-1, 1)]",
        "l_x_[Ellipsis]",
        "l_x_.view(-1)",
        "l_x_.view(3, 2)",
        "l_x_.to(torch.float64)",
    ]


def test_a_number_and_a_backend_that_changes_nodes_in_their_places() -> None:
    asked: list[Any] = []

    def adding(module: Any, inputs: Any) -> Any:
        asked.append(module)
        for n in module.graph.nodes:
            if n.target in (torch.mul, operator.mul):
                n.target = torch.add
        module.recompile()
        return module.forward

    compiled = torch.compile(lambda x, i: torch.mul(x, i), backend=adding)
    for i in (2, 3, 4, 5):
        assert compiled(torch.ones(2), i).tolist() == [1 + i, 1 + i]
    for n, i, times in ((3, 5, 5), (4, 2, 6), (5, 5, 6)):  # of its graph for 5 the size has become free
        assert compiled(torch.ones(n), i).tolist() == [1 + i] * n
        assert len(asked) == times


def test_a_number_and_a_backend_that_gives_a_method_of_its_own() -> None:
    def sevens(module: Any, inputs: Any) -> Any:
        return MethodType(lambda self, x: (x * 7,), module)

    compiled = torch.compile(lambda x, i: x * i, backend=sevens)
    for i in (2, 3, 4, 5):
        assert compiled(torch.ones(2), i).tolist() == [7, 7]


@pytest.mark.parametrize("other", [lambda x: x.double(), lambda x: x.t()])
def test_a_graph_is_not_taken_for_another_dtype_or_layout(other: Any) -> None:
    asked = Asked()
    compiled, told = torch.compile(lambda x, i: x * i, backend=asked), []
    for n in (2, 3, 4):
        compiled(torch.ones(n, n), n)
        told.append(len(asked.graphs))
    for n in (5, 6):
        assert compiled(other(torch.ones(n, n)), n).equal(other(torch.ones(n, n)) * n)
        told.append(len(asked.graphs))
    assert told == [1, 2, 2, 3, 3]


def test_an_op_of_no_tensors_is_called_as_often_as_the_program_does() -> None:
    calls: list[int] = []

    @torch.library.custom_op("told_whole::drawn", mutates_args=())
    def drawn(n: int, m: int = 2) -> torch.Tensor:
        calls.append(n)
        return torch.rand(n, m)

    drawn.register_fake(lambda n, m=2: torch.empty(n, m))
    lib, asked = torch.library.Library("told_whole", "FRAGMENT"), Asked()
    lib.define("noisy(Tensor x) -> Tensor")
    lib.impl("noisy", lambda x: x + torch.rand(3, 2), "CompositeImplicitAutograd")
    lib.define("noise(int n) -> Tensor")
    lib.impl("noise", lambda n: torch.rand(n), "CompositeImplicitAutograd")

    def f(x: torch.Tensor) -> Any:
        return torch.rand(2), x * drawn(3), torch.ops.told_whole.noisy(x), torch.ops.told_whole.noise(2)

    compiled = torch.compile(f, backend=asked)
    for seed in range(4):
        torch.manual_seed(seed)
        wanted = f(torch.ones(3, 2))
        torch.manual_seed(seed)
        calls.clear()
        assert all(map(torch.equal, compiled(torch.ones(3, 2)), wanted))
        assert calls == [3]
    with FakeTensorMode():
        assert drawn(4).shape == (4, 2) and calls == [3]


@pytest.mark.parametrize("writes", [True, False])
def test_an_op_that_reads_a_tensor_that_it_is_not_given(writes: bool) -> None:
    held = {"state": torch.zeros(2)}

    @torch.library.custom_op(f"told_whole::reads_{writes}", mutates_args=())
    def reads(x: torch.Tensor) -> torch.Tensor:
        return x + held["state"]

    reads.register_fake(torch.empty_like)

    def f(x: torch.Tensor) -> torch.Tensor:
        if writes:
            held["state"][0] = (x * 2).sum()
        else:
            held["state"] = x * 2
        return reads(x) + 1

    compiled = torch.compile(f, backend=Asked())
    for i in range(5):
        x = torch.full((2,), float(i))
        wanted = f(x)
        assert compiled(x).equal(wanted)


def test_ops_are_written_as_the_program_writes_them() -> None:
    layer = torch.nn.ReLU()

    class Owner(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.relu, self.weight = layer, torch.nn.Parameter(torch.ones(2, 2))

        def forward(self, x: Any) -> Any:
            y = x.clone()
            y *= 2
            return (
                [x + y, 1 - x, x * 2, -x, x @ y, x**2, x > 0, x == y, x / 2],
                [x.sin(), torch.sin(x), (x + 1).cos(), self.weight.sum(), torch.sum(x)],
                [self.relu(x), F.relu(x), x.relu(), torch.add(x, y), x.add(y, alpha=2)],
            )

    asked = Asked()
    owner, x = Owner(), torch.tensor([[1.0, -2.0], [3.0, 0.5]])
    for some, others in zip(torch.compile(owner, backend=asked)(x), owner(x), strict=True):
        assert all(map(torch.equal, some, others))
    told = [n.target if isinstance(n.target, str) else n.target.__name__ for n in calls(asked.graphs[0])]
    assert told[1:] == [
        *("mul", "add", "sub", "mul", "neg", "matmul", "pow", "gt", "eq", "truediv"),
        *("sin", "sin", "add", "cos", "sum", "sum", "relu", "relu", "relu", "add", "add"),
    ]
    methods = [n.target for n in calls(asked.graphs[0]) if n.op == "call_method"]
    assert methods == ["clone", "sin", "cos", "sum", "relu", "add"]
    targets = [n.target for n in calls(asked.graphs[0])]
    assert operator.add in targets and torch.add in targets and operator.truediv in targets


def calls(module: Any) -> list[Any]:
    """A graph's calls."""
    return [n for n in module.graph.nodes if n.op.startswith("call")]


def test_a_loop_comes_to_the_same_graph_again() -> None:
    def f(x: Any) -> Any:
        for _ in range(5):
            x = x.sin() + 1
            torch._dynamo.graph_break()
        return x

    def g(x: Any) -> Any:
        x = x.sin() + 1
        torch._dynamo.graph_break()
        return x.sin() + 1

    for function, wanted in ((f, 1), (g, 2)):
        asked = Asked()
        compiled = torch.compile(function, backend=asked)
        for _ in range(4):
            x = torch.randn(3)
            assert torch.equal(compiled(x), function(x))
        assert len(asked.graphs) == wanted


def test_paths_that_join_again_have_the_same_graphs() -> None:
    def f(x: Any, a: Any, b: Any, c: Any) -> Any:
        x = x + 1
        if a:
            x = x + 2
        x = x + 3
        if b:
            x = x + 4
        x = x + 5
        if c:
            x = x + 6
        return x + 7

    asked, x = Asked(), torch.randn(10)
    compiled = torch.compile(f, backend=asked)
    yes, no = torch.tensor([True]), torch.tensor([False])
    for a in (yes, no):
        for b in (yes, no):
            for c in (yes, no):
                assert torch.equal(compiled(x, a, b, c), f(x, a, b, c))
    assert len(asked.graphs) == 7  # as many as PyTorch's
    assert sum(len(calls(g)) for g in asked.graphs) == 10


def test_to_look_at_the_text_keeps_no_variable_alive() -> None:
    def f(a: Any, b: Any) -> Any:
        x = a + b - 1.5
        x = x.sum()
        x.item()
        return x / (a + b)

    asked = Asked()
    torch.compile(f, backend=asked)(torch.ones(10), torch.ones(10))
    results = [[str(r) for r in g.graph.output_node().args[0]] for g in asked.graphs]
    assert results == [["sum_1"], ["truediv"]]

    def g(a: Any) -> Any:
        names = locals()
        b = a.sin()
        return b, list(names)

    b, names = torch.compile(g, backend=Asked())(torch.ones(3))
    assert torch.equal(b, torch.ones(3).sin()) and names == ["a"]


@pytest.mark.parametrize("backend", ["inductor", "eager", "aot_eager"])
@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_an_assertion_of_data_ends_no_single_graph(backend: str, mode: Any) -> None:
    names: dict[str, Any] = {}  # pytest writes assertions of this file as something else
    exec("def f(x):\n y = x.sin()\n assert x.sum() > 0, 'positive'\n return y + 1", names)
    f, how = names["f"], ({"mode": mode} if backend == "inductor" else {})
    compiled = torch.compile(f, fullgraph=True, backend=backend, **how)
    for i in range(1, 8):
        assert torch.equal(compiled(i * torch.ones(3)), f(i * torch.ones(3)))
        with pytest.raises(AssertionError, match="positive"):
            compiled(-torch.ones(3))


def test_other_branches_on_data_do() -> None:
    def branch(x: Any) -> Any:
        return x + 1 if x.sum() > 0 else x

    def raises(x: Any) -> Any:
        if not x.any():
            raise AssertionError("none")
        return x * 2

    for function in (branch, raises):
        with pytest.raises(torch._dynamo.exc.Unsupported):
            torch.compile(function, fullgraph=True)(torch.ones(3))


def _names() -> Any:
    return torch


def _as_given(module: Any, inputs: Any) -> Any:
    """A backend that runs its graphs, as "eager" need not."""
    return module


def test_a_function_that_is_no_method_of_its_first_argument() -> None:
    def f(x: Any, y: Any) -> Any:
        return _names().where(x > y, x, y) + x.where(y > 1, 3.0)

    x, y, g = torch.arange(6.0), torch.full((6,), 2.0), torch.compile(f, backend=_as_given)
    for _ in range(3):
        torch.testing.assert_close(g(x, y), f(x, y))


def test_reading_text_warns_of_nothing() -> None:
    text = "def f(x):\n    return x.add(1, alpha=len('\\d'))\n"
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        names: Any = {}
        exec(compile(text, "<escapes>", "exec"), names)
        before = len(given)
        linecache.cache["<escapes>"] = (len(text), None, text.splitlines(True), "<escapes>")
        g = torch.compile(names["f"], backend=_as_given)
        for _ in range(3):
            assert g(torch.ones(2)).tolist() == [3.0, 3.0]
        del linecache.cache["<escapes>"]
    assert len(given) == before


class _State:
    last: Any = None


_STATE = _State()


def test_what_is_being_computed_lies_where_names_are_looked_for() -> None:
    def f(x: Any, y: Any, w: Any) -> Any:
        _STATE.last = w + 1
        _STATE.last *= x // y
        _STATE.last = w + 1
        _STATE.last /= x.relu()
        return [x, y, w, x - torch.neg(_STATE.last)]

    g = torch.compile(f, backend=_as_given)
    for _ in range(4):
        given = torch.rand(3) + 1, torch.rand(3) + 1, torch.rand(3, requires_grad=True)
        torch.testing.assert_close(g(*given), f(*given))


def test_a_graph_that_is_written_while_another_form_of_its_op_runs() -> None:
    text = "def f(x, w):\n    y = w * x\n    v = w.clone()\n    v[...] *= -1\n    return y, v\n"
    names: Any = {}
    exec(text, names)  # text that cannot be read
    g = torch.compile(names["f"], backend=_as_given)
    for _ in range(4):
        w = torch.full((3,), 2.0, requires_grad=True)
        y, v = g(torch.full((3,), 3.0), w)
        assert (w.tolist(), y.tolist(), v.tolist()) == ([2.0] * 3, [6.0] * 3, [-2.0] * 3)
