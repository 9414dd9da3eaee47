"""make_fx and fake tensors: graphs of aten ops, and tensors without memory."""

from __future__ import annotations

from functools import partial

import pytest

import rushlight as torch
from rushlight._subclasses import FakeTensor, FakeTensorMode
from rushlight._subclasses.fake_tensor import DataDependentOutputException, is_fake
from rushlight.fx.experimental.proxy_tensor import get_proxy_mode, make_fx


def test_a_call_becomes_a_graph_of_aten_ops():
    def function(x, y):
        assert get_proxy_mode() is not None
        return torch.relu(torch.nn.functional.linear(x, y)).sum(0) + 1

    x, y = torch.ones(2, 3), torch.ones(4, 3)
    traced = make_fx(function)(x, y)
    assert [str(n.target) for n in traced.graph.nodes] == [
        "x_1",
        "y_1",
        "aten.t.default",
        "aten.mm.default",
        "aten.relu.default",
        "aten.sum.dim_IntList",
        "aten.add.Tensor",
        "output",
    ]
    assert traced(x, y * 2).tolist() == [13] * 4 and get_proxy_mode() is None


def test_what_is_no_argument_belongs_to_the_module():
    layer = torch.nn.Linear(3, 2)
    traced = make_fx(lambda x: {"a": [layer(x), x[0]]})(torch.ones(1, 3))
    assert traced._param_constant0 is layer.weight
    found = traced(torch.zeros(1, 3))["a"]
    assert torch.equal(found[0][0], layer.bias) and found[1].tolist() == [0, 0, 0]


def test_gradients_are_traced():
    traced = make_fx(torch.func.grad(lambda x: (x * x).sum()))(torch.ones(3))
    assert traced(torch.tensor([1.0, 2.0, 3.0])).tolist() == [2, 4, 6]


def test_the_annotation_of_what_is_traced():
    def function(x: torch.Tensor) -> torch.Tensor:
        return x.sin()

    def several(*xs: torch.Tensor) -> torch.Tensor:
        return xs[0].sin()

    def head(f):
        return next(line for line in make_fx(f)(torch.ones(2)).code.splitlines() if "def " in line)

    assert head(function) == "def forward(self, x_1) -> torch.Tensor:"
    assert head(torch.func.functionalize(function)) == head(torch.vmap(function)) == head(function)
    assert head(several) == head(partial(function)) == "def forward(self, arg0_1):"


def test_ops_may_be_decomposed():
    table = {torch.ops.aten.relu.default: lambda x: torch.clamp(x, min=0)}
    traced = make_fx(lambda x: torch.relu(x) * 2, table)(torch.ones(2))
    assert [n.name for n in traced.graph.nodes] == ["x_1", "clamp", "mul", "output"]
    assert traced(torch.tensor([-1.0, 2.0])).tolist() == [0, 4]


def test_fake_tensors_have_sizes_and_devices():
    with FakeTensorMode() as mode:
        x = torch.randn(2, 3)
        layer = torch.nn.Linear(3, 2)
        y = layer(x)
        gpu = torch.zeros(2, device="cuda")
    assert repr(x) == "FakeTensor(..., size=(2, 3))" and y.shape == (2, 2) and y.requires_grad
    assert isinstance(layer.weight, FakeTensor) and gpu.device.type == (gpu + 1).device.type == "cuda"
    real = torch.ones(5, 3)
    fake = mode.from_tensor(real)
    product = fake @ torch.relu(fake).t()
    assert is_fake(product) and product.shape == (5, 5) and product.device == torch.device("cpu")
    assert mode.from_tensor(real) is fake and fake.t().stride() == (1, 3)
    with pytest.raises(DataDependentOutputException):
        fake.sum().item()
    with pytest.raises(AssertionError, match="Please convert all Tensors to FakeTensors first"):
        fake + real
    leaf = mode.from_tensor(torch.ones(3, requires_grad=True))
    (leaf * 2).sum().backward()
    assert is_fake(leaf.grad) and leaf.grad.shape == (3,)
