"""Where in-place writes, `.data` and forward mode meet; values as PyTorch's."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight.func import grad, hessian, jacfwd, jacrev


def squared_product(x):
    y = x.clone()
    y.mul_(x)
    y.pow_(2)
    return y.sum()


@pytest.mark.parametrize(
    "second",
    [
        hessian,
        lambda f: jacfwd(grad(f)),
        lambda f: jacrev(jacfwd(f)),
        lambda f: jacfwd(jacfwd(f)),
        lambda f: jacrev(grad(f)),
    ],
)
def test_second_derivatives_through_writes(second):
    x = torch.arange(3.0)
    assert torch.equal(second(squared_product)(x), torch.diag(12 * x**2))


def test_data_keeps_the_version_counter():
    x = torch.zeros(3).add_(1)
    other = torch.zeros(3).add_(1).add_(1)
    x.data = other
    assert (x._version, other._version) == (1, 2)
    x.add_(1)
    assert (x._version, other._version) == (2, 2)
    assert other.tolist() == [3.0] * 3


def test_data_between_forward_and_backward():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    w.data = torch.zeros(2).add_(5)
    loss.backward()
    assert w.grad.tolist() == [10.0, 10.0]


@pytest.mark.parametrize("copy", ["clone", "double", "zeros_like", "empty_like"])
def test_copies_of_empty_tensors_keep_their_strides(copy):
    def copied(a):
        return getattr(a, copy)() if copy in ("clone", "double") else getattr(torch, copy)(a)

    assert copied(torch.rand(2, 0, 3).permute(2, 1, 0)).stride() == (1, 3, 3)
    assert copied(torch.rand(5, 4)[:, :0]).stride() == (4, 1)
    assert copied(torch.rand(0, 3)).stride() == (3, 1)


def test_transforms_over_several_dims_lie_as_pytorchs():
    x = torch.rand(7, 6, 5).permute(2, 1, 0)
    strides = {
        "fft2": (42, 1, 6),
        "fftn": (1, 5, 30),
        "rfftn": (4, 20, 1),
        "irfftn": (12, 60, 1),
        "hfftn": (12, 60, 1),
        "ihfftn": (1, 5, 30),
    }
    for name, wanted in strides.items():
        assert getattr(torch.fft, name)(x).stride() == wanted, name
    assert torch.allclose(torch.fft.irfftn(torch.fft.rfftn(x), x.shape), x, atol=1e-6)


def test_empty_channels_and_batches():
    norm = torch.nn.functional.batch_norm
    p = torch.rand(5)
    assert norm(torch.rand(3, 0, 4), p, p, p, p, training=True).shape == (3, 0, 4)
    assert torch.nn.functional.pixel_unshuffle(torch.rand(0, 1, 6, 6), 3).shape == (0, 1, 6, 6)
    assert torch.cholesky(torch.rand(0, 5)).shape == (0, 5)
    x = torch.zeros(2, 0, 0, requires_grad=True)
    torch.cholesky(x).sum().backward()
    assert x.grad is not None and x.grad.shape == (2, 0, 0)


def test_a_sparse_tensors_data_has_a_version_of_its_own():
    x = torch.eye(2).to_sparse().requires_grad_()
    y = torch.ones(2, 2, requires_grad=True)
    found = torch.sparse.mm(x, y).sum()
    x.data._values().mul_(2)
    found.backward()
    assert y.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_saved_tensor_hooks_by_their_inner_names():
    inner = torch._C._autograd
    inner._saved_tensors_hooks_disable("not now")
    try:
        assert not inner._saved_tensors_hooks_is_enabled()
        assert inner._saved_tensors_hooks_get_disabled_error_message() == "not now"
        with pytest.raises(RuntimeError, match="not now"):
            torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x).__enter__()
    finally:
        inner._saved_tensors_hooks_enable()
    assert inner._saved_tensors_hooks_is_enabled()


def test_inner_names_of_the_profiler_and_of_functional():
    assert not torch.autograd._profiler_enabled()
    with torch.profiler.profile():
        assert torch.autograd._profiler_enabled()
    assert not torch.autograd._profiler_enabled()
    inner, x = torch.autograd.functional, torch.ones(2, requires_grad=True)
    assert inner._as_tuple(x, "inputs", "f") == (False, (x,))
    assert inner._tuple_postprocess(((x,),), (False, False)) is x
    assert not inner._grad_postprocess((x * 2,), False)[0].requires_grad
    assert inner._grad_preprocess((x,), True, True)[0].grad_fn is not None
    with pytest.raises(TypeError, match="Tensor or a tuple of Tensors"):
        inner._as_tuple(3, "inputs", "f")


@pytest.mark.parametrize("function", [torch.scatter_reduce, torch.index_reduce])
def test_a_product_with_several_zeros_refuses_gradients_of_its_gradient(function):
    own = torch.ones(1, dtype=torch.float64, requires_grad=True)
    zeros, index = torch.zeros(2, dtype=torch.float64, requires_grad=True), torch.tensor([0, 0])
    (grad,) = torch.autograd.grad(function(own, 0, index, zeros, "prod"), zeros, create_graph=True)
    assert grad.tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="Double backward is unsupported"):
        grad.sum().backward()


def test_backward_in_backward_deeper_than_pythons_stack():
    class Down(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, grad):
            if ctx.x >= 0:
                with torch.enable_grad():
                    Down.apply(ctx.x).sum().backward()
            return grad

    x = torch.tensor(200.0, requires_grad=True)
    Down.apply(x).sum().backward()
    assert x.grad == 1
