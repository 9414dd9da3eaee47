"""Layers on channels last: the digits of the usual format, in memory that stays in channels last."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch

F = torch.nn.functional
LAST = torch.channels_last


def _both(shape: tuple[int, ...], dtype: Any = None) -> tuple[Any, Any]:
    x = torch.randn(*shape).to(dtype or torch.float32)
    return (
        x.clone().requires_grad_(),
        x.contiguous(memory_format=LAST if len(shape) == 4 else torch.channels_last_3d).requires_grad_(),
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize(
    ("shape", "how"),
    [
        ((2, 16, 8, 8), (2,)),
        ((2, 24, 9, 7), (3, 2, 1)),
        ((1, 3, 11, 10), (3, 1, 1)),
        ((3, 5, 12, 12), (2, 3, 1, 2)),
        ((2, 33, 70, 6), (3, 2, 1)),
        ((4, 3, 4, 5), (2, 2)),  # few windows of several samples
    ],
)
def test_max_pool2d(shape: Any, how: Any, dtype: str) -> None:
    torch.manual_seed(1)
    plain, last = _both(shape, getattr(torch, dtype))
    with torch.no_grad():
        for x in (plain, last):
            x[0, 0, 0, :3] = float("nan")
    (a, i), (b, j) = (F.max_pool2d(x, *how, return_indices=True) for x in (plain, last))
    assert b.is_contiguous(memory_format=LAST) and j.is_contiguous(memory_format=LAST)
    assert torch.equal(i, j) and a.nan_to_num(7).equal(b.nan_to_num(7))
    g = torch.randn(a.shape).to(a.dtype)
    for out in (a, b):
        out.backward(g if out is a else g.contiguous(memory_format=LAST))
    assert torch.equal(plain.grad, last.grad)


def test_max_pool3d() -> None:
    plain, last = _both((2, 17, 6, 7, 8))
    a, b = (F.max_pool3d(x, 3, 2, 1) for x in (plain, last))
    assert torch.equal(a, b) and b.is_contiguous(memory_format=torch.channels_last_3d)
    a.sum().backward()
    b.sum().backward()
    assert torch.equal(plain.grad, last.grad)


def test_gradients_of_gradients_of_max_pool() -> None:
    x = torch.randn(1, 2, 4, 4, dtype=torch.float64).contiguous(memory_format=LAST).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: F.max_pool2d(x, 2), x)
    assert torch.autograd.gradgradcheck(lambda x: F.max_pool2d(x, 2), x)


@pytest.mark.parametrize("shape", [(4, 16, 64, 64), (2, 3, 5, 5), (8, 48, 30, 31)])
def test_batch_norm(shape: Any) -> None:
    plain, last = _both(shape)
    layers = torch.nn.BatchNorm2d(shape[1]), torch.nn.BatchNorm2d(shape[1])
    g = torch.randn(*shape)
    outs = [layer(x) for layer, x in zip(layers, (plain, last), strict=True)]
    outs[0].backward(g)
    outs[1].backward(g.contiguous(memory_format=LAST))
    assert outs[1].is_contiguous(memory_format=LAST)
    torch.testing.assert_close(outs[0], outs[1])
    torch.testing.assert_close(plain.grad, last.grad, atol=2e-5, rtol=1e-4)
    for p, q in zip(*[layer.parameters() for layer in layers], strict=True):
        torch.testing.assert_close(p.grad, q.grad, atol=2e-3, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("last", [False, True])
def test_few_channels_have_the_digits_that_they_have_among_many(dtype: str, last: bool) -> None:
    torch.manual_seed(2)
    x = torch.randn(2, 5, 20, 21).to(getattr(torch, dtype))
    w = torch.randn(40, 5, 3, 3).to(getattr(torch, dtype))
    x = x.contiguous(memory_format=LAST) if last else x
    whole = F.conv2d(x, w, padding=1)
    for channels in (1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33):
        found = F.conv2d(x, w[:channels], padding=1)
        assert torch.equal(found, whole[:, :channels]), channels
        g = torch.randn(2, 40, 20, 21).to(x.dtype)
        of_all = torch.nn.grad.conv2d_weight(x, w.shape, g, padding=1)
        of_some = torch.nn.grad.conv2d_weight(x, w[:channels].shape, g[:, :channels], padding=1)
        torch.testing.assert_close(of_some, of_all[:channels])


@pytest.mark.parametrize("last", [False, True])
def test_batch_norm_gives_the_same_each_time(last: bool) -> None:
    torch.manual_seed(3)
    x, g = torch.randn(4, 24, 16, 16), torch.randn(4, 24, 16, 16)
    x = (x.contiguous(memory_format=LAST) if last else x).requires_grad_()
    seen = set()
    for _ in range(6):
        layer = torch.nn.BatchNorm2d(24)
        x.grad = None
        out = layer(x)
        out.backward(g)
        held = [
            out.detach(),
            x.grad,
            layer.weight.grad,
            layer.bias.grad,
            layer.running_mean,
            layer.running_var,
        ]
        seen.add(b"".join(t.contiguous().numpy().tobytes() for t in held))
        assert out.grad_fn.name() == "NativeBatchNormBackward0"
    assert len(seen) == 1


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("last", [False, True])
def test_a_gradient_of_batch_norm_lies_as_its_input(last: bool, training: bool) -> None:
    x, w, b = torch.randn(2, 4, 3, 3), torch.randn(4), torch.randn(4)
    x = (x.contiguous(memory_format=LAST) if last else x).requires_grad_()
    out = F.batch_norm(x, torch.zeros(4), torch.ones(4), w, b, training)
    g, found = torch.randn(2, 4, 3, 3), []
    for of in (g, g.contiguous(memory_format=LAST)):
        found += torch.autograd.grad(out, x, of, retain_graph=True)
        assert found[-1].stride() == x.stride()
    assert torch.equal(*found)


def test_batch_norm_checks_what_it_has_not_seen() -> None:
    x, zeros, ones = torch.randn(2, 4, 3, 3), torch.zeros(4), torch.ones(4)
    for eps in (1e-5, 0.0):
        F.batch_norm(x, zeros, ones, eps=eps)
    with pytest.raises(ValueError, match="eps must be non-negative"):
        F.batch_norm(x, zeros, ones, eps=-1e-5)
    with pytest.raises(RuntimeError, match="running_mean should contain 4 elements not 5"):
        F.batch_norm(x, torch.zeros(5), ones)
    with pytest.raises(RuntimeError, match="running_var"):
        F.batch_norm(x, zeros, ones.requires_grad_())


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("shape", [(2, 4, 3, 3), (2, 32, 40, 40), (3, 7, 50, 30)])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_rounds_halves_once(shape: tuple[int, ...], dtype: str, training: bool) -> None:
    of, count = getattr(torch, dtype), shape[1]
    for given in _both(shape, of):
        results, grad = [], torch.randn(shape).to(of)
        for x in (given.detach(), given.detach().float()):
            x.requires_grad_()
            weight, bias = torch.full((count,), 1.5, requires_grad=True), torch.ones(count)
            y = F.batch_norm(x, torch.zeros(count), torch.ones(count), weight, bias, training)
            y.backward(grad.to(y.dtype))
            results.append([y, x.grad, weight.grad])
        found, wide = results
        assert [t.dtype for t in found] == [of, of, torch.float32]
        for a, b, to in zip(found, wide, (of, of, torch.float32), strict=True):
            step = torch.finfo(to).eps * 4
            torch.testing.assert_close(
                a.float(), b.to(to).float(), rtol=step, atol=step * float(b.detach().abs().max())
            )


@pytest.mark.parametrize("of", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("training", [True, False])
def test_gradients_of_float32_parameters_are_never_of_two_bytes(of: Any, training: bool) -> None:
    x, grad = (torch.randn(3, 64, 5).to(of)[..., ::2].requires_grad_(i == 0) for i in range(2))
    bias = torch.zeros(64, requires_grad=True)
    for sliced, dims in ((x[..., 0], 0), (x.transpose(0, 2), (0, 2))):
        given = grad[..., 0] if dims == 0 else grad.transpose(0, 2)
        y = F.batch_norm(sliced, torch.zeros(64), torch.ones(64), torch.ones(64), bias, training)
        (found,) = torch.autograd.grad(y, bias, given)
        torch.testing.assert_close(found, given.float().sum(dims))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("dim", [0, 1, (0, 1)])
def test_sums_of_halves_in_float32(dtype: str, dim: Any) -> None:
    x = torch.randn(300, 130).to(getattr(torch, dtype))
    assert x.sum(dim, dtype=torch.float32).equal(x.float().sum(dim))


def test_second_gradients_of_batch_norm() -> None:
    x = torch.randn(3, 2, 4, 4, dtype=torch.float64, requires_grad=True)
    w, b = (torch.randn(2, dtype=torch.float64, requires_grad=True) for _ in "wb")

    def normalize(x: Any, w: Any, b: Any) -> Any:
        return F.batch_norm(x, None, None, w, b, True)

    for _ in range(3):  # also once there are plans
        assert torch.autograd.gradcheck(normalize, (x, w, b))
        assert torch.autograd.gradgradcheck(normalize, (x, w, b))


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(("groups", "stride", "dilation"), [(1, 1, 1), (1, 2, 1), (2, 1, 2), (8, 1, 1)])
@pytest.mark.parametrize(("channels", "outs", "width"), [(8, 16, 12), (16, 40, 9), (3, 5, 10), (1, 7, 8)])
def test_convolutions_of_bfloat16(
    channels: int, outs: int, width: int, groups: int, stride: int, dilation: int, last: bool
) -> None:
    if channels % groups or outs % groups:
        pytest.skip("groups divide channels")
    torch.manual_seed(4)
    how = (stride, 1, dilation, groups)
    x, w = (
        torch.randn(2, channels, 11, width).bfloat16(),
        torch.randn(outs, channels // groups, 3, 3).bfloat16(),
    )
    x = x.contiguous(memory_format=LAST) if last else x
    results = []
    for of in (torch.bfloat16, torch.float32):
        given, filters = (t.detach().clone().to(of).requires_grad_() for t in (x, w))
        out = F.conv2d(given, filters, None, *how)
        out.backward(torch.ones_like(out))
        results.append((out, given.grad, filters.grad))
    for ours, wanted in zip(*results, strict=True):
        assert ours.dtype is torch.bfloat16 and ours.stride() == wanted.stride()
        torch.testing.assert_close(ours.float(), wanted, atol=0.02 * float(wanted.abs().max()), rtol=0.01)


@pytest.mark.parametrize("shape", [(2, 8, 3, 5), (3, 32, 32, 32), (2, 6, 4, 3, 5)])
@pytest.mark.parametrize("affine", [False, True])
def test_group_norm_stays_in_channels_last(shape: tuple[int, ...], affine: bool) -> None:
    torch.manual_seed(5)
    weight, bias, results = torch.randn(shape[1]), torch.randn(shape[1]), []
    grad = torch.randn(*shape)
    for x in _both(shape):
        last = x.detach().is_contiguous() is False
        given = [p.clone().requires_grad_() for p in (weight, bias)] if affine else [None, None]
        out = F.group_norm(x, 2, *given)
        memory = torch.channels_last if len(shape) == 4 else torch.channels_last_3d
        out.backward(grad.contiguous(memory_format=memory) if last else grad)
        assert out.stride() == x.stride() == x.grad.stride()
        results.append([out.detach(), x.grad, *[p.grad for p in given if p is not None]])
    for ours, wanted in zip(*results, strict=True):
        torch.testing.assert_close(ours.contiguous(), wanted.contiguous(), atol=2e-4, rtol=2e-4)


def test_gradients_of_group_norm_in_channels_last() -> None:
    x = torch.randn(2, 4, 3, 3, dtype=torch.float64).contiguous(memory_format=LAST).requires_grad_()
    w, b = (torch.randn(4, dtype=torch.float64, requires_grad=True) for _ in range(2))

    def normalize(x: Any, w: Any, b: Any) -> Any:
        return F.group_norm(x, 2, w, b)

    assert torch.autograd.gradcheck(normalize, (x, w, b))
    assert torch.autograd.gradgradcheck(normalize, (x, w, b))


@pytest.mark.parametrize("call", [F.conv2d, F.conv_transpose2d])
def test_gradients_of_convolutions_are_laid_out_as_results(call: Any) -> None:
    """With one channel out both layouts are the same memory; what the gradient says does not matter."""
    w = torch.randn((1, 4, 3, 3) if call is F.conv2d else (4, 1, 3, 3), requires_grad=True)
    x, last = torch.randn(2, 4, 5, 6, requires_grad=True), (30, 1, 6, 1)
    bits = []
    for of in (x, x.detach().contiguous(memory_format=LAST).requires_grad_()):
        for strides in ((30, 30, 6, 1), last):
            grad = torch.linspace(-1, 1, 60).as_strided((2, 1, 5, 6), strides)
            found = torch.autograd.grad(call(of, w, padding=1), (of, w), grad)
            assert found[0].stride() == of.stride()
            bits.append(found)
    assert all(a.equal(b) for pair in (bits[:2], bits[2:]) for a, b in zip(*pair, strict=True))
    plain = torch.autograd.grad(call(x, w, padding=1), x, torch.randn(1, 5, 6, 2).permute(3, 0, 1, 2))
    assert plain[0].is_contiguous()


def test_compiled_steps_of_one_channel_have_eager_bits() -> None:
    net = torch.nn.Sequential(torch.nn.GroupNorm(2, 4), torch.nn.Conv2d(4, 1, 3, padding=1))
    x = torch.randn(2, 4, 16, 16).contiguous(memory_format=LAST).requires_grad_()
    compiled = torch.compile(net)
    wanted = torch.autograd.grad(net(x).square().mean(), [x, *net.parameters()])
    for _ in range(3):
        found = torch.autograd.grad(compiled(x).square().mean(), [x, *net.parameters()])
        assert all(a.equal(b) for a, b in zip(found, wanted, strict=True))
