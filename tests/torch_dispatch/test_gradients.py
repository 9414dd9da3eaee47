"""Gradients that listeners below autograd hear: PyTorch's backward ops, and what they compute."""

from collections.abc import Callable

import pytest

import rushlight as torch
from rushlight.fx.experimental.proxy_tensor import make_fx

F = torch.nn.functional
CASES: dict[str, tuple[Callable, tuple[tuple[int, ...], ...], str]] = {
    "conv": (F.conv2d, ((2, 4, 6, 6), (4, 4, 3, 3)), "convolution convolution_backward"),
    "conv_bias": (
        lambda x, w, b: F.conv2d(x, w, b, 2, 1),
        ((2, 4, 6, 6), (4, 4, 3, 3), (4,)),
        "convolution convolution_backward",
    ),
    "conv_transpose": (
        lambda x, w, b: F.conv_transpose2d(x, w, b, 2),
        ((2, 4, 3, 3), (4, 2, 3, 3), (2,)),
        "convolution convolution_backward",
    ),
    "layer_norm": (
        lambda x, w, b: F.layer_norm(x, (6,), w, b),
        ((2, 4, 6), (6,), (6,)),
        "native_layer_norm native_layer_norm_backward",
    ),
    "group_norm": (
        lambda x, w, b: F.group_norm(x, 2, w, b),
        ((2, 4, 6), (4,), (4,)),
        "native_group_norm native_group_norm_backward",
    ),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
        ((3, 4, 6), (4,), (4,)),
        "native_batch_norm native_batch_norm_backward",
    ),
    "softmax": (lambda x: F.softmax(x, -1), ((3, 4),), "_softmax _softmax_backward_data"),
    "gelu": (lambda x: F.gelu(x, approximate="tanh"), ((3, 4),), "gelu gelu_backward"),
    "silu": (F.silu, ((3, 4),), "silu silu_backward"),
    "relu": (F.relu, ((3, 4),), "relu threshold_backward"),
    "celu": (lambda x: F.celu(x, 2.0), ((3, 4),), "celu elu_backward"),
    "hardswish": (F.hardswish, ((3, 4),), "hardswish hardswish_backward"),
    "logsigmoid": (F.logsigmoid, ((3, 4),), "log_sigmoid_forward log_sigmoid_backward"),
    "max_pool": (
        lambda x: F.max_pool2d(x, 2),
        ((2, 3, 4, 4),),
        "max_pool2d_with_indices max_pool2d_with_indices_backward",
    ),
    "avg_pool": (lambda x: F.avg_pool2d(x, 3, 2, 1), ((2, 3, 5, 5),), "avg_pool2d avg_pool2d_backward"),
    "cross_entropy": (
        lambda x: F.cross_entropy(x, torch.tensor([1, 3])),
        ((2, 4),),
        "nll_loss_forward nll_loss_backward _log_softmax_backward_data",
    ),
    "mse_loss": (F.mse_loss, ((3, 4), (3, 4)), "mse_loss mse_loss_backward"),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        ((1, 2, 4, 8),) * 3,
        "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward",
    ),
    "linear": (F.linear, ((3, 4), (5, 4), (5,)), "addmm"),
    "var": (lambda x: x.var((0, 1), keepdim=True), ((3, 4),), "var"),
    "std": (lambda x: x.std(1), ((3, 4),), "std"),
    "max": (lambda x: x.max(1)[0], ((3, 4),), "max scatter"),
    "topk": (lambda x: x.topk(2)[0], ((3, 4),), "topk scatter"),
    "mean": (lambda x: x.mean(1), ((3, 4),), "mean"),
    "nearest": (
        lambda x: F.interpolate(x, scale_factor=2),
        ((1, 2, 3, 4),),
        "upsample_nearest2d upsample_nearest2d_backward",
    ),
    "bilinear": (
        lambda x: F.interpolate(x, size=(5, 7), mode="bilinear"),
        ((1, 2, 3, 4),),
        "upsample_bilinear2d upsample_bilinear2d_backward",
    ),
    "adaptive": (
        lambda x: F.adaptive_avg_pool2d(x, (2, None)),
        ((1, 2, 4, 4),),
        "_adaptive_avg_pool2d _adaptive_avg_pool2d_backward",
    ),
    "adaptive_mean": (lambda x: F.adaptive_avg_pool2d(x, 1), ((1, 2, 4, 4),), "mean"),
    "selu": (F.selu, ((3, 4),), "elu elu_backward"),
    "softsign": (F.softsign, ((3, 4),), "abs add div sgn"),
    "where": (lambda x: torch.where(x > 0, x, 2.0), ((3, 4),), "scalar_tensor where"),
    "logsumexp": (lambda x: x.logsumexp(1), ((3, 4),), "logsumexp sub exp"),
    "logsumexp_all": (lambda x: x.logsumexp((0, -1), True), ((3, 4),), "logsumexp sub exp"),
    "prod": (lambda x: x.prod(1), ((3, 4),), "prod"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_graph_with_gradients_is_of_whole_ops(name: str) -> None:
    function, shapes, ops = CASES[name]
    torch.manual_seed(0)
    given = [torch.randn(shape) for shape in shapes]

    def gradients(*tensors: torch.Tensor) -> list[torch.Tensor]:
        own = [t.detach().requires_grad_() for t in tensors]
        result = function(*own)
        return torch.autograd.grad(result, own, torch.linspace(1, 2, result.numel()).view(result.shape))

    graph = make_fx(gradients)(*given)
    heard = [n.target for n in graph.graph.nodes if n.op == "call_function"]
    assert set(ops.split()) <= {op._schema.op_name for op in heard if hasattr(op, "_schema")}
    assert not [op for op in heard if str(op).startswith("rushlight.")]
    for ours, wanted in zip(graph(*given), gradients(*given), strict=True):
        torch.testing.assert_close(ours, wanted, atol=1e-5, rtol=1e-4)


_ADDED = ("layer_norm", "batch_norm")  # the last argument is added: it has no part in second gradients


@pytest.mark.parametrize("name", ["conv", "layer_norm", "batch_norm", "softmax", "gelu", "attention", "std"])
def test_gradients_of_heard_gradients(name: str) -> None:
    function, shapes, _ = CASES[name]
    torch.manual_seed(0)
    given = [torch.randn(shape) for shape in shapes]

    def second(*tensors: torch.Tensor) -> list[torch.Tensor]:
        own = [t.detach().requires_grad_() for t in tensors]
        result = function(*own)
        weights = torch.linspace(1, 2, result.numel()).view(result.shape)
        first = torch.autograd.grad(result, own, weights, create_graph=True)
        return torch.autograd.grad(sum((g * g).sum() for g in first), own[: len(shapes) - (name in _ADDED)])

    for ours, wanted in zip(make_fx(second)(*given)(*given), second(*given), strict=True):
        torch.testing.assert_close(ours, wanted, atol=1e-4, rtol=1e-3)


def test_names_of_nodes_are_those_of_the_ops() -> None:
    x = torch.randn(2, 3, requires_grad=True)
    made = []

    def run(x: torch.Tensor) -> torch.Tensor:
        y = F.gelu(x.requires_grad_())
        made.append(y.grad_fn.name())
        return y

    make_fx(run)(x)
    assert made == ["GeluBackward0"]


def test_data_is_a_constant_of_the_graph() -> None:
    graph = make_fx(lambda x: x + torch.tensor([1.0, 2.0]))(torch.zeros(2))
    assert [str(n.target) for n in graph.graph.nodes if n.op == "call_function"] == [
        "aten.lift_fresh_copy.default",
        "aten.add.Tensor",
    ]
    assert graph._tensor_constant0.tolist() == [1, 2] and graph(torch.ones(2)).tolist() == [2, 3]


def test_ops_called_by_their_names_are_told_so() -> None:
    heard = []

    class Hears(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            heard.append(str(func))
            return func(*args, **(kwargs or {}))

    x = torch.randn(2, 4)
    with Hears():
        torch.ops.aten.native_layer_norm.default(x, [4], None, None, 1e-5)
        torch.ops.aten.mul.Scalar(x, 2)
        torch.ops.aten.gelu_backward(x, x)
        repr(x)
    assert heard == ["aten.native_layer_norm.default", "aten.mul.Scalar", "aten.gelu_backward.default"]


def test_before_dispatch_composites_are_nodes() -> None:
    layers = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Flatten())
    x = torch.randn(2, 4)
    graph = make_fx(lambda x: layers(x).square() @ torch.ones(3), pre_dispatch=True)(x)
    heard = [n.target._schema.op_name for n in graph.graph.nodes if n.op == "call_function"]
    assert heard == ["linear", "relu", "flatten", "square", "ones", "matmul"]
    assert torch.equal(graph(x), layers(x).square() @ torch.ones(3))
