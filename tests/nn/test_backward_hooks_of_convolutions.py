"""A convolution with a bias is one node: deprecated backward hooks see the gradients of its operands."""

import pytest

import rushlight as torch
from rushlight import nn


@pytest.mark.filterwarnings("ignore:Using")
@pytest.mark.parametrize("shape", [(2, 3, 6), (2, 3, 5, 5)])
def test_a_convolution_is_one_node(shape):
    layer = (nn.Conv1d if len(shape) == 3 else nn.Conv2d)(3, 4, 3)
    x, seen = torch.randn(shape, requires_grad=True), []
    layer.register_backward_hook(lambda module, to_inputs, of_outputs: seen.extend(to_inputs))
    out = layer(x)
    assert out.grad_fn.name() == "ConvolutionBackward0"
    nodes = [node for node, _ in out.grad_fn.next_functions]
    assert [node.variable for node in nodes] == [x, layer.weight, layer.bias]
    out.sum().backward()
    assert [g.shape for g in seen] == [x.shape, layer.weight.shape, layer.bias.shape]
    assert torch.equal(seen[0], x.grad) and torch.equal(seen[2], layer.bias.grad)
