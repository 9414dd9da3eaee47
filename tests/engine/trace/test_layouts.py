"""Operands that lie in another order than their dims, in arrays large enough for kernels of their own."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.settings import settings
from tests.engine.trace.test_matching import matched, same

LAYERS = {
    "layer_norm": (lambda: nn.LayerNorm(256), (4, 64, 256)),
    "rms_norm": (lambda: nn.RMSNorm(256), (4, 64, 256)),
    "group_norm": (lambda: nn.GroupNorm(8, 64), (4, 64, 256)),
    "batch_norm": (lambda: nn.BatchNorm1d(256), (256, 256)),
    "batch_norm of sequences": (lambda: nn.BatchNorm1d(64), (4, 64, 256)),
    "linear": (lambda: nn.Linear(256, 32), (4, 64, 256)),
    "softmax": (lambda: nn.Softmax(-1), (4, 64, 256)),
    "conv1d": (lambda: nn.Conv1d(64, 16, 3), (4, 64, 256)),
}


def turned(t):
    """The same, lying in the order of the dims from behind."""
    dims = [*range(t.ndim)][::-1]
    return t.permute(dims).contiguous().permute(dims)


def part(t):
    """The same, a half of wider rows."""
    return torch.cat([t * 2, t], -1).chunk(2, -1)[1]


@pytest.mark.parametrize("of_gradient", [turned, part, torch.clone])
@pytest.mark.parametrize("of_input", [turned, part, torch.clone])
@pytest.mark.parametrize("name", LAYERS)
def test_same_bits_eagerly_and_matched(name, of_input, of_gradient):
    build, shape = LAYERS[name]
    torch.manual_seed(0)
    layer, x = build(), torch.randn(shape)
    grad = of_gradient(torch.randn_like(layer(x)))

    def run(x, grad):
        layer.zero_grad()
        own = of_input(x).detach().requires_grad_()
        out = layer(own)
        out.backward(grad)
        return [out.detach(), own.grad, *[p.grad for p in layer.parameters()]]

    first = run(x, grad)
    with settings.using(kernels="llvm"):
        found = [run(x, grad)]
    function = matched(run)
    found += [function(x, grad) for _ in range(5)][::2]
    for other in found:
        assert [same(a, b) for a, b in zip(first, other, strict=True)] == [True] * len(other)


# What PyTorch gives.
AMBIGUOUS = [
    (torch.nn.functional.silu, (2048, 1, 256, 32)),
    (torch.exp, (2048, 1, 256, 32)),
    (torch.nn.functional.leaky_relu, (2048, 1, 256, 32)),
    (lambda x: x + x, (2048, 1, 256, 32)),
    (lambda x: x + 1, (32, 1, 256, 32)),
    (lambda x: x * torch.ones(32, 1, 1), (32, 1, 256, 32)),
    (lambda x: torch.nn.functional.group_norm(x, 4), (2048, 64, 8, 1)),
    (lambda x: x.to(memory_format=torch.channels_last), (2048, 1, 256, 32)),
    (lambda x: x.to(memory_format=torch.contiguous_format), (32, 1, 256, 32)),
]


@pytest.mark.parametrize(("f", "strides"), AMBIGUOUS)
def test_one_image_whose_channels_lie_together_by_chance(f, strides):
    # By the strides of dims of size 1 it may be in channels last or not; what it is, later ops go by.
    x = torch.randn(1, 64, 32).transpose(1, 2).view(1, 32, 8, 8)
    assert x.stride() == (32, 1, 256, 32)
    assert [f(x).stride() for _ in range(4)] == [strides] * 4
    compiled = torch.compile(f)
    assert [compiled(x).stride() for _ in range(6)] == [strides] * 6


# What PyTorch gives for an image whose height, or width, is 1.
AS_IT_LIES = [
    lambda x: torch.relu(x),
    lambda x: torch.exp(torch.relu(x)),
    lambda x: torch.nn.functional.leaky_relu(x.relu(), 0.2),
    lambda x: torch.clamp(x, 0, 1).neg(),
    lambda x: (x + x).tanh() * 2,
    lambda x: torch.lerp(x, x * 2, 0.5),
]


@pytest.mark.parametrize("f", AS_IT_LIES)
@pytest.mark.parametrize("sizes", [(1, 3, 1, 4), (1, 3, 4, 1), (1, 3, 4, 4)])
def test_channels_last_with_dims_of_size_1(f, sizes):
    # Results are in channels last as well, so that what reads them finds the format.
    x = torch.randn(sizes).to(memory_format=torch.channels_last)
    assert [f(x).stride() for _ in range(4)] == [x.stride()] * 4
    compiled = torch.compile(f)
    assert [compiled(x).stride() for _ in range(6)] == [x.stride()] * 6


def test_a_batch_of_one_turned():
    # PyTorch's strides, where operands agree on them and where one is broadcast.
    x = torch.randn(1, 3, 5).transpose(1, 2)
    for f in (torch.relu, lambda x: x + x, lambda x: x * 2, lambda x: x * torch.ones(3), torch.square):
        assert [f(x).stride() for _ in range(4)] == [(15, 1, 5)] * 4
        assert torch.equal(f(x), f(x.contiguous()))


# Sizes and strides of operands, and what PyTorch gives exp(x), x + x and x + 2 of them.
APART = [
    ((3, 3, 3), (6, 0, 18), (1, 3, 9)),  # broadcast
    ((2, 3, 4), (0, 1, 3), (12, 1, 3)),
    ((2, 2, 1), (4, 8, 16), (1, 2, 4)),  # with gaps
    ((2, 1), (2, 4), (1, 2)),
    ((4, 1, 3), (1, 4, 4), (1, 4, 4)),
    ((2, 3, 4), (12, 1, 3), (12, 1, 3)),
]


@pytest.mark.parametrize(("sizes", "strides", "wanted"), APART)
@pytest.mark.parametrize("f", [torch.exp, lambda x: x + x, lambda x: x + 2, lambda x: x.clamp(-1, 1)])
def test_operands_that_lie_apart(f, sizes, strides, wanted):
    x = torch.randn(100).as_strided(sizes, strides)
    assert [f(x).stride() for _ in range(6)] == [wanted] * 6  # by NumPy and by machine code
    assert f(x).equal(f(x.contiguous()))
