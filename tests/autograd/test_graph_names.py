"""What a program sees of a graph: saved tensors, ctx and its names, hooks' turns; as in PyTorch 2.13."""

import gc
import weakref

import pytest

import rushlight as torch
from rushlight.autograd import Function, graph


class Kept(Function):
    """Its ctx has attributes that a node has, too; so has the class."""

    saved = inputs = shapes = results = close = user = 1

    @staticmethod
    def run():
        raise AssertionError

    @staticmethod
    def forward(ctx, x):
        ctx.saved, ctx.next, ctx.seq, ctx.hooks, ctx.count, ctx.apply, ctx.user = (x,), 1, 2, 3, 4, 5, 6
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved[0] * ctx.saved_tensors[0] * ctx.count


def test_a_function_may_use_any_name():
    x = torch.ones(2, requires_grad=True)
    y = Kept.apply(x)
    z = Kept.apply(y)
    assert y.grad_fn is y.grad_fn and z.grad_fn.next_functions[0][0] is y.grad_fn
    assert type(y.grad_fn).__name__ == "KeptBackward" and y.grad_fn.count == 4
    z.sum().backward()
    assert x.grad.tolist() == [64, 64]
    gc.disable()
    try:
        gone = weakref.ref(y)
        del y, z
        assert gone() is None  # no cycle
    finally:
        gc.enable()


def test_edges_of_functions():
    x = torch.ones(2, requires_grad=True)
    for edge in (graph.get_gradient_edge, lambda y: graph.GradientEdge(y.grad_fn, 0)):
        y = Kept.apply(x)
        assert torch.autograd.grad((y * 3).sum(), edge(y))[0].tolist() == [3, 3]
        assert isinstance(edge(y).node, graph.Node) and not isinstance(y, graph.Node)


def test_saved_values_by_name():
    a, b = torch.ones(2, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)
    y = a * b
    assert y.grad_fn._saved_self is a and y.grad_fn._saved_other is b
    assert {"_saved_self", "_raw_saved_other"} <= set(dir(y.grad_fn))
    e = a.exp()
    assert torch.equal(e.grad_fn._saved_result, e) and e.grad_fn._saved_result.grad_fn is e.grad_fn
    m = a.view(1, 2) @ b.view(2, 1)
    assert m.grad_fn._saved_self.shape == (1, 2)
    assert a.mean().grad_fn._saved_self_sym_sizes == (2,)
    assert torch.stack([a, b]).grad_fn._saved_dim == 0
    indexed = torch.ones(2, 2, requires_grad=True)[:, torch.tensor([0, 1])]
    assert indexed.grad_fn._saved_indices[0] is None
    with pytest.raises(AttributeError, match="has no attribute '_saved_nothing'"):
        y.grad_fn._saved_nothing
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        y.grad_fn._saved_self
    with pytest.raises(RuntimeError, match="after it has been freed"):
        y.grad_fn._raw_saved_self.register_hooks(abs, abs)


def test_hooks_of_one_saved_tensor():
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    y = a * a
    raw = y.grad_fn._raw_saved_self
    assert isinstance(raw, torch.autograd.SavedTensor)
    raw.register_hooks(lambda t: 2 * t, lambda t: t)
    with pytest.raises(RuntimeError, match="already been set"):
        raw.register_hooks(abs, abs)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        y.grad_fn._raw_saved_other.register_hooks(1, 2)
    assert y.grad_fn._saved_self.tolist() == [2, 4]
    y.sum().backward()
    assert a.grad.tolist() == [3, 6]
    with pytest.raises(RuntimeError, match="Trying to create a SavedTensor"):
        torch.autograd.SavedTensor()
    for kept in (a.softmax(0), Kept.apply(a)):
        name = "_raw_saved_result" if kept.grad_fn.name().startswith("Soft") else "_raw_saved_tensors"
        raw, seen = getattr(kept.grad_fn, name), []
        raw = raw[0] if isinstance(raw, tuple) else raw
        raw.register_hooks(lambda t: seen.append("pack") or t, lambda t: seen.append("unpack") or t)
        kept.sum().backward()
        assert seen == ["pack", "unpack"]


def test_turns_of_hooks():
    log = []
    a = torch.tensor(1.0, requires_grad=True)
    b = a.clone()
    b.retain_grad()
    b.grad_fn.register_prehook(lambda gs: log.append("pre") or tuple(g * 2 for g in gs))
    b.register_hook(lambda g: log.append("tensor") or g * 3)
    leaf = b.grad_fn.next_functions[0][0]
    leaf.register_prehook(lambda gs: log.append("leaf"))
    torch.autograd.grad(b, a, retain_graph=True)
    assert log == ["tensor", "pre"]
    b.grad = None
    b.backward()
    assert log == ["tensor", "pre"] * 2 + ["leaf"]
    assert b.grad == 3 and a.grad == 6


def test_hooks_hear_of_results_without_gradient():
    x, seen = torch.ones(3, requires_grad=True), []
    first, second, _ = x.unbind()
    first.register_hook(seen.append)
    second.backward()
    assert seen == [None]


def test_leaves_gradients_are_their_own_with_create_graph():
    x, y = (torch.ones(2, requires_grad=True) for _ in range(2))
    (x + y).backward(torch.ones(2), create_graph=True)
    x.grad.zero_()
    assert y.grad.tolist() == [1, 1]


def test_a_running_backward_can_be_asked():
    seen = []
    t = torch.tensor(1.0, requires_grad=True).clone().sin()
    t.register_hook(lambda g: seen.append([n.name() for n in torch._C._current_graph_task_execution_order()]))
    with torch.autograd.set_multithreading_enabled(False):
        t.backward()
    assert seen == [["SinBackward0", "CloneBackward0", "torch::autograd::AccumulateGrad"]]
    assert torch._C._current_graph_task_id() == -1
    safe = torch._C._functions.DelayedError("no further", 1)(torch.ones(1, requires_grad=True))
    with pytest.raises(RuntimeError, match="no further"):
        safe.backward()


def test_views_out_of_functions():
    class View(Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(-1)

        @staticmethod
        def backward(ctx, grad):
            return grad

    for base in (torch.ones(2), torch.ones(2, requires_grad=True).clone()):
        with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
            View.apply(base).add_(torch.ones(2, requires_grad=True))


def test_what_functions_refuse():
    class Both(Kept):
        @staticmethod
        def vjp(ctx, grad):
            return grad

    class Dirty(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.add_(1) if x.ndim else x + 1

        @staticmethod
        def backward(ctx, grad):
            return grad

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        Both.apply(x).sum().backward()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used in an in-place"):
        Dirty.apply(x)
    with pytest.raises(RuntimeError, match="must all be outputs of the Function"):
        Dirty.apply(torch.tensor(1.0, requires_grad=True).clone())
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        made = Kept()
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        made(x)


@pytest.mark.parametrize("extreme", [torch.min, torch.max, torch.median])
def test_gradients_of_extremes_that_are_nan(extreme):
    x = torch.full((3,), float("nan"), requires_grad=True)
    extreme(x).backward()
    assert torch.allclose(x.grad, torch.full((3,), 1 / 3))


def test_unique_requires_grad_and_has_none():
    values, places = torch.unique(torch.tensor([3.0, 1, 3], requires_grad=True), return_inverse=True)
    assert values.requires_grad and values.grad_fn.name() == "Unique2Backward0" and not places.requires_grad
    with pytest.raises(NotImplementedError, match="the derivative for '_unique2' is not implemented"):
        values.sum().backward()


@pytest.mark.parametrize("create_graph", [False, True])
def test_functional_products(create_graph):
    x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0])

    def cubes(x):
        return x.pow(3).sum()

    with torch.no_grad():
        for product in (torch.autograd.functional.hvp, torch.autograd.functional.vhp):
            value, found = product(cubes, x, v, create_graph=create_graph)
            assert value == 9 and found.tolist() == [6, 36] and found.requires_grad == create_graph
    assert torch.autograd.functional.jvp(torch.exp, x, v)[1].allclose(x.exp() * v)
    with pytest.raises(
        RuntimeError, match="Output 0 of the user-provided function does not require gradients"
    ):
        torch.autograd.functional.jvp(lambda x: x.detach(), x, v, strict=True)


def test_each_node_that_is_made_is_told():
    x, seen = torch.ones(3, requires_grad=True), []
    graph = torch.autograd.graph

    def keep(node):
        node.metadata["seen"] = len(seen)
        seen.append(node.name())

    with graph.node_creation_hook(keep), graph.node_creation_hook(lambda node: seen.append("inner")):
        y = (x * 2).exp()
    y.sum()
    assert [name for name in seen if "Accumulate" not in name][:4] == [
        "MulBackward0",
        "inner",
        "ExpBackward0",
        "inner",
    ]
    assert "seen" in y.grad_fn.metadata


def test_a_loss_is_one_node_as_it_is_in_pytorch():
    x, y = torch.randn(4, requires_grad=True), torch.randn(4)
    for loss in ("mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy"):
        for reduction in ("mean", "sum", "none"):
            found = getattr(torch.nn.functional, loss)(x.sigmoid(), y.sigmoid(), reduction=reduction)
            names = [edge[0] and edge[0].name() for edge in found.grad_fn.next_functions]
            assert names == ["SigmoidBackward0", None], (loss, reduction)
    mean = torch.nn.functional.l1_loss(x, y).grad_fn
    assert [mean.name(), mean.next_functions[0][0].name()] == ["MeanBackward0", "AbsBackward0"]


def test_edges_of_a_linear_layer_begin_with_the_bias():
    layer, x = torch.nn.Linear(3, 2), torch.randn(4, 3, requires_grad=True)
    nodes = [node for node, _ in layer(x).grad_fn.next_functions]
    assert [node.variable for node in nodes] == [layer.bias, x, layer.weight]
