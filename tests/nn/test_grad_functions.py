"""torch.nn.grad: the gradients of convolutions as functions, differentiable themselves."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight.fx.experimental.proxy_tensor import make_fx
from rushlight.nn import grad


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_differentiable(ndim: int) -> None:
    """In what they are functions of, where gradients are asked for."""
    torch.manual_seed(0)
    x = torch.randn(2, 4, *(5,) * ndim, dtype=torch.float64, requires_grad=True)
    w = torch.randn(4, 2, *(3,) * ndim, dtype=torch.float64, requires_grad=True)
    options = 2, 1, 1, 2
    y = getattr(torch, f"conv{ndim}d")(x, w, None, *options)
    g = torch.randn_like(y).requires_grad_()
    of_input, of_weight = getattr(grad, f"conv{ndim}d_input"), getattr(grad, f"conv{ndim}d_weight")
    wanted = torch.autograd.grad(y, (x, w), g, create_graph=True)
    found = of_input(x.shape, w, g, *options), of_weight(x, w.shape, g, *options)
    for a, b in zip(wanted, found):
        assert torch.equal(a, b) and b.requires_grad
    again = torch.autograd.grad(found[0].sum(), w)[0]
    assert torch.equal(again, torch.autograd.grad(wanted[0].sum(), w)[0])
    assert not of_input(x.shape, w.detach(), g.detach(), *options).requires_grad
    with torch.no_grad():
        assert not of_weight(x, w.shape, g, *options).requires_grad


def test_in_batches_and_without_gradients() -> None:
    """Under vmap, over either operand, and in inference mode; sizes without a batch are refused."""
    w, g = torch.randn(2, 1, 3, 3), torch.randn(3, 1, 2, 3, 3)
    each = torch.stack([grad.conv2d_input((1, 2, 5, 5), w, one, groups=2) for one in g])
    found = torch.func.vmap(lambda one: grad.conv2d_input((1, 2, 5, 5), w, one, groups=2))(g)
    torch.testing.assert_close(found, each)
    several = torch.func.vmap(lambda one: grad.conv2d_input((1, 2, 5, 5), one, g[0], groups=2))
    assert several(w.expand(3, 2, 1, 3, 3)).shape == (3, 1, 2, 5, 5)
    with torch.inference_mode():
        assert torch.equal(grad.conv2d_input((1, 2, 5, 5), w, g[0], groups=2), each[0])
    with pytest.raises(RuntimeError):
        grad.conv2d_weight(torch.ones(2, 5, 5), (2, 1, 3, 3), g[0], groups=2)


def test_gradients_alone_are_computed() -> None:
    x, g = torch.randn(2, 3, 6, 6), torch.randn(2, 4, 6, 6)
    graph = make_fx(lambda x, g: torch.nn.grad.conv2d_weight(x, (4, 3, 3, 3), g, padding=1))(x, g)
    assert [str(n.target) for n in graph.graph.nodes if str(n.target).startswith("aten.conv")] == [
        "aten.convolution_backward.default"
    ]


def test_gradients_of_no_convolution_are_refused() -> None:
    x, w, g = torch.ones(2, 3, 6, 6), torch.ones(4, 3, 3, 3), torch.ones(2, 4, 4, 4)
    for shape in ((2, 3, 7, 7), (3, 3, 6, 6)):
        with pytest.raises(RuntimeError, match="Mismatch in shape"):
            grad.conv2d_input(shape, w, g)
    for shape in ((4, 3, 2, 2), (5, 3, 3, 3)):
        with pytest.raises(RuntimeError, match="Mismatch in shape"):
            grad.conv2d_weight(x, shape, g)
    with pytest.raises(RuntimeError, match="to have 3 channels, but got 5 channels instead"):
        grad.conv2d_input((2, 5, 6, 6), w, g)
    with pytest.raises(RuntimeError, match="non-positive stride"):
        grad.conv2d_input((2, 3, 6, 6), w, g, stride=0)
    how = [2, 2], [1, 1], [1, 1], True, [0, 0], 1, [True, True, False]
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        torch.ops.aten.convolution_backward(torch.ones(1, 2, 6, 6), x[:1, :, :3, :3], w[:3, :2], None, *how)
