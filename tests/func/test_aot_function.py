"""functorch.compile: forward and backward as graphs, cut in two and given to compilers."""

import copy

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._functorch.compile_utils import fx_graph_cse
from rushlight._functorch.cuts import Network
from rushlight.functorch.compile import (
    aot_function,
    aot_module,
    aot_module_simplified,
    default_partition,
    get_aot_compilation_context,
    make_boxed_compiler,
    make_boxed_func,
    memory_efficient_fusion,
    min_cut_rematerialization_partition,
    nop,
    ts_compile,
)
from rushlight.fx.experimental.proxy_tensor import make_fx


class Keeps:
    """A compiler that keeps the graphs it is given."""

    def __init__(self):
        self.graphs, self.inputs, self.names = [], [], []

    def __call__(self, graph, inputs):
        self.graphs.append(graph)
        self.inputs.append([tuple(getattr(t, "shape", ())) for t in inputs])
        self.names.append(get_aot_compilation_context()[0][0].partition("_")[2])
        return make_boxed_func(graph.forward)


def called(graph):
    return [n.target._opname for n in graph.graph.nodes if hasattr(n.target, "_opname")]


def product(x, y):
    return (x @ y).sin().sum(), x.cos()


@pytest.mark.parametrize("partition", [default_partition, min_cut_rematerialization_partition])
def test_both_halves_have_the_functions_numbers(partition):
    keeps = Keeps()
    compiled = aot_function(product, keeps, partition_fn=partition)
    x, y = torch.randn(3, 4, requires_grad=True), torch.randn(4, 2)
    for function in (compiled, product):
        total, cosines = function(x, y)
        (total + cosines.sum()).backward()
    assert keeps.names == ["forward", "backward"]
    assert keeps.inputs == [[(3, 4), (4, 2)], [(3, 4), (4, 2), (3, 2), (), (3, 4)]]
    assert called(keeps.graphs[0]) == ["mm", "sin", "sum", "cos"]
    again = torch.randn(3, 4, requires_grad=True)
    torch.testing.assert_close(
        x.grad / 2, torch.autograd.grad(product(x, y)[0] + product(x, y)[1].sum(), x)[0]
    )
    compiled(again, y)
    assert len(keeps.graphs) == 2


def test_the_cheaper_cut_keeps_fewer_values():
    def chain(x):
        return x.cos().cos().cos()

    kept = []
    for partition in (default_partition, min_cut_rematerialization_partition):
        keeps = Keeps()
        x = torch.randn(5, requires_grad=True)
        aot_function(chain, keeps, partition_fn=partition)(x).sum().backward()
        kept.append(len(keeps.inputs[1]) - 1)
        torch.testing.assert_close(x.grad, torch.autograd.grad(chain(x).sum(), x)[0])
    assert kept == [3, 1]


def test_a_modules_statistics_and_random_numbers_are_eagers():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    other, keeps, x = copy.deepcopy(model), Keeps(), torch.randn(5, 3)
    compiled = aot_module(model, keeps)
    results = []
    for module in (compiled, other):
        torch.manual_seed(0)
        results.append(module(x))
        results[-1].sum().backward()
    torch.testing.assert_close(*results)
    for ours, theirs in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)
    for ours, theirs in zip(model.buffers(), other.buffers(), strict=True):
        torch.testing.assert_close(ours, theirs)
    assert [n for n, _ in compiled.named_parameters()][0] == "orig_module.0.weight"
    assert "_native_batch_norm_legit_functional" in called(keeps.graphs[0])
    torch.testing.assert_close(aot_module_simplified(model.eval(), (x,), keeps)(x), model(x))


def test_inputs_are_written_to_and_views_of_them_are_views():
    def writes(x):
        x.add_(1)
        return x.view(-1), x * 2, x

    keeps, x = Keeps(), torch.zeros(2, 2)
    flat, twice, same = aot_function(writes, keeps)(x)
    assert same is x and flat.data_ptr() == x.data_ptr() and twice.tolist() == [[2, 2], [2, 2]]
    assert keeps.names == ["inference"] and called(keeps.graphs[0])[0] == "add"


def test_containers_numbers_and_what_has_no_gradient():
    def mixed(given, n):
        return {"sum": given["x"] * n, "count": 3, "sign": given["x"].sign().long()}

    x = torch.randn(3, requires_grad=True)
    found = aot_function(mixed, Keeps())({"x": x}, 2)
    assert found["count"] == 3 and not found["sign"].requires_grad
    found["sum"].sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_no_gradient_of_the_gradient():
    x = torch.randn(3, requires_grad=True)
    (grad,) = torch.autograd.grad(aot_function(torch.sin, Keeps())(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="does not currently support double backward"):
        grad.sum().backward()


def test_small_compilers():
    x = torch.randn(4, requires_grad=True)
    memory_efficient_fusion(lambda x: torch.tanh(x * 2).sum())(x).backward()
    torch.testing.assert_close(x.grad, 2 - 2 * torch.tanh(x.detach() * 2) ** 2)
    with pytest.warns(UserWarning, match="doesn't take boxed arguments"):
        aot_function(torch.sin, nop)(torch.ones(2))
    torch.testing.assert_close(aot_function(torch.sin, ts_compile)(torch.ones(2)), torch.ones(2).sin())


def test_the_least_cut_of_a_network():
    network = Network()
    for start, end, capacity in (("s", "a", 3), ("s", "b", 2), ("a", "t", 2), ("b", "t", 4), ("a", "b", 1)):
        network.edge(start, end, capacity)
    assert network.cut("s", "t") == {"s"}


def test_nothing_is_computed_twice_but_random_numbers():
    def twice(x):
        return x.sum(1) + x.sum(1) + torch.rand_like(x) + torch.rand_like(x)

    graph = torch.fx.experimental.proxy_tensor.make_fx(twice)(torch.ones(2, 2)).graph
    once = fx_graph_cse(graph)
    assert len(once.nodes) == len(graph.nodes) - 1 == len(fx_graph_cse(once).nodes)


def test_products_without_columns():
    x, y = torch.ones(2, 3, 0, requires_grad=True), torch.ones(0, 4)
    found = aot_function(torch.matmul, Keeps())(x, y)
    assert found.shape == (2, 3, 4) and not found.any()


def test_a_write_into_memory_of_another_argument_is_refused():
    x = torch.zeros(3)
    with pytest.raises(NotImplementedError, match="shares memory with another argument"):
        aot_function(lambda a, b: a.add_(1) + b, Keeps())(x, x.view(3))


def test_what_a_write_takes_the_place_of_is_part_of_the_graph():
    """A gradient that reads the old values of what was written to reads those of each call."""

    def written(x):
        y = x * 1.5
        y.sin_()
        y.mul_(2)
        return y.tanh_().sum()

    compiled = aot_function(written, Keeps())
    for _ in range(2):
        x = torch.randn(4, requires_grad=True)
        (wanted,) = torch.autograd.grad(written(x), x)
        (found,) = torch.autograd.grad(compiled(x), x)
        assert torch.equal(found, wanted)
    graph = torch.fx.experimental.proxy_tensor.make_fx(lambda x: torch.autograd.grad(written(x), x)[0])(x)
    names = [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
    assert names.count("aten.clone.default") == 1  # of what sin_ reads: tanh reads its result, mul a number
    other = torch.randn(4, requires_grad=True)
    assert torch.equal(graph(other), torch.autograd.grad(written(other), other)[0])


def _row_times_three(x):
    y = x * 2
    y[0].mul_(3)
    return y


def _row_overwritten(x):
    y = x * 2
    y[0] = 7.0
    return y


def _turned_and_cut(x):
    y = x * 2
    y.view(9)[2:].mul_(3)
    y.t()[1:, 0].mul_(x[1:, 2])
    return y * torch.arange(9.0).reshape(3, 3)


def _part_of_complex(x):
    y = torch.view_as_complex(torch.stack([x, x * 2], -1))
    y.real.mul_(3)
    y.imag[0] = 1
    torch.view_as_real(y)[1].mul_(x[0, 0])
    return torch.view_as_real(y).sum(-1)


@pytest.mark.parametrize("partition", [default_partition, min_cut_rematerialization_partition])
def test_graphs_with_constants_are_cut(partition):
    def function(x):
        y = x * 1
        y[torch.tensor([0])] = x[1] * 3
        return y * y

    x = torch.arange(6.0).reshape(3, 2).requires_grad_()
    compiled = aot_function(function, make_boxed_compiler(nop), partition_fn=partition)
    found = torch.autograd.grad(compiled(x).sum(), x)[0]
    torch.testing.assert_close(found, torch.autograd.grad(function(x).sum(), x)[0])


@pytest.mark.parametrize("function", [_row_times_three, _row_overwritten, _turned_and_cut, _part_of_complex])
def test_writes_through_views_have_their_gradients(function):
    x = torch.ones(3, 3, requires_grad=True)
    wanted = torch.autograd.grad(function(x).sum(), x)[0]
    found = torch.autograd.grad(aot_function(function, make_boxed_compiler(nop))(x).sum(), x)[0]
    torch.testing.assert_close(found, wanted)
    traced = make_fx(lambda x: torch.autograd.grad(function(x).sum(), x)[0])(x)
    again = torch.full((3, 3), 2.0, requires_grad=True)
    torch.testing.assert_close(traced(again), torch.autograd.grad(function(again).sum(), again)[0])


def test_views_of_before_the_recording_are_taken_again_by_ops():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y[1:].mul_(3)
    graph = make_fx(lambda grad: torch.autograd.grad(y, x, grad, retain_graph=True)[0])(torch.ones(3))
    assert graph(torch.arange(3.0)).tolist() == [0, 6, 12]


@pytest.mark.parametrize(
    "draw",
    [
        lambda t: t.normal_(1, 2),
        lambda t: t.exponential_(),
        lambda t: t.uniform_(2, 3),
        lambda t: t.bernoulli_(),
        lambda t: t.bernoulli_(p=0.25),
        lambda t: t.random_(),
        lambda t: t.random_(9),
        lambda t: t.geometric_(0.5),
        lambda t: t.zero_(),
    ],
)
def test_tensors_are_filled_in_graphs_of_values(draw):
    def function(x):
        return x * draw(torch.empty(5))

    found = []
    for run in (function, aot_function(function, make_boxed_compiler(nop))):
        torch.manual_seed(3)
        found.append(run(torch.ones(5)))
    assert torch.equal(*found)


def test_writes_into_captured_tensors_are_refused():
    count = torch.zeros(())
    with pytest.raises(NotImplementedError, match="a tensor that it was not given"):
        aot_function(lambda x: x * count.add_(1), nop)(torch.ones(2))


def test_writes_into_pieces():
    def into_pieces(x):
        y = x * 1
        first, second = y.chunk(2)
        first.mul_(second + 1)
        y.unbind(-1)[0].mul_(3)
        return y, second

    kept = Keeps()
    x = torch.arange(8.0).view(2, 4)
    found = aot_function(into_pieces, kept)(x)
    assert [t.tolist() for t in found] == [t.tolist() for t in into_pieces(x)]
    names = called(kept.graphs[0])
    assert "slice_scatter" in names
    assert "select_scatter" in names
    assert not any(name.endswith("_") for name in names)


@pytest.mark.parametrize("partition", [default_partition, min_cut_rematerialization_partition])
@pytest.mark.parametrize(
    "noisy", [lambda x: torch.rrelu(x, training=True), lambda x: nn.functional.dropout(x)]
)
def test_noise_is_drawn_once(partition, noisy):
    def function(x):
        return noisy(x) + noisy(x) * 2

    found = []
    for run in (function, aot_function(function, make_boxed_compiler(nop), partition_fn=partition)):
        torch.manual_seed(0)
        x = torch.full((8,), -1.0, requires_grad=True)
        found.append(torch.autograd.grad(run(x).sum(), x)[0])
    torch.testing.assert_close(*found)


def test_ops_with_a_generator_say_that_they_draw():
    for op in (torch.ops.rushlight._rrelu_slopes, torch.ops.rushlight._keep, torch.ops.aten.uniform):
        assert torch.Tag.nondeterministic_seeded in op.default.tags


@pytest.mark.parametrize("partition", [default_partition, min_cut_rematerialization_partition])
def test_what_backward_reads_of_written_inputs_is_kept_apart(partition):
    def function(x, b):
        y = x * b.clone()
        b.add_(1)
        return y * b

    x, b = torch.ones(2, requires_grad=True), torch.full((2,), 2.0)
    aot_function(function, make_boxed_compiler(nop), partition_fn=partition)(x, b).sum().backward()
    assert x.grad.tolist() == [6, 6]
    assert b.tolist() == [3, 3]


def test_inputs_get_the_gradient_of_what_is_written_into_them():
    b, x = torch.full((2,), 3.0), torch.tensor([1.0, 2.0], requires_grad=True)
    compiled = aot_function(lambda b, x: (b.mul_(x), x * 1)[1], make_boxed_compiler(nop))
    compiled(b, x * x)
    assert b.tolist() == [3, 12]
    b.sum().backward()
    assert x.grad.tolist() == [6, 12]


@pytest.mark.parametrize(
    "function",
    [lambda x: 2**x, lambda x: 0**x, lambda x: torch.xlogy(x, 2.0), lambda x: torch.float_power(2, x)],
)
def test_gradients_with_conditions_of_numbers(function):
    x = torch.tensor([1.0, 0.0, 2.5, 3.0], requires_grad=True)
    found = aot_function(function, make_boxed_compiler(nop))(x)
    torch.testing.assert_close(
        torch.autograd.grad(found.sum(), x)[0], torch.autograd.grad(function(x).sum(), x)[0]
    )


@pytest.mark.parametrize(
    ("module", "size"),
    [
        (nn.Linear(3, 4), (2, 3)),
        (nn.GroupNorm(2, 4), (2, 4, 3)),
        (nn.BatchNorm1d(3), (4, 3)),
        (nn.Conv1d(2, 3, 3), (2, 2, 5)),
        (nn.Sequential(nn.GELU(), nn.Dropout()), (6,)),
    ],
)
def test_modules_by_torchscript(module, size):
    other = copy.deepcopy(module)
    given = torch.randn(*size)
    given.requires_grad_(not list(module.parameters()))
    results = []
    for run in (module, memory_efficient_fusion(other)):
        torch.manual_seed(1)
        results.append(run(given))
        (results[-1] * results[-1]).sum().backward()
    torch.testing.assert_close(*results)
    for mine, wanted in zip(other.parameters(), module.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, wanted.grad)
    for mine, wanted in zip(other.buffers(), module.buffers(), strict=True):
        torch.testing.assert_close(mine, wanted)


def test_traces_keep_backward_ops_whole():
    def function(grad, x):
        return torch.ops.aten.gelu_backward.default(grad, x, approximate="none")

    traced = torch.jit.trace(function, (torch.ones(3), torch.randn(3)))
    grad, x = torch.full((3,), 2.0), torch.randn(3)
    torch.testing.assert_close(traced(grad, x), function(grad, x))


@pytest.mark.parametrize("mode", ["nearest", "trilinear"])
def test_upsampling_at_sizes_that_may_change(mode):
    x = torch.randn(1, 2, 2, 3, 2, requires_grad=True)
    enlarged = torch.nn.functional.interpolate
    found = aot_function(lambda x: enlarged(x, size=4, mode=mode), lambda g, _: g, dynamic=True)(x)
    wanted = enlarged(x, size=4, mode=mode)
    torch.testing.assert_close(found, wanted)
    (grad,), (known,) = (torch.autograd.grad(t.square().sum(), x) for t in (found, wanted))
    torch.testing.assert_close(grad, known)
